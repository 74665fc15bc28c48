"""Tools that live in the caller's own process: `sdk` servers behind the host's pipe, `@tool` functions."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal

from weft.errors import ToolError, UsageError, WeftError
from weft.mcp.inline import InlineServer
from weft.schema.commands import ServerCommand
from weft.schema.content import Json
from weft.schema.events import AgentEvent, Notice, ServerInfo
from weft.settings.layers import is_object
from weft.tools.mcp import inline_tools
from weft.tools.port import AnyTool

AskHost = Callable[[str, str, Json], Awaitable[Json]]


class InlineServers:
    """The `sdk` servers of a session, each reached by `mcp_message` control requests."""

    def __init__(self, names: Sequence[str], ask: AskHost, emit: Callable[[AgentEvent], None]) -> None:
        self._servers = {name: InlineServer(name, _sender(name, ask)) for name in names}
        self._states: dict[str, Literal["connecting", "ready", "failed", "disabled"]] = dict.fromkeys(
            names, "connecting"
        )
        self._errors: dict[str, str] = {}
        self._emit = emit

    async def connect(self) -> None:
        for name, server in self._servers.items():
            try:
                await server.connect()
            except (ToolError, WeftError) as error:
                self._states[name], self._errors[name] = "failed", str(error)
                self._emit(Notice(text=f"The server {name} cannot be used: {error}", level="warning", tag="mcp"))
            else:
                self._states[name] = "ready"

    def tools(self) -> Iterable[AnyTool]:
        for name, server in self._servers.items():
            if self._states[name] == "ready":
                yield from inline_tools(server)

    def infos(self) -> tuple[ServerInfo, ...]:
        return tuple(
            ServerInfo(
                name=name,
                state=self._states[name],
                scope="dynamic",
                transport="sdk",
                error=self._errors.get(name),
                tools=tuple(info.name for info in server.tools),
                version=server.version,
            )
            for name, server in self._servers.items()
        )

    def has(self, name: str) -> bool:
        return name in self._servers

    async def command(self, command: ServerCommand) -> None:
        if command.server not in self._servers:
            raise UsageError(f"Server not found: {command.server}")
        if command.action == "disable":
            self._states[command.server] = "disabled"
            return
        try:
            await self._servers[command.server].connect()
        except WeftError as error:
            raise UsageError(str(error)) from None
        self._states[command.server] = "ready"


def _sender(name: str, ask: AskHost) -> Callable[[Json], Awaitable[Json]]:
    async def send(message: Json) -> Json:
        answer = await ask("", "mcp_message", {"server_name": name, "message": message})
        reply = answer.get("mcp_response")
        return reply if is_object(reply) else {}

    return send


def sdk_server_names(configs: Iterable[str], extra: Json | None) -> tuple[str, ...]:
    """The names of servers of the kind `sdk` in what `--mcp-config` and the caller gave."""
    import msgspec

    from weft.schema.wire import decode_object

    tables: list[object] = [extra or {}]
    for text in configs:
        if text.lstrip().startswith("{"):
            try:
                tables.append(decode_object(text).get("mcpServers"))
            except msgspec.DecodeError:
                continue
    return tuple(
        name
        for table in tables
        if is_object(table)
        for name, entry in table.items()
        if is_object(entry) and entry.get("type") == "sdk"
    )
