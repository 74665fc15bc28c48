"""The threads of a session: the conversation's own, and one for each subagent."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from weft import __version__
from weft.agent.compactor import Compactor
from weft.agent.definitions import AgentDefinition
from weft.agent.history import History, Scribe
from weft.agent.requests import Requests
from weft.agent.subagents import Subagents
from weft.agent.thread import Work, WorkThread
from weft.agent.toolbox import ToolBox
from weft.agent.turn import Limits
from weft.context.assemble import Assembler, PromptOptions
from weft.context.git import branch_of
from weft.permissions.ceiling import CeilingGate
from weft.permissions.gate import RuleGate
from weft.permissions.port import Gate
from weft.providers.port import Provider
from weft.schema.content import Content, Json
from weft.schema.events import AgentEvent
from weft.sdk.briefing import briefed, subagent_hooks
from weft.sdk.sidelog import open_side_log
from weft.tools.port import SubagentRequest

if TYPE_CHECKING:
    from weft.sdk.workbench import Workbench


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
            make=self._requests(self.bench.box, self.bench.assembler),
            emit=self.bench.emit,
            spawner=self.bench.subagents,
            parent=None,
        )
        work.structured = self.ground.options.output_schema is not None
        if resumed is not None and isinstance(work.compactor, Compactor):
            work.compactor.resume(resumed.counted, resumed.seen)
        return WorkThread(work, history)

    def subagent(
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
        without = ("AskUserQuestion", "ExitPlanMode", "EnterPlanMode", *agent.disallowed_tools)
        box = above.box.narrowed(agent.tools, without=without)
        about: Json = {
            "agentType": agent.name,
            "description": request.description,
            "toolUseId": request.tool_use_id,
            "spawnDepth": depth,
        }
        history = History(self.scribe(agent_id=agent_id, about=about), emit=emit, parent=request.tool_use_id)
        work = self._work(
            box=box,
            make=self._requests(box, self._assembler_for(agent), request.model or agent.model, agent.effort),
            emit=emit,
            spawner=self.bench.subagents,
            parent=request.tool_use_id,
        )
        work.limits = self._limits(agent)
        work.hooks = subagent_hooks(agent, agent_id, self.ground)
        work.agent = agent.name
        work.background = agent.background
        work.about = {
            "agent_id": agent_id,
            "agent_type": agent.name,
            "agent_transcript_path": history.scribe.where,
        }
        work.gate = self._narrower_gate(agent, above.gate)
        spawner = self.bench.subagents.deeper(partial(self.subagent, parent=work), work.hooks, agent.agents)
        work.context = partial(self.bench.context, spawner, request.tool_use_id)
        return WorkThread(work, history)

    def _limits(self, agent: AgentDefinition) -> Limits:
        """One budget for all; a limit of steps holds for each agent by itself."""
        options = self.ground.options
        turns = [limit for limit in (agent.max_turns, options.max_turns) if limit is not None]
        return Limits(self.bench.ledger, max_turns=min(turns, default=None), max_budget=options.max_budget)

    def _narrower_gate(self, agent: AgentDefinition, above: Gate) -> Gate:
        """The stricter of the gate above and the agent's own mode."""
        session = self.ground.gate
        own = None
        if agent.permission_mode is not None:
            own = RuleGate(
                session.rules,
                cwd=session.cwd,
                mode=agent.permission_mode,
                directories=session.roots,
                env=self.ground.env,
            )
        return CeilingGate(above, own)

    def scribe(self, *, tip: str | None = None, agent_id: str | None = None, about: Json | None = None) -> Scribe:
        ground = self.ground
        log = ground.conversation.log
        if agent_id is not None:
            log = open_side_log(log, agent_id, about or {})
        return Scribe(
            log,
            session_id=ground.conversation.session_id,
            cwd=lambda: ground.state.cwd,
            version=__version__,
            branch=lambda: branch_of(ground.state.cwd),
            tip=tip,
            agent_id=agent_id,
            mirror=ground.mirror_of(log),
        )

    def _work(
        self, box: ToolBox, make: Requests, emit: Callable[[AgentEvent], None], spawner: Subagents, parent: str | None
    ) -> Work:
        ground = self.ground
        compactor = Compactor(
            provider=ground.provider,
            make=make,
            window=lambda: make.window,
            state=ground.state,
            moments=ground.moments,
            ledger=self.bench.ledger,
            emit=emit,
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
            state=ground.state,
            box=box,
            context=partial(self.bench.context, spawner, parent),
            emit=emit,
            touched=self._touched,
            before_edit=self._before_edit if self.bench.checkpoints is not None else None,
            parent=parent,
        )

    def _requests(
        self, box: ToolBox, assembler: Assembler, model: str | None = None, effort: str | None = None
    ) -> Requests:
        ground = self.ground
        known = ground.resolved.catalogue.resolve(model, ground.env) if model else None
        return Requests(
            state=ground.state,
            box=box,
            assembler=assembler,
            view=self.bench.view,
            facts=ground.facts,
            betas=ground.options.betas,
            max_output=ground.options.max_output,
            model=known,
            effort=effort,
            task_budget=ground.options.task_budget,
        )

    def _assembler_for(self, agent: AgentDefinition) -> Assembler:
        """A subagent has its own words and none of the caller's."""
        prompt = briefed(agent, self.bench.intake.skills, self.ground)
        return Assembler(PromptOptions(replace=prompt, bare=self.ground.options.bare))

    def _provider(self) -> Provider:
        """Servers start once the first request is out, so that it never waits for them."""
        if self.bench.servers is not None:
            self.bench.servers.request_is_out()
        return self.ground.provider()

    def _touched(self, path: str) -> Content:
        return self.bench.assembler.touched(self.ground.state.cwd / path, self.bench.view())

    async def _before_edit(self, tool_use_id: str, path: str) -> None:
        assert self.bench.checkpoints is not None
        await self.bench.checkpoints.save(tool_use_id, self.ground.state.cwd / path)
