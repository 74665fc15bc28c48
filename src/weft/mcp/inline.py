"""MCP with a server that lives in the caller's own process: a pair of callables, no package, no socket.

`send(message)` takes a JSON-RPC message and returns the reply (anything for a notification). It is how `sdk` servers
of the stream-json protocol are reached, and tools that are Python functions.
"""

from collections.abc import Awaitable, Callable

import anyio
import msgspec

from weft import __version__
from weft.errors import RemoteProtocolError, ToolError
from weft.mcp.catalogue import McpResult, ToolInfo, decode_tool, list_of, table_of, text_of
from weft.mcp.names import namespaced
from weft.mcp.results import decode_result
from weft.schema.content import Json

PROTOCOL = "2025-11-25"
START_LIMIT = 30.0
MAX_PAGES = 20

Send = Callable[[Json], Awaitable[Json]]


class InlineServer:
    """One server behind `send`. `connect` runs the handshake and reads the tools."""

    def __init__(self, name: str, send: Send) -> None:
        self.name = name
        self._send = send
        self._count = 0
        self.tools: tuple[ToolInfo, ...] = ()
        self.instructions = ""
        self.version = ""

    async def connect(self) -> None:
        """
        Raises:
            ToolError: the server does not answer, or answers with an error.
        """
        with anyio.move_on_after(START_LIMIT) as scope:
            hello = await self._request(
                "initialize",
                {
                    "protocolVersion": PROTOCOL,
                    "capabilities": {},
                    "clientInfo": {"name": "weft", "title": "Weft", "version": __version__},
                },
            )
            info = table_of(hello.get("serverInfo"))
            self.version = f"{info.get('name', self.name)} {info.get('version', '')}".strip()
            self.instructions = text_of(hello.get("instructions"))
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            await self.refresh()
        if scope.cancelled_caught:
            raise ToolError(f"the server {self.name!r} did not answer within {START_LIMIT:g} seconds")

    async def refresh(self) -> None:
        found: dict[str, ToolInfo] = {}
        cursor: object = None
        for _ in range(MAX_PAGES):
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {})
            for raw in map(table_of, list_of(page.get("tools"))):
                name = raw.get("name")
                if isinstance(name, str) and name and name not in found:
                    found[name] = _named(decode_tool(self.name, raw))
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                break
        self.tools = tuple(found.values())

    async def call(self, name: str, arguments: Json, *, tool_use_id: str = "") -> McpResult:
        """
        Raises:
            ToolError: the server answered with an error.
        """
        meta: Json = {"progressToken": self._count + 1}
        if tool_use_id:
            meta["claudecode/toolUseId"] = tool_use_id
        return decode_result(await self._request("tools/call", {"name": name, "arguments": arguments, "_meta": meta}))

    async def _request(self, method: str, params: Json) -> Json:
        self._count += 1
        number = self._count
        reply = await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if reply.get("id") not in (number, None):
            raise RemoteProtocolError(f"{self.name}: the answer to {method} has another id")
        error = reply.get("error")
        if error is not None:
            raise ToolError(str(table_of(error).get("message") or error))
        return table_of(reply.get("result"))


def _named(info: ToolInfo) -> ToolInfo:
    return msgspec.structs.replace(info, full_name=namespaced(info.server, info.name))
