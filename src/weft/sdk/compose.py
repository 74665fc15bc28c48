"""Options to a live session: the one place where the parts of an agent are put together.

Everything is imported late, in the order in which it is needed, so that a session pays only for what it uses.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args

import msgspec

from weft import __version__
from weft.agent.asks import Asks
from weft.agent.channel import Channel
from weft.agent.control import SessionControl
from weft.agent.folders import Where
from weft.agent.intake import Intake
from weft.agent.moments import Moments, StartSource
from weft.agent.options import AskKind, SessionOptions
from weft.agent.requests import Facts
from weft.agent.session import Session
from weft.agent.state import State
from weft.agent.wishes import EFFORTS
from weft.connect.local import LocalConnection
from weft.connect.port import Connection
from weft.context.port import ALL_SOURCES, SettingSource
from weft.errors import UsageError
from weft.hooks.port import HookEvent, Hooks
from weft.hooks.silent import NoHooks
from weft.paths import weft_home
from weft.permissions.gate import RuleGate, open_gate
from weft.providers.catalogue import Catalogue, catalogue
from weft.providers.port import Provider
from weft.schema.content import Json
from weft.schema.events import ModelInfo
from weft.schema.messages import ThinkingConfig, Usage
from weft.schema.records import Record
from weft.sdk.briefing import agent_hooks, own_servers
from weft.sdk.conversation import Conversation, open_conversation
from weft.sdk.plugins import Plugins
from weft.sdk.staff import Staff
from weft.sessions.port import SessionLog, SessionStore
from weft.settings import Settings, load_settings
from weft.settings.layers import as_object
from weft.tools.port import AnyTool
from weft.workspace.port import Workspace

if TYPE_CHECKING:
    from weft.hooks.kinds import Reach
    from weft.permissions.sandbox import Sandbox
    from weft.sdk.inline import InlineServers
    from weft.sdk.servers import Servers
    from weft.sdk.workbench import Workbench

NEVER_DEFERRED = 10_000_000
"""A window so large that all tools of a server are told."""

AskHost = Callable[[str, str, Json], Awaitable[Json]]
HookFunction = Callable[[Json, str | None], Awaitable[Json | None]]


class Overrides(msgspec.Struct, kw_only=True):
    """Parts that the caller brings: live objects, which options cannot hold."""

    provider: Provider | None = None
    workspace: Workspace | None = None
    wrap_workspace: Callable[[Workspace], Workspace] | None = None
    """Puts something in front of the workspace, such as an editor's buffers."""
    store: SessionStore | None = None
    tools: Sequence[AnyTool] = ()
    mirror: Callable[[Path, Record], None] | None = None
    """Sees every record that goes into a log."""
    hook_functions: Mapping[str, Sequence[HookFunction]] | None = None
    """Hooks that are functions of the caller's."""
    ask_host: AskHost | None = None
    """Reaches a host at the other end of a pipe: its hook callbacks and the tools in its process."""
    home: Path | None = None
    env: dict[str, str] | None = None


def connect(options: SessionOptions, overrides: Overrides | None = None) -> LocalConnection:
    """Our own agent in this process, behind the port that every surface knows."""
    return LocalConnection(lambda: build(options, overrides or Overrides()))


async def open_connection(options: SessionOptions, overrides: Overrides | None = None) -> Connection:
    """The agent that `options.agent` names: one of the person's own definitions, which is our agent with other words,
    or another agent of this machine (a name that Weft knows, a command line, the address of a socket).

    Raises:
        UsageError: nothing can be made of the name.
        ConnectionLost: the agent is known and not on this machine.
    """
    name = options.agent
    if name is None or name in _own_agents(options):
        return connect(options, overrides)
    from weft.connect.agents import AgentRequest, open_agent

    request = AgentRequest(
        cwd=options.cwd,
        session_id=options.resume or "",
        directories=options.directories,
        mode=options.mode,
        model=options.model,
    )
    return await open_agent(name, request)


def _own_agents(options: SessionOptions) -> set[str]:
    from weft.agent.definitions import find

    sources = setting_sources(options)
    where = Where.of_this_machine(options.cwd, sources, options.plugin_dirs)
    settings = load_settings(options.cwd, sources=sources, flag=options.settings, trusted=options.trust)
    return {"weft", *find(where, given=options.agents, settings=as_object(settings.values.get("agents")))}


async def build(options: SessionOptions, overrides: Overrides) -> Session:
    """
    Raises:
        WeftError: the options, the settings or the machine do not allow it; the message says what to do.
    """
    return await Ground(options, overrides).session()


class Ground:
    """What a session stands on: settings, conversation, gate, model, hooks, state. `Workbench` builds the rest."""

    def __init__(self, options: SessionOptions, overrides: Overrides) -> None:
        self.options = options
        self.overrides = overrides
        self.env = {**os.environ, **(overrides.env or {}), **(options.env or {})}
        self.home = overrides.home or weft_home(self.env)
        self.channel = Channel(limit=4096)
        self.notes: list[str] = []
        self.sources = setting_sources(options)
        self._reach: Reach | None = None

    async def session(self) -> Session:
        self.settings = self._settings()
        self.conversation = self._conversation()
        self.gate = self._gate()
        self.plugins = Plugins(self)
        self.where = Where.of_this_machine(self.options.cwd, self.sources, self.options.plugin_dirs)
        self.staff = Staff(self, self.where)
        self.main_agent = self.staff.main()
        self._take_mode()
        self.resolved = await self._model()
        self.state = self._state()
        self.asks = Asks(self.channel.put, self._ask_kinds())
        self.sandbox = self._sandbox()
        self.hooks = agent_hooks(self.main_agent, self, self._hooks())
        self.moments = Moments(self.hooks, self.state)
        self.asks.tap(self.moments.see)
        self._watch_moments()
        self.options = await self._with_servers()
        self.inline = await self._inline()
        from weft.sdk.workbench import Workbench

        bench = Workbench(self)
        session = bench.session()
        self.plugins.join(bench, session)
        return session

    # --- the ground -------------------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        settings = self._load(trusted=self.options.trust)
        if settings.withheld and self._trusted():
            settings = self._load(trusted=True)
        self.notes += [str(problem) for problem in settings.problems]
        if settings.withheld:
            self.notes.append(
                f"This folder is not trusted: {', '.join(settings.withheld)} of its settings are left out. "
                "Run weft trust here, or pass --trust."
            )
        return settings

    def _load(self, *, trusted: bool) -> Settings:
        options = self.options
        return load_settings(options.cwd, sources=self.sources, flag=options.settings, trusted=trusted, env=self.env)

    def _trusted(self) -> bool:
        """Asked only where a project has something that wants trust."""
        return self.trusts(self.options.cwd)

    def trusts(self, folder: Path) -> bool:
        from weft.permissions.trust import is_trusted

        return self.options.trust or is_trusted(folder, self.env)

    def _conversation(self) -> Conversation:
        store = self.overrides.store
        if store is None:
            from weft.paths import claude_home
            from weft.sessions.store import FileStore

            store = FileStore(self.home, foreign=claude_home(self.env))
        self.store = store
        return open_conversation(self.options, store)

    def _gate(self) -> RuleGate:
        options = self.options
        former = self.conversation.resumed.mode if self.conversation.resumed is not None else None
        gate, notes = open_gate(
            self.settings,
            cwd=str(options.cwd),
            mode=options.mode or (former if former in ("plan", "acceptEdits") else None),
            allowed=options.allowed_tools,
            disallowed=options.disallowed_tools,
            directories=[str(folder) for folder in options.directories],
            readable=[str(self.home / "projects")],
            env=self.env,
            unlocked=options.allow_bypass,
        )
        self.notes += notes
        return gate

    def _former_model(self) -> str | None:
        resumed = self.conversation.resumed
        return resumed.model or None if resumed is not None else None

    async def find_model(self, wanted: str) -> "Chosen":
        """Another model than the session's, for one use."""
        return await self._resolve(wanted)

    async def _model(self) -> "Chosen":
        """What the caller asked for, else the main agent's, else the conversation's own."""
        agent = self.main_agent
        if self.options.model is None and agent is not None and agent.model is not None:
            from weft.sdk.models import first_of

            found = await first_of(self, (agent.model, *agent.fallback_models), self.notes.append)
            if found is not None:
                return found
        return await self._resolve(self.options.model or self._former_model())

    def _take_mode(self) -> None:
        """The main agent's own mode, where the caller named none."""
        mode = self.main_agent.permission_mode if self.main_agent is not None else None
        if mode is None or self.options.mode is not None:
            return
        try:
            self.gate.set_mode(mode)
        except UsageError as error:
            self.notes.append(str(error))

    async def _with_servers(self) -> SessionOptions:
        """With the servers of plug-ins and of the main agent."""
        joined = self.plugins.joined
        servers: Json = await joined.servers() if joined is not None and not self.options.strict_mcp else {}
        if not self.options.strict_mcp:
            servers = {**servers, **own_servers(self.main_agent)}
        if not servers:
            return self.options
        return msgspec.structs.replace(self.options, mcp_servers={**servers, **(self.options.mcp_servers or {})})

    async def _resolve(self, wanted: str | None) -> "Chosen":
        """The model, and who answers for it."""
        if self.plugins.joined is not None and (offered := await self.plugins.joined.choose(wanted)) is not None:
            return offered
        if self.overrides.provider is not None:
            known = catalogue().extended(self.settings.values.get("models"))
            name = known.resolve(wanted, self.env) if wanted else self.overrides.provider.name
            return Chosen(provider=self.overrides.provider, model=name, key_source="none", catalogue=known)
        from weft.providers.resolve import resolve

        found = await resolve(wanted, settings=self.settings.values, env=self.env, fallback=self.options.fallback_model)
        if found.note:
            self.notes.append(found.note)
        return Chosen(
            provider=found.provider, model=found.model, key_source=found.key_source, catalogue=found.catalogue
        )

    def _state(self) -> State:
        options, resumed = self.options, self.conversation.resumed
        state = State(
            session_id=self.conversation.session_id,
            cwd=options.cwd,
            directories=options.directories,
            model=self.resolved.model,
            default_model=self.resolved.model,
            thinking=options.thinking or self._agent_thinking(),
            gate=self.gate,
            log=self.conversation.log,
            emit=self.channel.put,
            version=__version__,
            key_source=self.resolved.key_source,
        )
        if resumed is not None:
            state.todos = resumed.todos
            state.title = resumed.title
        if options.title:
            state.title = options.title
        return state

    def _agent_thinking(self) -> ThinkingConfig:
        effort = self.main_agent.effort if self.main_agent is not None else None
        return ThinkingConfig(effort=effort) if effort in EFFORTS else ThinkingConfig()

    async def _inline(self) -> "InlineServers | None":
        ask = self.overrides.ask_host
        if ask is None:
            return None
        from weft.sdk.inline import InlineServers, sdk_server_names

        names = sdk_server_names(self.options.mcp_configs, self.options.mcp_servers)
        if not names:
            return None
        servers = InlineServers(names, ask, self.channel.put)
        await servers.connect()
        return servers

    def reach(self) -> "Reach":
        """What hooks may use of the session; the workbench fills it in."""
        if self._reach is None:
            from weft.hooks.kinds import Reach

            self._reach = Reach()
        return self._reach

    def _hooks(self) -> Hooks:
        functions = self.overrides.hook_functions or {}
        given = self.options.hooks
        if self.options.plugin_dirs:
            from weft.sdk.plugin_dirs import with_hooks

            given = with_hooks(given, self.options.plugin_dirs, self.notes)
        if not self.settings.section("hooks") and not given and not functions:
            return NoHooks()
        from weft.hooks.runner import open_hooks

        runner = open_hooks(
            self.settings,
            given,
            emit=self.channel.put,
            env=self.env,
            cwd=str(self.options.cwd),
            ask_host=self.overrides.ask_host,
            wrap=self.sandbox,
            reach=self.reach(),
        )
        for event in get_args(HookEvent):
            for function in functions.get(event, ()):
                runner.add(event, function)
        return runner

    def _watch_moments(self) -> None:
        """What only hooks need is put in place only where there are any."""
        if isinstance(self.hooks, NoHooks):
            return
        from weft.hooks.watch import config_files

        self.asks.around = self.moments.elicited
        self.moments.config = lambda: config_files(self.options.cwd, self.env)

    def _sandbox(self) -> "Sandbox | None":
        """The box of commands and hooks; None when the settings leave it off or the machine has none."""
        if self.settings.section("sandbox").get("enabled") is not True:
            return None
        from weft.permissions.sandbox import open_sandbox

        roots = (self.options.cwd, *self.options.directories)
        sandbox, sentence = open_sandbox(self.settings, roots=roots, env=self.env)
        if sandbox is None or sandbox.kind != "bubblewrap":
            self.notes.append(f"Sandbox: {sentence}.")
        return sandbox

    def _ask_kinds(self) -> frozenset[AskKind]:
        """What can be asked: of the surface, and of a tool that answers for the person."""
        if self.options.permission_tool is None:
            return self.options.asks
        by_tool: AskKind = "permission"
        return frozenset((*self.options.asks, by_tool))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Connections to the model end with the session; a provider that the caller brought is the caller's."""
        if self.overrides.provider is None:
            await self.resolved.provider.aclose()

    # --- what the workbench asks for ----------------------------------------------------------------------------

    def provider(self) -> Provider:
        return self.resolved.provider

    def facts(self, model: str) -> Facts:
        return self.resolved.catalogue.facts(model, self.options.betas)

    def price(self, model: str, usage: Usage) -> float | None:
        from weft.providers.costs import price

        return price(model, usage, self.resolved.catalogue)

    def models(self) -> tuple[ModelInfo, ...]:
        joined = self.plugins.joined
        return self.resolved.catalogue.choices() + (joined.models() if joined is not None else ())

    async def choose(self, model: str | None) -> str:
        """Another model for a session that runs; None is the one that the settings name."""
        before, self.resolved = self.resolved, await self._resolve(model)
        if self.overrides.provider is None:
            await before.provider.aclose()
        return self.resolved.model

    def began_as(self) -> StartSource:
        if self.conversation.resumed is None:
            return "startup"
        return "fork" if self.options.fork else "resume"

    def mirror_of(self, log: SessionLog | None) -> Callable[[Record], None] | None:
        mirror = self.overrides.mirror
        if mirror is None or log is None or log.path is None:
            return None
        path = log.path
        return lambda record: mirror(path, record)

    def servers(self, own: Json | None = None) -> "Servers | None":
        """The session's servers; with `own`, those alone, in a host of their own."""
        from weft.sdk.server_files import open_servers

        options = self.options
        if own is not None:
            options = msgspec.structs.replace(options, mcp_servers=own, mcp_configs=(), strict_mcp=True)
        return open_servers(
            options,
            self.settings,
            env=self.env,
            home=self.home,
            asks=self.asks,
            state=self.state,
            emit=self.channel.put,
            provider=self.provider,
            window=lambda: self.facts(self.state.model).context_window if own is None else NEVER_DEFERRED,
            gate=self.gate,
        )

    def begin_again(self, session_id: str) -> None:
        log = self.store.create(session_id, self.options.cwd) if self.options.persist else None
        self.conversation = Conversation(session_id=session_id, log=log)
        self.state.session_id = session_id
        self.state.log = log

    def intake(self, bench: "Workbench", control: SessionControl) -> Intake:
        from weft.sdk.desk import make_desk

        options, desk = self.options, make_desk(self, bench, control)
        return Intake(desk, self.where, shortcuts=options.shortcuts, only=options.skills)


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its provider. `key_source` says where the credential came from, never what it is."""

    provider: Provider
    model: str
    key_source: str
    catalogue: Catalogue


def setting_sources(options: SessionOptions) -> tuple[SettingSource, ...]:
    if options.bare:
        return ()
    wanted = options.setting_sources
    return tuple(source for source in ALL_SOURCES if wanted is None or source in wanted)
