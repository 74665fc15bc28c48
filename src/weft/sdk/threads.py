"""The threads of a session: the conversation's own, and one for each subagent."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft import __version__
from weft.agent.compactor import Compactor
from weft.agent.definitions import AgentDefinition
from weft.agent.history import History, Scribe
from weft.agent.requests import Requests, wanted_output
from weft.agent.state import Aside, State
from weft.agent.subagents import Subagents
from weft.agent.thread import Around, Work, WorkThread
from weft.agent.toolbox import ToolBox
from weft.agent.turn import Limits
from weft.context.assemble import Assembler, PromptOptions
from weft.context.git import branch_of, may_compare, repository
from weft.context.memory import Memory
from weft.context.port import View
from weft.context.tools import Listings
from weft.errors import ToolError
from weft.permissions.gate import RuleGate
from weft.permissions.paths import is_within
from weft.permissions.port import Gate
from weft.providers.port import Provider
from weft.schema.content import Content, Json
from weft.schema.events import AgentEvent, Compacted, Notice, ToolProgressed
from weft.sdk.briefing import briefed, own_servers, subagent_hooks
from weft.tools.port import SubagentRequest

if TYPE_CHECKING:
    from weft.providers.listed import ListedProvider
    from weft.sdk.surroundings import OwnFolder, OwnServers
    from weft.sdk.workbench import Workbench
    from weft.workspace.worktrees import Worktree


class Threads:
    """Makes threads from the parts of a workbench."""

    def __init__(self, bench: "Workbench") -> None:
        self.bench = bench
        self.ground = bench.ground

    def main(self) -> WorkThread:
        resumed = self.ground.conversation.resumed
        scribe = self.scribe(tip=resumed.tip if resumed is not None else None)
        history = History(scribe, resumed.history if resumed is not None else (), emit=self.bench.emit)
        work = self._work(
            box=self.bench.box,
            make=self._requests(self.bench.box, self.bench.assembler, self.bench.view),
            emit=self.bench.emit,
            spawner=self.bench.subagents,
            parent=None,
            state=self.ground.state,
        )
        if self.ground.hooks.wants("MessageDisplay"):
            work.shown = self.ground.moments.shown
        work.running = self.bench.running
        work.structured = self.ground.options.output_schema is not None
        if resumed is not None and isinstance(work.compactor, Compactor):
            work.compactor.resume(resumed.counted, resumed.seen)
        return WorkThread(work, history)

    async def subagent(
        self,
        request: SubagentRequest,
        agent_id: str,
        emit: Callable[[AgentEvent], None],
        depth: int,
        parent: Work | None = None,
    ) -> WorkThread:
        """A thread that is no wider than `parent`, the conversation's own when that is None."""
        above = parent or self.bench.thread.work
        agent = self.ground.staff.get(request.agent)
        tree = await self._tree(agent, agent_id, above)
        state = Aside(above.state, self._narrower_gate(agent, above, tree), emit=emit, parent=request.tool_use_id)
        around: list[Around] = [] if tree is None else [self._own_folder(tree, above, state)]
        servers = self._own_servers(agent, emit)
        around += [servers] if servers is not None else []
        models = await self._models(request, agent, emit)
        if models is not None:
            from weft.sdk.surroundings import OwnProvider

            around.append(OwnProvider(models))
        without = ("AskUserQuestion", "ExitPlanMode", "EnterPlanMode", *agent.disallowed_tools)
        box = above.box.narrowed(agent.tools, without=without, own=servers.tools if servers is not None else None)
        assembler = self._assembler_for(agent)
        view = partial(self.bench.view, state, box, agent.agents)
        scribe = self.scribe(agent_id=agent_id, about=_about(request, agent, depth), state=state)
        history = History(scribe, emit=emit, parent=request.tool_use_id)
        work = self._work(
            box=box,
            make=self._requests(box, assembler, view, models, agent.effort),
            emit=emit,
            spawner=self.bench.subagents,
            parent=request.tool_use_id,
            state=state,
        )
        if models is not None:
            work.provider = lambda: models
        work.limits = self._limits(agent)
        work.hooks = subagent_hooks(agent, agent_id, self.ground)
        work.agent, work.color = agent.name, agent.color or ""
        work.background = agent.background
        work.around = around
        work.opening = lambda: assembler.reminders(view())
        work.touched = lambda path: assembler.touched(state.cwd / path, view())
        if tree is not None:
            work.before_edit = None  # Git keeps what was there.
        work.about = {"agent_id": agent_id, "agent_type": agent.name, "agent_transcript_path": scribe.where}
        work.gate = state.gate
        spawner = self.bench.subagents.deeper(partial(self.subagent, parent=work), work.hooks, agent.agents)
        work.context = partial(self.bench.context, spawner, request.tool_use_id, state)
        return WorkThread(work, history)

    # --- what a subagent has to itself --------------------------------------------------------------------------

    async def _tree(self, agent: AgentDefinition, agent_id: str, above: Work) -> "Worktree | None":
        """Where its worktree will be, when it wants one.

        Raises:
            ToolError: it wants one, and there can be none here.
        """
        if agent.isolation != "worktree":
            return None
        from weft.workspace.worktrees import planned

        root = repository(above.state.cwd)
        if root is None:
            raise ToolError(
                f"The agent {agent.name} works in a git worktree of its own, and {above.state.cwd} is not in a git "
                "repository. Give the work to another agent, or do it yourself."
            )
        if not may_compare(root) and not self.ground.trusts(root):
            raise ToolError(
                f"The repository {root} has filters of its own, which a worktree would run, and it is not trusted. "
                "Give the work to another agent, or do it yourself."
            )
        return planned(root, self.ground.options.cwd, f"{agent.name}-{agent_id}".replace(":", "-"))

    def _own_folder(self, tree: "Worktree", above: Work, state: Aside) -> "OwnFolder":
        from weft.sdk.surroundings import OwnFolder

        cwd = above.state.cwd
        within = cwd.relative_to(tree.root) if tree.root in cwd.parents else Path()
        return OwnFolder(tree, within, state, self.ground.gate.add_copy)

    def _own_servers(self, agent: AgentDefinition, emit: Callable[[AgentEvent], None]) -> "OwnServers | None":
        ground = self.ground
        known = {info.name for info in self.bench.server_infos()}
        for name in agent.mcp_servers:
            if isinstance(name, str) and name not in known:
                emit(Notice(text=f"The agent {agent.name} names the server {name}, which is not configured here.",
                            level="warning", tag="mcp"))  # fmt: skip
        inline = own_servers(agent)
        if not inline or ground.options.strict_mcp:
            return None
        from weft.sdk.surroundings import OwnServers

        servers = ground.servers(inline)
        return OwnServers(servers, agent, emit) if servers is not None else None

    async def _models(
        self, request: SubagentRequest, agent: AgentDefinition, emit: Callable[[AgentEvent], None]
    ) -> "ListedProvider | None":
        """The models that it asks for, in their order; None for the session's own."""
        asked = (request.model,) if request.model else (agent.model, *agent.fallback_models)
        names = [name for name in asked if name and name not in ("inherit", "default")]
        if not names:
            return None
        from weft.providers.listed import ListedProvider
        from weft.sdk.models import choices

        def note(text: str) -> None:
            emit(Notice(text=f"The agent {agent.name}: {text}", level="warning", tag="model"))

        ground = self.ground
        found, owned = await choices(ground, names, note)
        if not found:
            return None
        return ListedProvider(found, last=lambda: (ground.provider(), ground.state.model), owned=owned)

    def _limits(self, agent: AgentDefinition) -> Limits:
        """One budget for all; a limit of steps holds for each agent by itself."""
        options = self.ground.options
        turns = [limit for limit in (agent.max_turns, options.max_turns) if limit is not None]
        return Limits(self.bench.ledger, max_turns=min(turns, default=None), max_budget=options.max_budget)

    def _narrower_gate(self, agent: AgentDefinition, above: Work, tree: "Worktree | None") -> Gate:
        """The stricter of the gate above and the agent's own: its mode, and its worktree, where what rules say of the
        project holds as well."""
        session = self.ground.gate
        own = None
        if tree is not None:
            from weft.permissions.moved import moved_rules

            root, path = str(tree.root), str(tree.path)
            own = RuleGate(
                moved_rules(session.rules, root, path, session.home),
                cwd=path + session.cwd.removeprefix(root) if session.cwd.startswith(f"{root}/") else path,
                mode=agent.permission_mode or above.gate.mode,
                directories=[path, *(folder for folder in session.roots if not is_within(folder, root))],
                readable=[root, *session.readable],
                env=self.ground.env,
                persist=False,
            )
        elif agent.permission_mode is not None:
            own = RuleGate(
                session.rules,
                cwd=session.cwd,
                mode=agent.permission_mode,
                directories=session.roots,
                env=self.ground.env,
            )
        from weft.permissions.ceiling import CeilingGate

        return CeilingGate(above.gate, own)

    def scribe(
        self,
        *,
        tip: str | None = None,
        agent_id: str | None = None,
        about: Json | None = None,
        state: State | None = None,
    ) -> Scribe:
        ground = self.ground
        log = ground.conversation.log
        if agent_id is not None:
            from weft.sdk.sidelog import open_side_log

            log = open_side_log(log, agent_id, about or {})
        place = state or ground.state
        return Scribe(
            log,
            session_id=ground.conversation.session_id,
            cwd=lambda: place.cwd,
            version=__version__,
            branch=lambda: branch_of(place.cwd),
            tip=tip,
            agent_id=agent_id,
            mirror=ground.mirror_of(log),
        )

    def _work(
        self,
        box: ToolBox,
        make: Requests,
        emit: Callable[[AgentEvent], None],
        spawner: Subagents,
        parent: str | None,
        state: State,
    ) -> Work:
        ground = self.ground
        compactor = Compactor(
            provider=ground.provider,
            make=make,
            window=lambda: make.window,
            state=state,
            moments=ground.moments,
            ledger=self.bench.ledger,
            emit=emit if parent is None else partial(_quietly, emit, parent),
            main=parent is None,
        )
        return Work(
            provider=self._provider,
            make=make,
            compactor=compactor,
            limits=self.bench.limits,
            hooks=ground.hooks,
            asks=ground.asks,
            gate=ground.gate,
            state=state,
            box=box,
            context=partial(self.bench.context, spawner, parent, state),
            emit=emit,
            touched=self._touched,
            before_edit=partial(self._before_edit, state) if self.bench.checkpoints is not None else None,
            parent=parent,
        )

    def _requests(
        self,
        box: ToolBox,
        assembler: Assembler,
        view: Callable[[], View],
        models: "ListedProvider | None" = None,
        effort: str | None = None,
    ) -> Requests:
        ground = self.ground
        return Requests(
            state=ground.state,
            box=box,
            assembler=assembler,
            view=view,
            facts=ground.facts,
            betas=ground.options.betas,
            max_output=ground.options.max_output or wanted_output(ground.env),
            model=(lambda: models.model) if models is not None else None,
            effort=effort,
            task_budget=ground.options.task_budget,
        )

    def _assembler_for(self, agent: AgentDefinition) -> Assembler:
        """A subagent has its own words and none of the caller's; it is told the memory files, and what it may ask
        for."""
        prompt = briefed(agent, self.bench.intake.skills, self.ground)
        memory = Memory()
        options = PromptOptions(replace=prompt, bare=self.ground.options.bare)
        return Assembler(options, memory=memory, live=(memory, Listings()))

    def _provider(self) -> Provider:
        """Servers start once the first request is out, so that it never waits for them."""
        if self.bench.servers is not None:
            self.bench.servers.request_is_out()
        return self.ground.provider()

    def _touched(self, path: str) -> Content:
        return self.bench.assembler.touched(self.ground.state.cwd / path, self.bench.view())

    async def _before_edit(self, state: State, tool_use_id: str, path: str) -> None:
        assert self.bench.checkpoints is not None
        await self.bench.checkpoints.save(tool_use_id, state.cwd / path)


def _about(request: SubagentRequest, agent: AgentDefinition, depth: int) -> Json:
    return {
        "agentType": agent.name,
        "description": request.description,
        "toolUseId": request.tool_use_id,
        "spawnDepth": depth,
    }


def _quietly(emit: Callable[[AgentEvent], None], parent: str, event: AgentEvent) -> None:
    """A subagent's compaction is its own: surfaces would take the event for one of the conversation's."""
    if not isinstance(event, Compacted):
        emit(event)
    elif event.state == "done":
        words = f"Made its conversation shorter: {event.before:,} tokens to {event.after:,}"
        emit(ToolProgressed(tool_use_id=parent, message=words))
