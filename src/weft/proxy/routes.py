"""The addresses that the proxy answers, and how each dialect speaks to its client.

The list is closed: an address that is not in it could spend without being counted.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, cast

import msgspec

from weft.protocols import anthropic_server, openai_server, sse
from weft.protocols.anthropic_server import ServedRequest
from weft.proxy.upstream import Dialect
from weft.schema.content import Json
from weft.schema.messages import Reply
from weft.schema.stream import Retry, StreamEvent, StreamFailed
from weft.transports.http_server import HttpRequest

Kind = Literal["chat", "count", "models", "other"]
_MODEL_PATH: Final = re.compile(r"/models(/[A-Za-z0-9._:@-]+)?")


class Route(msgspec.Struct, frozen=True):
    """`target` is the path below `/v1`. `chat` and `count` can be translated, `models` too; `other` cannot."""

    dialect: Dialect
    kind: Kind
    method: str
    target: str


_ROUTES: Final = {
    "/messages": Route("anthropic", "chat", "POST", "/messages"),
    "/messages/count_tokens": Route("anthropic", "count", "POST", "/messages/count_tokens"),
    "/chat/completions": Route("openai", "chat", "POST", "/chat/completions"),
    "/responses": Route("openai", "other", "POST", "/responses"),
    "/completions": Route("openai", "other", "POST", "/completions"),
    "/embeddings": Route("openai", "other", "POST", "/embeddings"),
}


def find_route(request: HttpRequest) -> Route | None:
    """With or without `/v1`: programs differ in what they take for the base."""
    path = request.path.removeprefix("/v1")
    found = _ROUTES.get(path)
    if found is not None:
        return found
    if _MODEL_PATH.fullmatch(path) is not None and ".." not in path:
        return Route(spoken(request), "models", "GET", path)
    return None


def spoken(request: HttpRequest) -> Dialect:
    """The dialect of a client whose address does not tell."""
    headers = request.headers
    told = "anthropic-version" in headers or "x-api-key" in headers or "/messages" in request.path
    return "anthropic" if told else "openai"


class Voice(Protocol):
    """How answers are spelled for a client. `waiting` keeps a stream alive while the proxy asks again, and says so."""

    def decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest: ...

    def encoder(self, body: bytes) -> Callable[[StreamEvent], bytes]: ...

    def whole(self, reply: Reply) -> bytes: ...

    def error(self, failed: StreamFailed) -> tuple[int, bytes]: ...

    def error_event(self, failed: StreamFailed) -> bytes: ...

    def waiting(self, retry: Retry) -> bytes: ...

    def models(self, ids: list[str]) -> bytes: ...


def _comment(retry: Retry) -> bytes:
    """A comment of the event stream: those who read the wire see it, parsers pass over it."""
    instead = f", then with {retry.fallback}" if retry.fallback else ""
    words = f": retry {retry.attempt} of {retry.max_retries} in {retry.delay:.1f} s after {retry.error}{instead}"
    return words.encode() + b"\n\n"


class _Anthropic:
    def decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest:
        return anthropic_server.decode_request(body, betas=headers.get("anthropic-beta", ""))

    def encoder(self, body: bytes) -> Callable[[StreamEvent], bytes]:
        return anthropic_server.MessagesEncoder().encode

    def whole(self, reply: Reply) -> bytes:
        return anthropic_server.encode_reply(reply)

    def error(self, failed: StreamFailed) -> tuple[int, bytes]:
        return anthropic_server.encode_error(failed)

    def error_event(self, failed: StreamFailed) -> bytes:
        return anthropic_server.MessagesEncoder().encode(failed)

    def waiting(self, retry: Retry) -> bytes:
        return _comment(retry) + sse.encode(b'{"type": "ping"}', "ping")

    def models(self, ids: list[str]) -> bytes:
        data = [{"type": "model", "id": id, "display_name": id, "created_at": "1970-01-01T00:00:00Z"} for id in ids]
        body = {"data": data, "has_more": False, "first_id": (ids or [None])[0], "last_id": (ids or [None])[-1]}
        return msgspec.json.encode(body)


class _Options(msgspec.Struct):
    include_usage: bool = False


class _Wishes(msgspec.Struct):
    stream_options: _Options | None = None


class _OpenAI:
    def decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest:
        return openai_server.decode_request(body)

    def encoder(self, body: bytes) -> Callable[[StreamEvent], bytes]:
        try:
            options = msgspec.json.decode(body, type=_Wishes).stream_options
        except msgspec.DecodeError:
            options = None
        return openai_server.ChatEncoder(include_usage=options is not None and options.include_usage).encode

    def whole(self, reply: Reply) -> bytes:
        return openai_server.encode_reply(reply)

    def error(self, failed: StreamFailed) -> tuple[int, bytes]:
        return openai_server.encode_error(failed)

    def error_event(self, failed: StreamFailed) -> bytes:
        return openai_server.ChatEncoder().encode(failed)

    def waiting(self, retry: Retry) -> bytes:
        return _comment(retry)

    def models(self, ids: list[str]) -> bytes:
        data = [{"id": id, "object": "model", "created": 0, "owned_by": "weft"} for id in ids]
        return msgspec.json.encode({"object": "list", "data": data})


VOICES: Final[dict[Dialect, Voice]] = {"anthropic": _Anthropic(), "openai": _OpenAI()}


def model_ids(body: bytes) -> list[str]:
    """The names in a list of models, in either dialect."""
    try:
        value = cast(object, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    rows = cast(Json, value).get("data") if isinstance(value, dict) else None
    found = (
        [cast(Json, row).get("id") for row in cast("list[object]", rows) if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )
    return [id for id in found if isinstance(id, str)]
