"""The working half of a session: workspace, tools, threads, subagents, intake."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft.agent import skills as skills_
from weft.agent.compactor import Compactor
from weft.agent.control import SessionControl
from weft.agent.definitions import AgentDefinition
from weft.agent.session import Session
from weft.agent.state import Offers, State
from weft.agent.subagents import Subagents
from weft.agent.toolbox import ToolBox, chosen
from weft.agent.turn import Limits, Turn
from weft.context.assemble import Assembler, PromptOptions
from weft.context.port import Listing, Piece, View
from weft.context.tools import definitions
from weft.hooks.silent import NoHooks
from weft.schema.commands import Prompt, ServerCommand
from weft.schema.content import Content, Json, Text, ToolUse
from weft.schema.display import ExitView
from weft.schema.events import (
    AgentEvent,
    Compacted,
    Completion,
    Notice,
    ServerInfo,
    TaskChanged,
    TaskInfo,
    ToolEnded,
    ToolProgressed,
)
from weft.schema.ids import new_id
from weft.sdk.briefing import briefed
from weft.sdk.places import open_workspace
from weft.sdk.rewinding import Rewinder
from weft.sdk.session_tools import SessionTools
from weft.sdk.staff import former_agent
from weft.sdk.threads import Threads
from weft.sessions.ledger import Ledger
from weft.tools.checkpoints import Checkpoints
from weft.tools.file_states import FileStateStore
from weft.tools.port import AnyTool, Progress, Search, ToolContext
from weft.tools.shell import shell_env
from weft.tools.tasks import BackgroundTasks

if TYPE_CHECKING:
    from weft.sdk.compose import Ground
    from weft.sdk.mainagent import MainAgent

NO_MORE = "You are Weft, an agent that works on software with the tools you are given."


class Workbench:
    """Built on a `Ground`; `session` puts the last piece on top. Nothing here runs before the session is entered."""

    def __init__(self, ground: "Ground") -> None:
        self.ground = ground
        self.emit = self._noted
        self.workspace, self.editor = open_workspace(ground, self.emit)
        self.files = FileStateStore()
        env = shell_env(ground.conversation.session_id, {"env": ground.settings.env()})
        self.tasks = BackgroundTasks(self.workspace, self._task_folder(), on_change=self._task_changed, env=env)
        self.servers = ground.servers()
        self._tool_search: AnyTool | None = None
        sources = (self._own_tools, self._built_in, self._session_tools(), self._server_tools, self._editor_tools)
        self.box = ToolBox(sources, offered=self._offered)
        resumed, options = ground.conversation.resumed, ground.options
        self.ledger = Ledger(ground.price, resumed.ledger if resumed is not None else None)
        agent = ground.main_agent
        most = options.max_turns or (agent.max_turns if agent is not None else None)
        self.limits = Limits(self.ledger, max_turns=most, max_budget=options.max_budget)
        self.assembler = Assembler(self.prompt_options(agent))
        self.threads = Threads(self)
        self.subagents = Subagents(
            make=self.threads.subagent,
            hooks=ground.hooks,
            state=ground.state,
            emit=self._subagent_event,
            group=lambda: self._session.group,
            prompt=self._prompt_later,
            parent_turn=lambda: self._session.turn,
        )
        self.checkpoints = self._open_checkpoints()
        self.thread = self.threads.main()

    def _noted(self, event: AgentEvent) -> None:
        """Every event on its way out; what tools did goes into the ledger."""
        if isinstance(event, Compacted) and event.state == "done":
            self.assembler.compacted()
        if isinstance(event, ToolEnded):
            self.ledger.add_tool(event.duration)
            for edit in event.edits:
                from weft.tools.diff import counts

                added, removed = counts(edit.before, edit.after)
                self.ledger.add_edit(edit.path, added=added, removed=removed)
            for view in event.display:
                if isinstance(view, ExitView) and view.code == 0:
                    self.ledger.add_command(view.command)
        self.ground.channel.put(event)

    def prompt_options(self, agent: AgentDefinition | None) -> PromptOptions:
        """An agent's own prompt takes the place of ours; what the caller replaced counts more than either. Empty text
        replaces too: then the model is told who it is, and no more."""
        options = self.ground.options
        skills = skills_.find(self.ground.where) if agent is not None and agent.skills else {}
        replace = options.system_prompt or (briefed(agent, skills, self.ground) if agent is not None else None)
        if options.system_prompt == "" and not replace:
            replace = NO_MORE
        return PromptOptions(
            replace=replace or None,
            append=options.append_system_prompt,
            static=options.static_prompt,
            bare=options.bare,
        )

    # --- tools --------------------------------------------------------------------------------------------------

    def _task_folder(self) -> Path:
        log = self.ground.conversation.log
        if log is not None and log.path is not None:
            return log.path.with_suffix("") / "tasks"
        import tempfile

        return Path(tempfile.gettempdir()) / f"weft-{self.ground.conversation.session_id}"

    def _task_changed(self, task: TaskInfo) -> None:
        self.emit(TaskChanged(task=task))
        self._session.stir()
        if task.kind in ("shell", "mcp") and task.background and task.state in ("completed", "failed"):
            what = "command" if task.kind == "shell" else "call"
            words = f"The background {what} {task.id} ({task.description}) has {task.state}."
            self._prompt_later(
                Prompt(
                    f"{words} Read its output if you need it.",
                    verbatim=True,
                    synthetic=True,
                    origin="task-notification",
                )
            )

    def _own_tools(self) -> Iterable[AnyTool]:
        return self.ground.overrides.tools

    def _built_in(self) -> Iterable[AnyTool]:
        from weft.tools.registry import built_in

        return built_in(self.ground.options.tools)

    def _session_tools(self) -> SessionTools:
        options, state = self.ground.options, self.ground.state
        return SessionTools(
            names=options.tools,
            schema=options.output_schema,
            skills=lambda: self.intake.skills,
            session_id=lambda: state.session_id,
            cwd=lambda: state.cwd,
            servers=lambda: self.intake.desk.servers,
        )

    def _server_tools(self) -> Iterable[AnyTool]:
        if self.ground.inline is not None:
            yield from self.ground.inline.tools()
        if self.servers is not None:
            found = list(self.servers.tools())
            yield from found
            if self._tool_search is None and (any(tool.deferred for tool in found) or self.servers.starting()):
                from weft.tools.tool_search import ToolSearch

                self._tool_search = ToolSearch(lambda: self.box.deferred(), self.box.reveal, self.servers.arrive)
            if self._tool_search is not None:
                yield self._tool_search

    def _editor_tools(self) -> Iterable[AnyTool]:
        return self.editor.tools() if self.editor is not None else ()

    def server_infos(self) -> tuple[ServerInfo, ...]:
        inline = self.ground.inline.infos() if self.ground.inline is not None else ()
        return inline + (self.servers.infos() if self.servers is not None else ())

    async def _server_command(self, command: ServerCommand) -> None:
        inline = self.ground.inline
        if inline is not None and (inline.has(command.server) or self.servers is None):
            await inline.command(command)
            self.ground.state.changed("servers")
        elif self.servers is not None:
            await self.servers.command(command)

    async def _set_servers(self, servers: Json) -> Json:
        """Servers can join a session that has a host for them; where none was configured there is none."""
        if self.servers is None:
            reason = "this session was started without MCP servers; give them with --mcp-config"
            return {"added": [], "removed": [], "errors": dict.fromkeys(servers, reason)}
        return await self.servers.replace_own(servers)

    async def _complete(self, text: str) -> tuple[int, tuple[Completion, ...]]:
        return await self.servers.complete(text) if self.servers is not None else (0, ())

    def _subagent_event(self, event: AgentEvent) -> None:
        self.emit(event)
        if isinstance(event, TaskChanged):
            self._session.stir()

    def _offered(self, tool: AnyTool) -> bool:
        """A tool that a rule denies as a whole is not even told of; one that asks needs somebody to ask."""
        asks = self.ground.options.asks
        if tool.name == "AskUserQuestion" and "question" not in asks:
            return False
        if tool.name in ("EnterPlanMode", "ExitPlanMode") and "plan" not in asks:
            return False
        agent = self.ground.main_agent
        if agent is not None and not _has(agent, tool):
            return False
        return not self.ground.gate.removed(tool.name)

    def context(self, spawner: Subagents, parent: str | None, state: State, use: ToolUse) -> ToolContext:
        ground = self.ground

        def progress(step: Progress) -> None:
            self.emit(
                ToolProgressed(
                    tool_use_id=use.id,
                    output=step.output,
                    message=step.message,
                    fraction=step.fraction,
                    parent=parent,
                )
            )

        return ToolContext(
            use=use,
            workspace=self.workspace,
            session=state,
            files=self.files,
            tasks=self.tasks,
            asker=ground.asks,
            spawner=spawner,
            progress=progress,
            settings=ground.settings.values,
            allowed=self._allowed,
            search=self._search() if use.name == "WebSearch" else None,
        )

    def _search(self) -> Search | None:
        from weft.sdk.searching import provider_search

        return provider_search(self)

    def turn(self) -> Turn | None:
        """The turn that runs."""
        return self._session.turn

    def _allowed(self, name: str, value: Json) -> bool:
        return not self.ground.gate.hides(name, value)

    # --- threads ------------------------------------------------------------------------------------------------

    def view(
        self, aside: State | None = None, box: ToolBox | None = None, agents: tuple[str, ...] | None = None
    ) -> View:
        """What the sources see; of a subagent with its own folder and tools, and with the `agents` that it may ask."""
        session, options = self.ground.state, self.ground.options
        state, tools = aside or session, (box or self.box).all()
        return View(
            cwd=state.cwd,
            roots=(state.original_cwd, *options.directories),
            model=session.model,
            tools=tuple(tools),
            mode=session.mode,
            sources=self.ground.sources,
            listings=self._listings(tools, agents),
            interactive=bool(options.asks),
            window=self.ground.facts(session.model).context_window,
        )

    def _listings(self, tools: Mapping[str, AnyTool], agents: tuple[str, ...] | None) -> tuple[Listing, ...]:
        """Told once, in front of the conversation: whom and what the model may ask for by name."""
        found: list[Listing] = []
        if "Task" in tools or "Agent" in tools:
            rows = tuple(row for row in self.ground.staff.rows() if agents is None or row[0] in agents)
            found.append(Listing("Agents that work can be given to", rows))
        if "Skill" in tools:
            skills = (*self.intake.skills.values(), *self.intake.desk.servers.skills())
            rows = tuple((one.name, one.description) for one in skills if one.for_model)
            found.append(Listing("Skills that can be used", rows))
        deferred = tuple((tool.name, "") for tool in self.box.deferred())
        found.append(Listing("Tools that have to be looked up with ToolSearch before they are used", deferred))
        if self.servers is not None:
            coming = tuple((name, "") for name in self.servers.starting())
            found.append(Listing("MCP servers that are starting; call ToolSearch to wait for their tools", coming))
            said = tuple(self.servers.instructions().items())
            found.append(Listing("What MCP servers say about their own use (their words, not the person's)", said))
        return tuple(listing for listing in found if listing.rows)

    def _open_checkpoints(self) -> Checkpoints | None:
        ground = self.ground
        if not ground.options.checkpoints or ground.conversation.log is None:
            return None
        return Checkpoints(ground.home, ground.conversation.session_id, self.workspace)

    # --- the session --------------------------------------------------------------------------------------------

    def _prompt_later(self, prompt: Prompt) -> None:
        self._session.inbox_put(prompt)

    def _background(self) -> bool:
        shells = any(task.background and task.state == "running" for task in self.tasks.list())
        return shells or any(task.background for task in self.subagents.running.values())

    async def _opening(self) -> Content:
        if self.servers is not None:
            await self.servers.before_first_prompt()
        return await self.assembler.reminders(self.view()) + self._first_words()

    def _first_words(self) -> Content:
        agent = self.ground.main_agent
        return (Text(agent.initial_prompt),) if agent is not None and agent.initial_prompt else ()

    async def _bare_opening(self) -> Content:
        return self._first_words()

    def _memory_files(self) -> Sequence[tuple[Path, str]]:
        files = self.assembler.memory.files(self.view())
        return [(file.path, file.scope) for file in files if not file.patterns]

    async def pieces(self) -> Sequence[Piece]:
        """What the model is told besides the conversation, by source, tool definitions included."""
        view = self.view()
        told = (*self.assembler.system_pieces(view), *await self.assembler.reminder_pieces(view))
        return (*told, *definitions(self.box.specs()))

    def _fresh(self) -> None:
        """A new conversation in the same session: a new id, an empty history, the same tools and rules."""
        ground = self.ground
        ground.begin_again(new_id())
        self.thread.history.scribe = self.threads.scribe()
        self.thread.history.replace(())
        ground.state.todos = ()
        ground.state.title = ""
        ground.state.changed("clear")

    def _control(self) -> SessionControl:
        ground = self.ground
        compactor = self.thread.work.compactor
        assert isinstance(compactor, Compactor)
        return SessionControl(
            state=ground.state,
            thread=self.thread,
            tasks=self.tasks,
            subagents=self.subagents,
            compactor=compactor,
            choose=ground.choose,
            rewinds=Rewinder(ground.store, lambda: ground.conversation.session_id, self.checkpoints),
            servers=self._server_command,
            set_servers=self._set_servers,
            complete=self._complete,
            apps=lambda server, tool: self.servers.app_tool(server, tool) if self.servers is not None else None,
            fresh=self._fresh,
            pieces=self.pieces,
        )

    def _resources(self) -> tuple[AbstractAsyncContextManager[object], ...]:
        servers = (self.servers.host,) if self.servers is not None else ()
        return (self.ground, self.tasks, *servers, *((self.editor,) if self.editor is not None else ()))

    def session(self) -> Session:
        ground = self.ground
        resumed = ground.conversation.resumed
        control = self._control()
        intake = self.intake = ground.intake(self, control)
        ground.state.offers = Offers(
            tools=lambda: tuple(self.box.all()),
            commands=intake.completions,
            agents=ground.staff.names,
            staff=ground.staff.infos,
            main_agent=lambda: ground.main_agent.name if ground.main_agent is not None else "",
            skills=lambda: (*intake.skills, *(skill.name for skill in intake.desk.servers.skills())),
            models=ground.models,
            servers=self.server_infos,
        )
        if not ground.options.bare:
            ground.moments.memory = self._memory_files
        session = self._session = Session(
            state=ground.state,
            channel=ground.channel,
            asks=ground.asks,
            intake=intake,
            hooks=ground.hooks,
            moments=ground.moments,
            source=ground.began_as(),
            setup=ground.options.setup,
            limits=self.limits,
            thread=self.thread,
            control=control,
            resumed=resumed is not None,
            replay=self._shown_again if resumed is not None and ground.options.replay else None,
            brief=ground.options.brief,
            opening=self._bare_opening if ground.options.bare else self._opening,
            resources=self._resources(),
            background=self._background,
            gate=ground.gate,
            settings=ground.settings,
            began=self._turn_began,
            followups=lambda: self.main_agent.followups() if ground.main_agent is not None else None,
            # Read when the session is entered: what there is to say about agents is known by then.
            notes=(Notice(text=note, level="warning", tag="startup") for note in ground.notes),
        )
        self.thread.work.steering = session.steering
        self._serve_hooks()
        if ground.options.permission_tool is not None:
            self._ask_tool(ground.options.permission_tool, session)
        return session

    @cached_property
    def main_agent(self) -> "MainAgent":
        """Loaded where there is one, or where the person asks for one."""
        from weft.sdk.mainagent import MainAgent

        return MainAgent(self)

    def _turn_began(self, prompt_id: str) -> None:
        ground = self.ground
        if ground.main_agent is not None or "main_agent" in self.__dict__ or former_agent(ground.conversation.resumed):
            self.main_agent.mark()
        if self.checkpoints is not None:
            self.checkpoints.begin(prompt_id)

    def _serve_hooks(self) -> None:
        ground = self.ground
        if isinstance(ground.hooks, NoHooks):
            return
        from weft.sdk.reaching import fill

        fill(ground.reach(), self)
        if ground.hooks.wants("InstructionsLoaded"):
            self.assembler.memory.loaded = ground.moments.loaded

    def running(self) -> list[Json]:
        """Background work, as hooks read it."""
        shells = [task for task in self.tasks.list() if task.background and task.state == "running"]
        tasks = [*shells, *self.subagents.running.values()]
        return [{"id": task.id, "type": task.kind, "description": task.description} for task in tasks]

    def _shown_again(self) -> list[AgentEvent]:
        from weft.agent.replay import to_events
        from weft.sdk.sidelog import read_side_log

        conversation = self.ground.conversation
        records = conversation.resumed.records if conversation.resumed is not None else ()
        return to_events(records, side=partial(read_side_log, conversation.log))

    def _ask_tool(self, name: str, session: Session) -> None:
        from weft.agent.prompt_tool import PromptTool

        asker = PromptTool(
            name,
            box=self.box,
            context=self.thread.work.context,
            group=lambda: session.group,
            answer=self.ground.asks.answer,
        )
        self.ground.asks.tap(asker.see)


def _has(agent: AgentDefinition, tool: AnyTool) -> bool:
    """The tool that ends a turn with a value is the caller's wish, whoever the main agent is."""
    return tool.name == "StructuredOutput" or chosen(tool, agent.tools, agent.disallowed_tools)
