"""Stands between a transport and the package's session: what a server sends is made harmless before it is parsed.

The package validates strictly, and one bad tool loses a whole list. So lists and results pass through here: each
item is checked on its own, and the session gets a minimal shape that is always valid, with the item as it came
under `RAW` in its `_meta`. What is read by the rest of this room is that raw item, through typed code.

It also gives a silent server a short time to answer the era probe, and tells when the stream has ended.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from weft.mcp.shapes import SCREENED, screened
from weft.transports.mcp_streams import Iterated

PROBE_LIMIT = 3.0
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
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    def sent(self, message: mcp_types.JSONRPCMessage) -> None:
        if not isinstance(message, mcp_types.JSONRPCRequest):
            return
        if message.method in SCREENED:
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


class _Reader(Iterated):
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

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)


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
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)
