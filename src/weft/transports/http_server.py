"""A small HTTP/1.1 server on this machine alone: h11 and anyio.

A handler gets an `Exchange`: the request, its body already read, and methods to answer with. Writing waits for the
reader. When the client goes away the handler is cancelled, so nothing is computed for nobody.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import anyio
import h11
import msgspec
from anyio.abc import SocketAttribute

from weft.errors import TransportError

if TYPE_CHECKING:
    from anyio.abc import SocketStream, TaskGroup

log = logging.getLogger(__name__)
_READ: Final = 65536
_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
_ONCE: Final = ("authorization", "content-length", "content-type", "cookie", "host", "origin", "x-api-key")
"""Headers that two readers of a request may understand differently when they stand twice."""
_FOLDED: Final = re.compile(rb"\n[ \t]")


class HttpRequest(msgspec.Struct, frozen=True):
    """`target` is path and query as they came; `headers` have lower-case names."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in bytes, times in seconds."""

    head: int = 64 * 1024
    body: int = 64 * 1024 * 1024
    request: float = 30.0
    keep_alive: float = 75.0
    write: float = 300.0


Handler = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request and its answer: `respond`, or `start`, `write` as often as needed, `end`."""

    def __init__(
        self, request: HttpRequest, stream: "SocketStream", machine: h11.Connection, limits: ServerLimits
    ) -> None:
        self.request = request
        self.started = False
        self.ended = False
        self._stream = stream
        self._machine = machine
        self._limits = limits
        self._held = b""

    async def respond(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """A whole answer."""
        await self.start(status, {"content-length": str(len(body)), **(headers or {})})
        await self.write(body)
        await self.end()

    async def start(self, status: int, headers: Mapping[str, str] | None = None, *, hold: bool = False) -> None:
        """The head. Without a `content-length` the body goes out in chunks. With `hold` it goes out with the first
        bytes of the body, for a caller who has them: one packet instead of two."""
        self.started = True
        fields = [(name.lower(), value) for name, value in (headers or {}).items()]
        head = self._machine.send(h11.Response(status_code=status, headers=fields)) or b""
        if hold:
            self._held = head
        else:
            await self._send(head)

    async def write(self, data: bytes) -> None:
        """Returns when the socket took it: a slow client slows the caller.

        Raises:
            TransportError: the client is gone, or reads nothing for too long.
        """
        if data:
            await self._send(self._machine.send(h11.Data(data)))

    @property
    def takes_chunks(self) -> bool:
        """Whether the client knows chunks, so that `write_raw` may send them as they are."""
        return self._machine.their_http_version == b"1.1"

    async def write_raw(self, data: bytes) -> None:
        """Bytes past the framing: chunks that are framed already, or those of servers that misbehave on purpose."""
        await self._send(data)

    async def end(self) -> None:
        self.ended = True
        await self._send(self._machine.send(h11.EndOfMessage()))

    async def cut(self) -> None:
        """Closes the socket in the middle of whatever was going on."""
        self.ended = True
        await anyio.aclose_forcefully(self._stream)

    async def _send(self, data: bytes | None) -> None:
        if self._held:
            data, self._held = self._held + (data or b""), b""
        if not data:
            return
        try:
            with anyio.fail_after(self._limits.write):
                await self._stream.send(data)
        except TimeoutError:
            raise TransportError("the client reads nothing") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise TransportError("the client went away") from None


class HttpServer:
    """Listens on 127.0.0.1 while it is entered; leaving it ends every request.

    A request whose `Host` is not this machine's, or that a web page of another origin makes, is refused: a page in a
    browser must not reach what listens here. Tokens are the handler's business.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        port: int = 0,
        limits: ServerLimits | None = None,
        origins: tuple[str, ...] = (),
    ) -> None:
        self._handler = handler
        self._limits = limits or ServerLimits()
        self._origins = origins
        self._tasks: TaskGroup | None = None
        self.port = port
        self.connections = 0
        """How many were made so far."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self.port = int(self._listener.extra(SocketAttribute.local_port))
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._listener.serve, self._serve)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._tasks is None:
            return None
        self._tasks.cancel_scope.cancel()
        try:
            # An error of the body is not one of ours: it goes on as it is, not in a group.
            await self._tasks.__aexit__(None, None, None)
            return None
        finally:
            with anyio.move_on_after(5, shield=True):
                await self._listener.aclose()

    async def _serve(self, stream: "SocketStream") -> None:
        self.connections += 1
        async with stream:
            machine = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head)
            try:
                while await self._serve_one(stream, machine):
                    machine.start_next_cycle()
            except h11.RemoteProtocolError as error:
                await self._refuse(stream, machine, error.error_status_hint, str(error))
            except (TransportError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError) as error:
                log.debug("a client went away: %s", error)
            except TimeoutError:
                log.debug("a client was too slow")

    async def _serve_one(self, stream: "SocketStream", machine: h11.Connection) -> bool:
        """False when the connection is over."""
        with anyio.fail_after(self._limits.keep_alive):
            event = await _next_head(stream, machine, self._limits.head)
        if not isinstance(event, h11.Request):
            return False
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        if _is_ambiguous(event):
            await self._refuse(stream, machine, 400, "the request can be read in two ways")
            return False
        refusal = self._refusal(headers)
        if refusal is not None:
            await self._refuse(stream, machine, 403, refusal)
            return False
        body = await self._read_body(stream, machine)
        if body is None:
            await self._refuse(stream, machine, 413, "the body is too large")
            return False
        request = HttpRequest(event.method.decode(), event.target.decode("latin-1"), headers, body)
        exchange = Exchange(request, stream, machine, self._limits)
        await self._handle(exchange, stream, machine)
        return machine.our_state is h11.DONE and machine.their_state is h11.DONE

    async def _handle(self, exchange: Exchange, stream: "SocketStream", machine: h11.Connection) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_watch, stream, machine, tasks.cancel_scope)
                await self._run(exchange)
                tasks.cancel_scope.cancel()
        finally:
            if not exchange.ended:
                await anyio.aclose_forcefully(stream)

    async def _run(self, exchange: Exchange) -> None:
        try:
            await self._handler(exchange)
        except TransportError as error:
            log.debug("%s", error)
        except Exception:
            log.exception("the handler of %s failed", exchange.request.path)
            if not exchange.started:
                await exchange.respond(500, b"internal error")

    async def _read_body(self, stream: "SocketStream", machine: h11.Connection) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        with anyio.fail_after(self._limits.request):
            if machine.they_are_waiting_for_100_continue:
                await stream.send(machine.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            while isinstance(event := await _next(stream, machine), h11.Data):
                parts.append(bytes(event.data))
                size += len(event.data)
                if size > self._limits.body:
                    return None
        return b"".join(parts)

    def _refusal(self, headers: Mapping[str, str]) -> str | None:
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name not in _HOSTS:
            return "this server is for this machine alone"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", *self._origins):
            return "this server is not for pages of other origins"
        return None

    async def _refuse(self, stream: "SocketStream", machine: h11.Connection, status: int, text: str) -> None:
        if machine.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = text.encode()
        fields = [("content-length", str(len(body))), ("connection", "close"), ("content-type", "text/plain")]
        data = b"".join(
            machine.send(event) or b""
            for event in (h11.Response(status_code=status, headers=fields), h11.Data(body), h11.EndOfMessage())
        )
        with anyio.move_on_after(5):
            await stream.send(data)


async def _next(stream: "SocketStream", machine: h11.Connection) -> object:
    while True:
        event = machine.next_event()
        if event is not h11.NEED_DATA:
            return event
        try:
            data = await stream.receive(_READ)
        except anyio.EndOfStream:
            data = b""
        machine.receive_data(data)


async def _next_head(stream: "SocketStream", machine: h11.Connection, limit: int) -> object:
    """A head whose lines are folded is refused: others may see other headers in it than we."""
    while True:
        head = machine.trailing_data[0].partition(b"\r\n\r\n")[0] if machine.their_state is h11.IDLE else b""
        if _FOLDED.search(head) is not None:
            raise h11.RemoteProtocolError("a header is folded")
        if len(head) > limit:
            raise h11.RemoteProtocolError("the head is too large", error_status_hint=431)
        event = machine.next_event()
        if event is not h11.NEED_DATA:
            return event
        try:
            data = await stream.receive(_READ)
        except anyio.EndOfStream:
            data = b""
        machine.receive_data(data)


def _is_ambiguous(request: h11.Request) -> bool:
    """Where a body ends, or who asks, could be read in two ways: that is how requests are smuggled."""
    names = [name.decode("latin-1") for name, _ in request.headers]
    framings = "content-length" in names and "transfer-encoding" in names
    return framings or any(names.count(name) > 1 for name in _ONCE)


async def _watch(stream: "SocketStream", machine: h11.Connection, scope: anyio.CancelScope) -> None:
    """Ends the handler when the client hangs up. A request that it sends ahead waits its turn."""
    try:
        machine.receive_data(await stream.receive(_READ))
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        scope.cancel()
