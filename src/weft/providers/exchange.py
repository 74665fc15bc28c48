"""One request to a model server and its answer as stream events: what the dialects have in common."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

import anyio
import msgspec

from weft.errors import RemoteProtocolError, TransportError, TransportTimeout
from weft.protocols.failures import error_in, failure, failure_of_answer, failure_of_error
from weft.schema.stream import StreamEvent, StreamFailed
from weft.transports.http import BadAddress, HttpClient, HttpResponse

_MAX_ERROR = 1024 * 1024
_MAX_WHOLE = 256 * 1024 * 1024
_SETTLE = 0.05


class Decoder(Protocol):
    ended: bool

    def feed(self, data: bytes) -> list[StreamEvent]: ...

    def finish(self) -> list[StreamEvent]: ...

    def cut(self, failed: StreamFailed) -> StreamFailed: ...


class Dialect(msgspec.Struct, frozen=True):
    """How a server's answers are read: streams, and whole messages from servers that do not stream."""

    decoder: Callable[[str | None], Decoder]
    whole: Callable[[bytes, str | None], list[StreamEvent]]


async def exchange(
    http: HttpClient, url: str, headers: Mapping[str, str], body: bytes, dialect: Dialect
) -> AsyncIterator[StreamEvent]:
    """The events of one answer, exactly one terminal event last; raises nothing but cancellation."""
    server = _origin(url)
    try:
        response = await http.send("POST", url, {"content-type": "application/json", **headers}, body)
    except TransportError as error:
        yield _unreachable(error)
        return
    last: StreamEvent | None = None
    try:
        first = await _first(response)
        if response.status >= 400 or not _is_stream(response, first):
            *events, last = await _read_whole(response, first, dialect, server)
            for event in events:
                yield event
        else:
            decoder = dialect.decoder(_request_id(response))
            data = first
            while last is None:
                events = decoder.feed(data) if data else decoder.finish()
                if decoder.ended:
                    last = events.pop()
                for event in events:
                    yield event
                if last is None:
                    data, last = await _more(response, decoder)
            await _settle(response)
    except TransportError as error:
        last = _unreachable(error)
    finally:
        await response.aclose()
    # The wire is settled before the reader hears of the end: it may never come back for more.
    yield last


async def _more(response: HttpResponse, decoder: Decoder) -> tuple[bytes, StreamEvent | None]:
    """The next bytes, or the failure that came instead."""
    try:
        return await response.receive(), None
    except TransportError as error:
        kind = "timeout" if isinstance(error, TransportTimeout) else "cut"
        return b"", decoder.cut(failure(kind, str(error), hint=error.hint))


async def _settle(response: HttpResponse) -> None:
    """Reads the end of the body, which follows at once or not at all, so that the connection can be used again."""
    with anyio.move_on_after(_SETTLE):
        while await response.receive():
            pass


def _unreachable(error: TransportError) -> StreamFailed:
    if isinstance(error, TransportTimeout):
        return failure("timeout", str(error), hint=error.hint or "The server may be busy; try again.")
    if isinstance(error, BadAddress):
        return failure("invalid_request", str(error), hint="Check the base URL.")
    hint = error.hint or "Check the network and the base URL; for a local model, check that its server runs."
    return failure("connection", str(error), hint=hint)


async def _first(response: HttpResponse) -> bytes:
    """The first bytes: a stream of events is told by them where the content type does not say."""
    return await response.receive() if response.status < 400 else b""


def _is_stream(response: HttpResponse, first: bytes) -> bool:
    kind = response.headers.get("content-type", "").lower()
    if "text/event-stream" in kind:
        return True
    if "json" in kind or "html" in kind:
        return False
    return first.lstrip(b"\xef\xbb\xbf \r\n").startswith((b"event:", b"data:", b":", b"id:", b"retry:"))


async def _read_whole(response: HttpResponse, first: bytes, dialect: Dialect, server: str) -> list[StreamEvent]:
    if response.status >= 400:
        body = await response.read(_MAX_ERROR)
        return [failure_of_answer(response.status, response.headers, body, server=server)]
    body = first + await response.read(_MAX_WHOLE)
    request_id = _request_id(response)
    try:
        return dialect.whole(body, request_id)
    except RemoteProtocolError:
        found = error_in(body)
        if found is not None:
            # Some gateways answer 200 with an error object.
            return [failure_of_error(*found, request_id=request_id)]
        return [failure_of_answer(response.status, response.headers, body, server=server)]


def _request_id(response: HttpResponse) -> str | None:
    return response.headers.get("request-id") or response.headers.get("x-request-id")


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
