"""The MCP servers of a session: hosted, offered as tools, prompts and resources, switched on and off.

Imported only where one is configured: `sdk/server_files.py` knows.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.agent.asks import Asks
from weft.agent.commands.port import ServerSkillInfo
from weft.agent.options import SessionOptions
from weft.agent.state import State
from weft.errors import ToolError, UsageError, WeftError
from weft.mcp.visible import visible
from weft.permissions.port import Gate
from weft.schema.commands import ServerCommand
from weft.schema.content import Content, Json, Text
from weft.schema.events import AgentEvent, CommandInfo, Completion, Notice, RuleSuggestion, ServerInfo
from weft.schema.messages import Request, SystemPart
from weft.schema.stream import StreamDone, StreamFailed
from weft.sdk.server_files import find_configs
from weft.settings import Settings
from weft.tools.port import AnyTool

if TYPE_CHECKING:
    from weft.mcp.config import ServerConfig
    from weft.mcp.options import InputAnswer, SampleReply, SampleRequest
    from weft.providers.port import Provider

ARRIVAL = 20.0
"""Seconds that ToolSearch waits for servers that nobody knows yet."""
DEFERRED_ABOVE = 0.1
"""Of the window: definitions that take more than this are looked up by name."""


class Servers:
    """Implements the intake's `ServerPrompts`, the tool box's source, and the session's server commands."""

    def __init__(
        self,
        options: SessionOptions,
        settings: Settings,
        configs: Sequence["ServerConfig"],
        env: Mapping[str, str],
        home: Path,
        asks: Asks,
        state: State,
        emit: Callable[[AgentEvent], None],
        provider: Callable[[], "Provider"],
        window: Callable[[], int],
        apps: bool,
        gate: Gate | None,
    ) -> None:
        from weft.mcp.host import Host
        from weft.mcp.options import HostOptions
        from weft.tools.mcp import McpTools

        self._asks = asks
        self._options = options
        self._settings = settings
        self._env = env
        self._home = home
        self._own: set[str] = set(options.mcp_servers or {})
        self._state = state
        self._emit = emit
        self._provider = provider
        self._told: set[tuple[str, str]] = set()
        self._gate = gate
        self._cwd = options.cwd
        self._env = env
        can_ask = "input" in asks.kinds
        self.host: Host = Host(
            configs,
            HostOptions(
                cwd=options.cwd,
                home=home,
                env=env,
                roots=lambda: (state.original_cwd, *state.directories),
                ask_input=self._ask if can_ask else None,
                sample=self._sample if can_ask else None,
                on_change=self._changed,
                on_resource=self._resource_changed,
                on_visited=lambda server, visit: asks.visited(f"{server}\n{visit}"),
                ask_approval=can_ask,
                apps=apps or options.client == "web",
                start_delay=0.5,
                call_timeout=_seconds(env.get("MCP_TOOL_TIMEOUT")),
                start_timeout=_seconds(env.get("MCP_TIMEOUT")) or 30.0,
            ),
        )
        budget = int(window() * DEFERRED_ABOVE)
        self.tools: Callable[[], Iterable[AnyTool]] = McpTools(self.host, budget=budget or 20_000)
        self._wait = _seconds(env.get("WEFT_MCP_WAIT")) or 0.0
        self._ask_again(self.host.voided())

    # --- what the session shows and tells

    def infos(self) -> tuple[ServerInfo, ...]:
        return self.host.servers()

    def instructions(self) -> dict[str, str]:
        return self.host.instructions()

    async def before_first_prompt(self) -> None:
        """Waits for servers only where the person asked for it (`WEFT_MCP_WAIT`, milliseconds)."""
        if self._wait:
            await self.host.settle(self._wait)

    def starting(self) -> tuple[str, ...]:
        """Servers that are on their way for the first time: nobody knows their tools yet."""
        return tuple(server.config.name for server in self.host.newcomers())

    async def arrive(self) -> tuple[str, ...]:
        """Waits for servers that are on their way, within reason; the names of the tools that came with them."""
        names = self.starting()
        if not names:
            return ()
        await self.host.settle(ARRIVAL, names)
        return tuple(tool.full_name for tool in self.host.tools() if tool.server in names)

    def request_is_out(self) -> None:
        self.host.begin()

    def _changed(self, kind: str, server: str) -> None:
        if kind == "changes":
            self._drop_rules(self.host.voided())
            for change in self.host.changes():
                key = (change.server, f"{change.kind} {change.name} {change.difference}")
                if key not in self._told:
                    self._told.add(key)
                    words = f"The MCP server {change.server!r} has changed its {change.kind} {change.name!r}"
                    text = f"{words}; it is not used until you approve it.\n{change.difference}"
                    self._emit(Notice(text=text, level="warning", tag="mcp_changed"))
        if kind in ("state", "tools", "prompts", "resources", "changes"):
            self._state.changed("servers")

    def _ask_again(self, names: Sequence[str]) -> None:
        """An "always allow" that was given to another definition does not count: an ask rule stands before it."""
        if self._gate is not None and names:
            self._gate.add_rules(tuple(RuleSuggestion(name, "session", "ask") for name in names))

    def _drop_rules(self, names: Sequence[str]) -> None:
        """Takes the allow rules of changed tools out of the person's files, and asks again from now on."""
        from weft.permissions.writing import rules_file
        from weft.settings.layers import as_list, as_object
        from weft.settings.write import edit_file

        self._ask_again(names)

        def change(data: Json) -> None:
            permissions = dict(as_object(data.get("permissions")))
            permissions["allow"] = [rule for rule in as_list(permissions.get("allow")) if rule not in names]
            data["permissions"] = permissions

        for destination in ("user", "local"):
            path = rules_file(destination, str(self._cwd), self._env)
            if path is not None and path.is_file() and any(name in path.read_text() for name in names):
                edit_file(path, change)

    async def command(self, command: ServerCommand) -> None:
        """
        Raises:
            UsageError: there is no such server, or it may not run.
        """
        try:
            self.host.server(command.server)
        except ToolError:
            raise UsageError(f"Server not found: {command.server}") from None
        switch: dict[str, Callable[[str], Awaitable[None]]] = {
            "enable": self.host.enable,
            "disable": self.host.disable,
            "reconnect": self.host.reconnect,
        }
        server = self.host.server(command.server)
        if command.action != "disable" and server.state == "needs_auth" and "input" in self._asks.kinds:
            self.host.follow(lambda: self._login(command.server))
            return
        if command.action != "disable" and server.changes:
            self.host.follow(lambda: self._show_changes(command.server))
            return
        try:
            await switch[command.action](command.server)
        except WeftError as error:
            raise UsageError(str(error), hint=error.hint) from None

    async def _login(self, server: str) -> None:
        try:
            await self.host.login(server)
        except WeftError as error:
            self._emit(Notice(text=str(error), level="warning", tag="mcp_login"))

    async def _show_changes(self, server: str) -> None:
        """Each change is put before the person with its difference; a yes takes it."""
        for change in self.host.server(server).changes:
            words = f"The MCP server {server!r} has changed its {change.kind} {change.name!r}. Use it from now on?"
            answer = await self._ask(server, f"{words}\n{change.difference}")
            if answer.action == "accept":
                self.host.approve_change(change)

    def app_tool(self, server: str, tool: str) -> AnyTool | None:
        """A tool that the pages of a server's apps may call: of that server, approved, and meant for apps."""
        from msgspec.structs import replace

        from weft.mcp.apps import for_apps
        from weft.mcp.names import namespaced
        from weft.tools.mcp import McpTool

        try:
            owner = self.host.server(server)
        except ToolError:
            return None
        for info in owner.usable_tools():
            if info.name == tool and for_apps(info):
                return McpTool(self.host, replace(info, full_name=namespaced(server, tool)))
        return None

    async def replace_own(self, servers: Json) -> Json:
        """The caller's servers from now on; those of files stay. Entries are read as `--mcp-config` is."""
        import msgspec

        given = msgspec.structs.replace(self._options, mcp_servers=servers, mcp_configs=(), strict_mcp=True)
        configs, problems = find_configs(given, self._settings, self._env, self._home)
        wanted = {config.name: config for config in configs}
        removed = [name for name in self._own if name not in wanted]
        for name in removed:
            self.host.remove(name)
        await self.host.add(tuple(wanted.values()))
        self._own = set(wanted)
        self._state.changed("servers")
        errors = {name: "; ".join(problems) or "it is not a server" for name in servers if name not in wanted}
        return {"added": sorted(wanted), "removed": sorted(removed), "errors": errors}

    # --- prompts and resources

    def prompts(self) -> Sequence[CommandInfo]:
        from weft.mcp.names import spellings

        found: list[CommandInfo] = []
        for prompt in self.host.prompts():
            hint = " ".join(f"<{a.name}>" if a.required else f"[{a.name}]" for a in prompt.arguments)
            name, other = spellings(prompt.server, prompt.name)
            about = prompt.description or prompt.title
            found.append(CommandInfo(name, about, hint, f"mcp ({prompt.server})", (other,)))
        return tuple(found)

    async def prompt(self, name: str, arguments: Sequence[str]) -> Content:
        from weft.mcp.names import spellings

        for info in self.host.prompts():
            if name in spellings(info.server, info.name):
                given = {
                    a.name: value
                    for a, value in zip(info.arguments, _spread(len(info.arguments), arguments), strict=False)
                }
                missing = [a.name for a in info.arguments if a.required and a.name not in given]
                if missing:
                    raise ToolError(f"/{name} needs {', '.join(missing)}")
                messages = await self.host.get_prompt(info.server, info.name, given)
                return tuple(block for message in messages for block in message.content)
        raise ToolError(f"there is no prompt {name!r}")

    def log(self, server: str) -> Sequence[str]:
        try:
            return tuple(f"{line.level}: {line.text}" for line in self.host.log_lines(server))
        except ToolError:
            return ()

    def skills(self) -> Sequence[ServerSkillInfo]:
        return tuple(
            ServerSkillInfo(skill.full_name, skill.description, skill.server, skill.for_model, skill.for_person)
            for skill in self.host.skills()
        )

    async def skill(self, name: str, arguments: str) -> str:
        from weft.mcp.skills import use_skill

        for skill in self.host.skills():
            if skill.full_name == name:
                return await use_skill(self.host, skill, arguments)
        raise ToolError(f"there is no skill {name!r}")

    async def resource(self, server: str, uri: str) -> Content | None:
        from weft.mcp.results import resource_blocks

        known = {info.name for info in self.host.servers()}
        if server not in known:
            return None
        parts = await self.host.read(server, uri)
        # From now on the person is told when it changes; a server that does not tell is none the worse for it.
        with contextlib.suppress(ToolError):
            await self.host.subscribe(server, uri)
        return tuple(block for part in parts for block in resource_blocks(part))

    def _resource_changed(self, server: str, uri: str) -> None:
        text = f"The resource {visible(uri)} of the MCP server {server!r} has changed since it was attached."
        self._emit(Notice(text=text, tag="mcp_resource"))

    async def complete(self, text: str) -> tuple[int, tuple[Completion, ...]]:
        from weft.mcp.completing import complete

        return await complete(self.host, text)

    # --- asking

    async def _ask(
        self, server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
    ) -> "InputAnswer":
        from weft.mcp.options import InputAnswer

        if schema is None and url is None:
            schema = {"type": "object", "properties": {}}
        given = await self._asks.input(server, message, schema, url, visit=f"{server}\n{visit}" if visit else "")
        return InputAnswer("decline") if given is None else InputAnswer(given.action, given.content)

    async def _sample(self, request: "SampleRequest") -> "SampleReply":
        from weft.mcp.options import SampleReply

        asked = Request(
            model=self._state.model,
            messages=request.messages,
            system=(SystemPart(request.system),) if request.system else (),
            tools=request.tools,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            stop_sequences=request.stop_sequences,
        )
        async for event in self._provider().stream(asked):
            if isinstance(event, StreamDone):
                reason = {"end_turn": "endTurn", "max_tokens": "maxTokens", "tool_use": "toolUse"}
                stop = reason.get(event.reply.stop_reason or "", "endTurn")
                return SampleReply(event.reply.model, event.reply.content, stop)
            if isinstance(event, StreamFailed):
                raise ToolError(f"the model did not answer: {event.message}")
        return SampleReply(self._state.model, (Text(""),))


def _spread(count: int, arguments: Sequence[str]) -> list[str]:
    """Words for `count` arguments: the last one takes all that is left."""
    if len(arguments) <= count:
        return list(arguments)
    return [*arguments[: count - 1], " ".join(arguments[count - 1 :])] if count else []


def _seconds(value: str | None) -> float | None:
    """A variable that holds milliseconds."""
    return int(value) / 1000 if value and value.isdigit() and int(value) > 0 else None
