"""Stands between a transport and the package's session: what a server sends is made harmless before it is parsed.

The package validates strictly, and one bad tool loses a whole list. So lists and results pass through here: each
item is checked on its own, and the session gets a minimal shape that is always valid, with the item as it came
under `RAW` in its `_meta`. What is read by the rest of this room is that raw item, through typed code.

It also gives a silent server a short time to answer the era probe, and tells when the stream has ended.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, cast

import anyio
import mcp_types
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from weft.schema.content import Json

RAW = "weft/raw"
PROBE_LIMIT = 3.0
MAX_ITEMS = 2000
"""Of one page; more is a flood."""

_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_RESULTS = {"tools/call": "content", "prompts/get": "messages", "resources/read": "contents"}
_KEPT = ("resultType", "ttlMs", "cacheScope", "nextCursor", "requestState", "inputRequests")

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


class Screen:
    """A transport that wraps a transport. `opened` is called when the inner one stands, `ended` when it is over."""

    def __init__(
        self,
        inner: AbstractAsyncContextManager[Streams],
        *,
        opened: Callable[[], None],
        ended: Callable[[str], None],
        heard: Callable[[], None],
        probe_limit: float = PROBE_LIMIT,
    ) -> None:
        self._inner = inner
        self._opened = opened
        self.ended = ended
        self.heard = heard
        self.probe_limit = probe_limit
        self.asked: dict[str | int, str] = {}
        self.probe: tuple[str | int, float] | None = None
        self.settled = False
        """The era is known: nothing is probed any more."""

    async def __aenter__(self) -> Streams:
        read, write = await self._inner.__aenter__()
        self._opened()
        return _Reader(read, self), _Writer(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

    def sent(self, message: mcp_types.JSONRPCMessage) -> None:
        if not isinstance(message, mcp_types.JSONRPCRequest):
            return
        if message.method in _LISTS or message.method in _RESULTS or message.method == "initialize":
            self.asked[message.id] = message.method
        elif message.method == "server/discover":
            self.probe = (message.id, anyio.current_time() + self.probe_limit)

    def received(self, message: mcp_types.JSONRPCMessage) -> mcp_types.JSONRPCMessage:
        if not isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError) or message.id is None:
            return message
        if self.probe is not None and self.probe[0] == message.id:
            self.probe = None
            self.settled = isinstance(message, mcp_types.JSONRPCResponse)
        method = self.asked.pop(message.id, None)
        self.settled = self.settled or method == "initialize"
        if method is None or not isinstance(message, mcp_types.JSONRPCResponse):
            return message
        return mcp_types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=screened(method, message.result))


def screened(method: str, result: Json) -> Json:
    """The minimal valid shape of a result, with what came kept under `RAW`."""
    if method == "initialize":
        return _initialized(result)
    if method in _RESULTS:
        if result.get("resultType", "complete") != "complete":
            return result
        return {**_kept(result), _RESULTS[method]: [], "_meta": {RAW: result}}
    key = _LISTS[method]
    items = result.get(key)
    found = cast("list[object]", items)[:MAX_ITEMS] if isinstance(items, list) else []
    shaped = [shape for shape in (_item(key, cast("Json", item)) for item in found if isinstance(item, dict)) if shape]
    return {**_kept(result), key: shaped}


def _kept(result: Json) -> Json:
    kept = {key: result[key] for key in _KEPT if result.get(key) is not None}
    if not isinstance(kept.get("nextCursor", ""), str):
        del kept["nextCursor"]
    return kept


def _item(key: str, raw: Json) -> Json | None:
    """One entry of a list, or None for one that cannot be used at all."""
    meta = {RAW: raw}
    name = raw.get("name")
    if key == "resources":
        return {"uri": raw["uri"], "name": _name(raw), "_meta": meta} if _is_uri(raw.get("uri")) else None
    if key == "resourceTemplates":
        template = raw.get("uriTemplate")
        ok = isinstance(template, str) and template
        return {"uriTemplate": template, "name": _name(raw), "_meta": meta} if ok else None
    if not isinstance(name, str) or not name or len(name) > 512:
        return None
    if key == "prompts":
        return {"name": name, "_meta": meta}
    return {"name": name, "inputSchema": object_schema(raw.get("inputSchema")), "_meta": meta}


def _name(raw: Json) -> str:
    name = raw.get("name")
    return name if isinstance(name, str) and name else "unnamed"


def _is_uri(value: object) -> bool:
    return isinstance(value, str) and ":" in value and len(value) < 8192


def object_schema(value: object) -> Json:
    """A schema with `type: object` at its root, whatever was sent. Alternatives at the root, which providers refuse,
    are flattened: all their properties, and as required what every one of them requires."""
    schema = dict(cast("Json", value)) if isinstance(value, dict) else {}
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.pop(word, None)
        if not isinstance(parts, list):
            continue
        tables = [cast("Json", part) for part in cast("list[object]", parts) if isinstance(part, dict)]
        properties: Json = {}
        for table in tables:
            properties.update(_table(table.get("properties")))
        schema["properties"] = {**properties, **_table(schema.get("properties"))}
        required = [_names(table.get("required")) for table in tables]
        every = set[str]().union(*required) if word == "allOf" else set.intersection(*required) if required else set()
        if every:
            schema["required"] = sorted(every | _names(schema.get("required")))
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    if not isinstance(schema.get("required", []), list):
        del schema["required"]
    return schema


def _table(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _names(value: object) -> set[str]:
    return {item for item in cast("list[object]", value) if isinstance(item, str)} if isinstance(value, list) else set()


def _initialized(result: Json) -> Json:
    info = _table(result.get("serverInfo"))
    clean: Json = {
        "name": info.get("name") if isinstance(info.get("name"), str) else "unnamed",
        "version": info.get("version") if isinstance(info.get("version"), str) else "",
    }
    if isinstance(info.get("title"), str):
        clean["title"] = info["title"]
    found: Json = {
        "protocolVersion": result.get("protocolVersion"),
        "capabilities": {key: _table(value) for key, value in _table(result.get("capabilities")).items()},
        "serverInfo": clean,
    }
    if isinstance(result.get("instructions"), str):
        found["instructions"] = result["instructions"]
    return found


class _Reader:
    """The inner stream, screened. The probe's time limit is kept here, because this is where answers are awaited."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], screen: Screen) -> None:
        self._inner = inner
        self._screen = screen

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item = await self._next()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._screen.ended(getattr(self._inner, "problem", "") or "the connection was closed")
                raise
            if item is None:
                continue
            self._screen.heard()
            if isinstance(item, SessionMessage):
                return SessionMessage(self._screen.received(item.message), item.metadata)
            return item

    async def _next(self) -> SessionMessage | Exception | None:
        probe = self._screen.probe
        if self._screen.settled:
            return await self._inner.receive()
        if probe is None:
            with anyio.move_on_after(self._screen.probe_limit / 8):
                return await self._inner.receive()
            return None
        with anyio.move_on_after(max(0.0, probe[1] - anyio.current_time())):
            return await self._inner.receive()
        if self._screen.probe != probe:
            return None
        self._screen.probe = None
        error = mcp_types.ErrorData(code=-32001, message="no answer to server/discover in time")
        return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=probe[0], error=error))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Writer:
    def __init__(self, inner: WriteStream[SessionMessage], screen: Screen) -> None:
        self._inner = inner
        self._screen = screen

    async def send(self, item: SessionMessage, /) -> None:
        self._screen.sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
