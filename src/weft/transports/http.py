"""A small HTTP/1.1 client on anyio's sockets. It is part of every start, so it imports next to nothing.

Connections are kept for the next request, one for each origin unless more are asked for. Answers stream: nothing is
read from the socket before it is asked for, so a slow reader slows the server. Every wait has a limit; leaving early
closes the socket.
"""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import SplitResult, urlsplit

import anyio
import msgspec

from weft import __version__
from weft.errors import LocalProtocolError, RemoteProtocolError, TransportError, TransportTimeout
from weft.protocols.http_body import Body, ChunkedBody, FramedBody, LengthBody, OpenBody
from weft.protocols.http_head import Head, HeadDecoder, content_length, encode_head
from weft.transports.http_proxy import Proxy, proxy_for

if TYPE_CHECKING:
    import ssl

    from anyio.abc import ByteStream

USER_AGENT: Final = f"weft/{__version__}"
_MAX_HEAD: Final = 128 * 1024
_READ: Final = 65536
log = logging.getLogger(__name__)


Resolve = Callable[[str, int], Awaitable[str]]


class BadAddress(TransportError):
    """What was given is not an address: asking again cannot help."""


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `first_byte` is from the end of the request to the head of the answer; `idle` between two reads."""

    connect: float = 20.0
    send: float = 60.0
    first_byte: float = 600.0
    idle: float = 300.0


class _Connection:
    """A socket to one origin, perhaps through a proxy or TLS."""

    def __init__(self, stream: "ByteStream", origin: str) -> None:
        self.stream = stream
        self.origin = origin
        self.spoiled = False
        """The answer came before the whole request was sent: nothing can follow on it."""

    async def close(self) -> None:
        await anyio.aclose_forcefully(self.stream)


class HttpResponse:
    """The head of an answer, and its body as it comes. `headers` have lower-case names."""

    def __init__(self, client: "HttpClient", connection: _Connection, head: Head, body: Body, rest: bytes) -> None:
        self.status = head.status
        self.headers = head.headers
        self._client = client
        self._connection: _Connection | None = connection
        self._body = body
        self._framed: FramedBody | None = None
        self._rest = rest
        closes = "close" in self.headers.get("connection", "").lower() or head.minor != 1
        self._may_keep = not closes and not connection.spoiled and not isinstance(body, OpenBody)

    async def receive(self) -> bytes:
        """The next bytes of the body; empty at its end.

        Raises:
            TransportTimeout: nothing came for `limits.idle` seconds.
            TransportError: the connection failed, or closed before the end.
        """
        try:
            while not self._body.done and self._connection is not None:
                data, self._rest = self._rest or await self._read(self._connection), b""
                part = self._body.feed(data) if data else b""
                if not data:
                    self._body.finish()
                if self._body.done:
                    await self._release()
                if part:
                    return part
            await self._release()
            return b""
        except RemoteProtocolError as error:
            await self.aclose()
            raise TransportError(str(error)) from None
        except BaseException:
            await self.aclose()
            raise

    @property
    def begun(self) -> bool:
        """Whether bytes of the body came with the head."""
        return bool(self._rest)

    @property
    def chunked(self) -> bool:
        return isinstance(self._body, ChunkedBody)

    async def receive_framed(self) -> tuple[bytes, bytes]:
        """For those who pass a chunked body on: the next whole chunks with their framing, and bytes without it that
        follow them (see `FramedBody`). Both are empty at the end. Not to be mixed with `receive`.

        Raises:
            TransportTimeout: nothing came for `limits.idle` seconds.
            TransportError: the connection failed, or closed before the end.
        """
        framed = self._framed = self._framed or FramedBody()
        try:
            while not framed.done and self._connection is not None:
                data, self._rest = self._rest or await self._read(self._connection), b""
                if not data:
                    framed.finish()
                found = framed.feed(data)
                if framed.done:
                    self._body = LengthBody(0)
                    self._body.rest = framed.rest
                    await self._release()
                if found[0] or found[1]:
                    return found
            return b"", b""
        except RemoteProtocolError as error:
            await self.aclose()
            raise TransportError(str(error)) from None
        except BaseException:
            await self.aclose()
            raise

    async def read(self, limit: int = 16 * 1024 * 1024) -> bytes:
        """The whole body, cut at `limit` bytes."""
        parts: list[bytes] = []
        size = 0
        while size < limit:
            part = await self.receive()
            if not part:
                break
            parts.append(part)
            size += len(part)
        return b"".join(parts)[:limit]

    async def aclose(self) -> None:
        """Done with it. A connection whose answer was read to the end is kept; any other is closed."""
        if self._body.done:
            await self._release()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _read(self, connection: _Connection) -> bytes:
        limit = self._client.limits.idle
        try:
            with anyio.fail_after(limit):
                return await connection.stream.receive(_READ)
        except TimeoutError:
            raise TransportTimeout(f"{connection.origin} went silent for {limit:g} s") from None
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise TransportError(f"the connection to {connection.origin} broke: {_reason(error)}") from None

    async def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._may_keep and not self._body.rest:
            await self._client.give_back(connection)
        else:
            await connection.close()


class HttpClient:
    """Requests to any number of origins. `env` has the proxy variables; None means that there are none."""

    def __init__(
        self,
        *,
        limits: HttpLimits | None = None,
        env: Mapping[str, str] | None = None,
        resolve: Resolve | None = None,
        keep: int = 1,
    ) -> None:
        """`resolve` says which address a host name stands for; it is connected to as it is, and may refuse. `keep` is
        how many connections of one origin wait for the next request."""
        self._keep = keep
        self._resolve = resolve
        self.limits = limits or HttpLimits()
        self._env = env or {}
        self._kept: dict[str, list[_Connection]] = {}
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """The answer, whatever its status, once its head is there. Use it as a context, or close it.

        Raises:
            BadAddress: `url` is none.
            TransportTimeout: a limit ran out.
            TransportError: nothing listens there, or the connection failed.
        """
        parts = _split(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        kept = self._kept.get(origin)
        if kept:
            try:
                return await self._exchange(kept.pop(), method, parts, headers or {}, body)
            except TransportTimeout:
                raise
            except TransportError:
                # The server may have closed a connection that nobody used; nothing of an answer came, so ask again.
                log.debug("a kept connection to %s was gone", origin)
        connection = await self._connect(parts, origin)
        return await self._exchange(connection, method, parts, headers or {}, body)

    async def give_back(self, connection: _Connection) -> None:
        """Keeps a connection for the next request to its origin; the oldest of too many goes."""
        if self._closed:
            await connection.close()
            return
        kept = self._kept.setdefault(connection.origin, [])
        kept.append(connection)
        if len(kept) > self._keep:
            await kept.pop(0).close()

    async def aclose(self) -> None:
        self._closed = True
        while self._kept:
            _, kept = self._kept.popitem()
            for connection in kept:
                await connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _exchange(
        self, connection: _Connection, method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes
    ) -> HttpResponse:
        try:
            decoder = HeadDecoder(max_size=_MAX_HEAD)
            head_out = _head(method, self._target(parts), parts.netloc, headers, body)
            if len(body) < _READ:
                await self._send(connection, head_out + body)
                head = await self._receive_head(connection, decoder)
            else:
                head = await self._send_and_listen(connection, head_out, body, decoder)
            return HttpResponse(self, connection, head, _body_of(method, head), decoder.rest)
        except RemoteProtocolError as error:
            await connection.close()
            raise TransportError(f"{connection.origin} does not speak HTTP as expected: {error}") from None
        except BaseException:
            await connection.close()
            raise

    def _target(self, parts: SplitResult) -> str:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        plain_proxy = parts.scheme == "http" and self._proxy(parts) is not None
        return f"http://{parts.netloc}{path}" if plain_proxy else path

    def _proxy(self, parts: SplitResult) -> Proxy | None:
        return proxy_for(parts.scheme, parts.hostname or "", self._env)

    async def _send(self, connection: _Connection, data: bytes) -> None:
        try:
            with anyio.fail_after(self.limits.send):
                await connection.stream.send(data)
        except TimeoutError:
            raise TransportTimeout(f"{connection.origin} took no data for {self.limits.send:g} s") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise TransportError(f"the connection to {connection.origin} broke: {_reason(error)}") from None

    async def _send_and_listen(self, connection: _Connection, head: bytes, body: bytes, decoder: HeadDecoder) -> Head:
        """A server that refuses a large body answers before it has read it, so we listen while we send."""
        errors: list[TransportError] = []
        found: Head | None = None
        connection.spoiled = True

        async def send() -> None:
            try:
                await self._send(connection, head)
                await self._send(connection, body)
                connection.spoiled = False
            except TransportError as error:
                errors.append(error)
                # What it said before it hung up may still be on its way.
                tasks.cancel_scope.deadline = anyio.current_time() + 1.0

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            try:
                found = await self._receive_head(connection, decoder)
            except TransportError as error:
                errors.append(error)
            tasks.cancel_scope.cancel()
        if found is None:
            raise errors[0]
        return found

    async def _receive_head(self, connection: _Connection, decoder: HeadDecoder) -> Head:
        try:
            with anyio.fail_after(self.limits.first_byte):
                while True:
                    head = decoder.feed(await connection.stream.receive(_READ))
                    if head is not None:
                        return head
        except TimeoutError:
            raise TransportTimeout(f"{connection.origin} gave no answer for {self.limits.first_byte:g} s") from None
        except anyio.EndOfStream:
            raise TransportError(f"{connection.origin} closed the connection without an answer") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise TransportError(f"the connection to {connection.origin} broke: {_reason(error)}") from None

    async def _connect(self, parts: SplitResult, origin: str) -> _Connection:
        secure = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        proxy = self._proxy(parts)
        stream: ByteStream | None = None
        try:
            with anyio.fail_after(self.limits.connect):
                address = await self._resolve(host, port) if self._resolve is not None else host
                stream = await anyio.connect_tcp(*((proxy.host, proxy.port) if proxy else (address, port)))
                if secure and proxy is not None:
                    await proxy.open_tunnel(stream, host, port)
                if secure:
                    stream = await self._wrap(stream, host)
                return _Connection(stream, origin)
        except BaseException as error:
            if stream is not None:
                await anyio.aclose_forcefully(stream)
            if isinstance(error, TimeoutError):
                raise TransportTimeout(f"cannot connect to {origin}: no answer in {self.limits.connect:g} s") from None
            if isinstance(error, OSError | anyio.BrokenResourceError | anyio.EndOfStream):
                through = f" through the proxy {proxy.host}:{proxy.port}" if proxy else ""
                raise TransportError(f"cannot connect to {origin}{through}: {_reason(error)}") from None
            raise

    async def _wrap(self, stream: "ByteStream", host: str) -> "ByteStream":
        import ssl

        from anyio.streams.tls import TLSStream

        if self._tls is None:
            self._tls = ssl.create_default_context()
        return await TLSStream.wrap(stream, hostname=host, ssl_context=self._tls, standard_compatible=False)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise BadAddress(f"{url!r} is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadAddress(f"{url!r} is not an address: it must begin with http:// or https:// and name a host")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])


def _head(method: str, target: str, host: str, headers: Mapping[str, str], body: bytes) -> bytes:
    given = {name.lower(): value for name, value in headers.items()}
    fields = {"host": host, "user-agent": USER_AGENT, "accept": "*/*", **given}
    if body or method in ("POST", "PUT", "PATCH"):
        fields["content-length"] = str(len(body))
    try:
        return encode_head(method, target, fields)
    except LocalProtocolError as error:
        raise TransportError(str(error)) from None


def _body_of(method: str, head: Head) -> Body:
    if method == "HEAD" or head.status in (204, 304):
        return LengthBody(0)
    if "chunked" in head.headers.get("transfer-encoding", "").lower():
        return ChunkedBody()
    length = content_length(head)
    return OpenBody() if length is None else LengthBody(length)


def _reason(error: BaseException) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if type(cause).__module__ == "ssl":
        # Their numbers are OpenSSL's, not the system's.
        return str(getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or cause)
    if isinstance(cause, OSError) and cause.errno:
        # A name that does not resolve has a negative number and its own words.
        return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or str(cause)
    return str(cause) or type(cause).__name__
