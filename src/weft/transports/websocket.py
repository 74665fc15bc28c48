"""WebSockets on the `websockets` package: a server that binds the loopback only, and a client.

Who may open one is decided before the upgrade (`Access`): the Host must be this machine's own name, an Origin must
be listed, and the token must come in a header or in the query. A web page can open sockets to the loopback, so
none of the three is enough alone.
"""

import hmac
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

import anyio
import msgspec

from weft import __version__
from weft.errors import TransportError, TransportTimeout, UsageError
from weft.transports.messages import MAX_MESSAGE

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

_log = logging.getLogger(__name__)
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Who may open a socket. `token` is None only where the person asked for that by name.

    The token is looked for in each of `headers` (`authorization` takes `Bearer TOKEN`) and in the query under
    `query`. A request without an Origin is not from a web page; one with an Origin must have it in `origins`.
    """

    token: str | None
    headers: tuple[str, ...] = ("authorization",)
    query: str | None = "token"
    origins: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Empty: any path."""


class Refusal(msgspec.Struct, frozen=True):
    status: int
    reason: str


def refusal(target: str, headers: Iterable[tuple[str, str]], access: Access) -> Refusal | None:
    """Why this request may not open a socket, or None when it may."""
    given: dict[str, list[str]] = {}
    for name, value in headers:
        given.setdefault(name.lower(), []).append(value)
    url = urlsplit(target)
    if not _is_local(given.get("host", [])):
        return Refusal(403, "the Host header does not name this machine")
    for origin in given.get("origin", []):
        if origin not in access.origins:
            return Refusal(403, "this Origin may not connect")
    if access.paths and url.path not in access.paths:
        return Refusal(404, "there is nothing at this path")
    if access.token is not None and not _has_token(url.query, given, access, access.token):
        return Refusal(401, "the token is missing or wrong")
    return None


def _is_local(hosts: list[str]) -> bool:
    if len(hosts) != 1:
        return False
    host = hosts[0].strip().lower()
    name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.rsplit(":", 1)[0]
    return name in _LOCAL_NAMES


def _has_token(query: str, given: Mapping[str, list[str]], access: Access, token: str) -> bool:
    offered = list(parse_qs(query).get(access.query, [])) if access.query else []
    for name in access.headers:
        for value in given.get(name.lower(), []):
            offered.append(value[7:] if value[:7].lower() == "bearer " else value)
    return any(hmac.compare_digest(value.encode(), token.encode()) for value in offered)


class WebSocketStream:
    """One open socket: a `MessageStream` that knows its request."""

    def __init__(self, socket: "ServerConnection | ClientConnection") -> None:
        self._socket = socket

    @property
    def path(self) -> str:
        return self._socket.request.path if self._socket.request else ""

    @property
    def headers(self) -> Mapping[str, str]:
        return dict(self._socket.request.headers.raw_items()) if self._socket.request else {}

    @property
    def subprotocol(self) -> str | None:
        return self._socket.subprotocol

    async def send(self, message: str | bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        text = message if isinstance(message, str) else message.decode()
        try:
            await self._socket.send(text)
        except ConnectionClosed as error:
            raise TransportError("the WebSocket is closed") from error

    async def send_binary(self, data: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(data)
        except ConnectionClosed as error:
            raise TransportError("the WebSocket is closed") from error

    async def receive(self) -> str | bytes | None:
        """A `str` for a text frame, `bytes` for a binary one; None when the socket is closed."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await self._socket.recv()
        except ConnectionClosed:
            return None

    async def ping(self, *, timeout: float) -> bool:
        """Whether the other side answers a ping in time."""
        from websockets.exceptions import ConnectionClosed

        try:
            with anyio.fail_after(timeout):
                await (await self._socket.ping())
        except (TimeoutError, ConnectionClosed):
            return False
        return True

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await self._socket.close(code, reason)


class WebSocketServer:
    """Listens on 127.0.0.1 while it is entered; leaving closes every socket. `port` 0 takes a free one.

    `handler` runs once per socket and the socket is closed when it returns. What it raises is logged; it ends that
    socket only.
    """

    def __init__(
        self,
        handler: Callable[[WebSocketStream], Awaitable[None]],
        *,
        access: Access,
        port: int = 0,
        deflate: bool = True,
        max_size: int = MAX_MESSAGE,
        subprotocols: tuple[str, ...] = (),
        ping_interval: float | None = None,
        response_headers: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        if access.token is not None and len(access.token) < 16:
            raise UsageError("the token of a WebSocket must have 16 characters or more")
        self._handler = handler
        self._access = access
        self._wanted_port = port
        self._deflate = deflate
        self._max_size = max_size
        self._subprotocols = subprotocols
        self._ping_interval = ping_interval
        self._response_headers = response_headers
        self._server: Server | None = None
        self.port = port

    async def __aenter__(self) -> Self:
        from websockets.asyncio.server import serve
        from websockets.typing import Subprotocol

        try:
            self._server = await serve(
                self._handle,
                "127.0.0.1",
                self._wanted_port,
                process_request=self._check,
                process_response=self._add_headers,
                compression="deflate" if self._deflate else None,
                max_size=self._max_size,
                subprotocols=[Subprotocol(name) for name in self._subprotocols] or None,
                ping_interval=self._ping_interval,
                server_header=f"weft/{__version__}",
                close_timeout=2,
                logger=_quiet_logger(),
            )
        except OSError as error:
            raise TransportError(
                f"cannot listen on port {self._wanted_port} of 127.0.0.1: {error.strerror or error}",
                hint="Choose another port, or end the program that has this one.",
            ) from error
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        with anyio.move_on_after(5, shield=True):
            await self._server.wait_closed()

    def _check(self, socket: "ServerConnection", request: "Request") -> "Response | None":
        refused = refusal(request.path, request.headers.raw_items(), self._access)
        if refused is None:
            return None
        _log.warning("refused a WebSocket: %s", refused.reason)
        return socket.respond(refused.status, refused.reason + "\n")

    def _add_headers(self, socket: "ServerConnection", request: "Request", response: "Response") -> None:
        if self._response_headers and response.status_code == 101:
            for name, value in self._response_headers().items():
                response.headers[name] = value

    async def _handle(self, socket: "ServerConnection") -> None:
        try:
            await self._handler(WebSocketStream(socket))
        except Exception:  # noqa: BLE001 - the boundary of a peer: one bad socket must not end the server
            _log.exception("a WebSocket's handler failed")


class WebSocketClient:
    """A socket to a server; entered, it is open. It never goes through a proxy to this machine itself."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        subprotocols: tuple[str, ...] = (),
        deflate: bool = True,
        max_size: int = MAX_MESSAGE,
        open_timeout: float = 10,
        ping_interval: float | None = 20,
    ) -> None:
        self._url = url
        self._headers = dict(headers or {})
        self._subprotocols = subprotocols
        self._deflate = deflate
        self._max_size = max_size
        self._open_timeout = open_timeout
        self._ping_interval = ping_interval
        self._stream: WebSocketStream | None = None

    async def __aenter__(self) -> WebSocketStream:
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidURI
        from websockets.typing import Subprotocol

        local = (urlsplit(self._url).hostname or "") in _LOCAL_NAMES
        try:
            socket = await connect(
                self._url,
                additional_headers=self._headers,
                subprotocols=[Subprotocol(name) for name in self._subprotocols] or None,
                compression="deflate" if self._deflate else None,
                max_size=self._max_size,
                open_timeout=self._open_timeout,
                ping_interval=self._ping_interval,
                close_timeout=2,
                proxy=None if local else True,
                user_agent_header=f"weft/{__version__}",
                logger=_quiet_logger(),
            )
        except TimeoutError as error:
            raise TransportTimeout(f"no answer from {_shown(self._url)} in {self._open_timeout:g} s") from error
        except (OSError, InvalidHandshake, InvalidURI, ValueError) as error:
            raise TransportError(f"cannot open {_shown(self._url)}: {error}") from error
        self._stream = WebSocketStream(socket)
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            with anyio.move_on_after(3, shield=True):
                await self._stream.close()


def _shown(url: str) -> str:
    """The address without its query, where a token may be."""
    return url.split("?", 1)[0]


def _quiet_logger() -> logging.Logger:
    """The package logs each handshake at INFO and a failed one as an error with a trace; probes are normal here.
    At DEBUG it logs every header, and a token is one of them."""
    logger = logging.getLogger("weft.transports.websocket.package")
    logger.setLevel(logging.CRITICAL)
    return logger
