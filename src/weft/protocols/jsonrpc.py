"""JSON-RPC 2.0, one side of a conversation. ACP, the IDE protocol and MCP over a socket use it.

A `Peer` never sends: its methods return the message to be sent, and `receive` says what a message of the other side
means. Both sides may ask. Ids of ours are integers from 0; ids of theirs come back exactly as they were.
"""

from collections.abc import Collection
from typing import Final, TypeAlias, TypeGuard, cast

import msgspec

from weft.errors import LocalProtocolError
from weft.schema.content import Json

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

MAX_MESSAGE = 64 * 1024 * 1024

Id: TypeAlias = int | str


class RpcError(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: object = None


class Request(msgspec.Struct, frozen=True):
    """They ask: answer once, with `Peer.result` or `Peer.error`."""

    id: Id
    method: str
    params: Json | list[object] | None = None


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: Json | list[object] | None = None


class Response(msgspec.Struct, frozen=True):
    """The answer to our request `id`, which was for `method`. `error` is None when it went well."""

    id: Id
    method: str
    result: object = None
    error: RpcError | None = None


class Invalid(msgspec.Struct, frozen=True):
    """They broke the protocol. `reply`, where there is one, must be sent; nothing else need be done."""

    reason: str
    reply: Json | None = None


Incoming: TypeAlias = Request | Notification | Response | Invalid


def notification(method: str, params: object = None) -> Json:
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def error_message(id: Id | None, code: int, message: str, data: object = None) -> Json:
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


class Peer:
    """Matches answers to requests, on both sides.

    With `methods`, a request for any other is answered -32601 by `receive` itself (as `Invalid`), and so is one that
    comes while `max_open` are unanswered (-32603). `lenient` takes messages without `"jsonrpc": "2.0"`.
    """

    def __init__(
        self,
        *,
        methods: Collection[str] | None = None,
        max_open: int = 10_000,
        max_size: int = MAX_MESSAGE,
        lenient: bool = False,
    ) -> None:
        self._methods = frozenset(methods) if methods is not None else None
        self._max_open = max_open
        self._max_size = max_size
        self._lenient = lenient
        self._next_id = 0
        self._asked: dict[Id, str] = {}
        self._given_up: dict[Id, str] = {}
        self._open: dict[Id, str] = {}

    @property
    def waiting(self) -> dict[Id, str]:
        """Our requests without an answer, with their methods."""
        return dict(self._asked)

    @property
    def open(self) -> dict[Id, str]:
        """Their requests that we have not answered."""
        return dict(self._open)

    def request(self, method: str, params: object = None) -> tuple[Id, Json]:
        """Our request: its id, and the message to send."""
        id = self._next_id
        self._next_id += 1
        self._asked[id] = method
        return id, {**notification(method, params), "id": id}

    def notify(self, method: str, params: object = None) -> Json:
        return notification(method, params)

    def result(self, id: Id, result: object = None) -> Json:
        """The answer to their request.

        Raises:
            LocalProtocolError: there is no such open request; answering twice is our mistake.
        """
        self._close(id)
        return {"jsonrpc": "2.0", "id": id, "result": result}

    def error(self, id: Id, code: int, message: str, data: object = None) -> Json:
        """The refusal of their request.

        Raises:
            LocalProtocolError: there is no such open request.
        """
        self._close(id)
        return error_message(id, code, message, data)

    def not_found(self, id: Id) -> Json:
        """The refusal of a request for a method that is not there."""
        return self.error(id, METHOD_NOT_FOUND, f"there is no method {self._open.get(id, '')!r}")

    def give_up(self, id: Id) -> None:
        """We no longer wait for this answer. It is dropped quietly when it comes after all."""
        method = self._asked.pop(id, None)
        if method is not None:
            self._given_up[id] = method
            if len(self._given_up) > self._max_open:
                del self._given_up[next(iter(self._given_up))]

    def drop(self, id: Id) -> bool:
        """They withdrew their request `id`; False when it is not open, because it was answered already."""
        return self._open.pop(id, None) is not None

    def close(self) -> list[Id]:
        """The conversation is over: the ids of ours that will never be answered."""
        lost = list(self._asked)
        self._asked.clear()
        self._given_up.clear()
        self._open.clear()
        return lost

    def receive_bytes(self, data: bytes | str) -> Incoming:
        """As `receive`, of a message that is still JSON text."""
        if len(data) > self._max_size:
            return self._refuse(None, INVALID_REQUEST, f"a message is larger than {self._max_size} bytes")
        try:
            return self.receive(msgspec.json.decode(data))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return self._refuse(None, PARSE_ERROR, f"not JSON: {error}")

    def receive(self, value: object) -> Incoming:
        """What a decoded message means. Never raises."""
        if isinstance(value, list):
            return self._refuse(None, INVALID_REQUEST, "batches are not taken; send each message by itself")
        if not isinstance(value, dict):
            return self._refuse(None, INVALID_REQUEST, "a message is a JSON object")
        message = cast(Json, value)
        id = _as_id(message.get("id"))
        if message.get("jsonrpc") != "2.0" and not (self._lenient and "jsonrpc" not in message):
            return self._refuse(id, INVALID_REQUEST, 'a message has "jsonrpc": "2.0"')
        if "method" in message:
            return self._receive_call(message, id)
        if "result" in message or "error" in message:
            return self._receive_answer(message, id)
        return self._refuse(id, INVALID_REQUEST, "a message has a method, a result or an error")

    def _receive_call(self, message: Json, id: Id | None) -> Incoming:
        method, params = message["method"], message.get("params")
        if not isinstance(method, str):
            return self._refuse(id, INVALID_REQUEST, "a method is a string")
        if not _is_params(params):
            return self._refuse(id, INVALID_REQUEST, "params are an object or a list")
        if "id" not in message:
            return Notification(method, params)
        if id is None:
            return self._refuse(None, INVALID_REQUEST, "an id is an integer or a string")
        if id in self._open:
            return self._refuse(id, INVALID_REQUEST, f"the id {id!r} is in use by an open request")
        if self._methods is not None and method not in self._methods:
            return self._refuse(id, METHOD_NOT_FOUND, f"there is no method {method!r}")
        if len(self._open) >= self._max_open:
            return self._refuse(id, INTERNAL_ERROR, f"{self._max_open} requests are open already")
        self._open[id] = method
        return Request(id, method, params)

    def _receive_answer(self, message: Json, id: Id | None) -> Incoming:
        if id is None:
            return Invalid(f"an answer without a usable id: {_error_of(message.get('error'))}")
        method = self._asked.pop(id, None)
        if method is None:
            late = self._given_up.pop(id, None)
            return Invalid(f"an answer that came too late, to {late}" if late else f"an answer to nothing, id {id!r}")
        if message.get("error") is not None:
            return Response(id, method, error=_error_of(message["error"]))
        return Response(id, method, message.get("result"))

    def _refuse(self, id: Id | None, code: int, reason: str) -> Invalid:
        return Invalid(reason, error_message(id, code, reason))

    def _close(self, id: Id) -> None:
        if self._open.pop(id, None) is None:
            raise LocalProtocolError(f"the request {id!r} is not open: it was answered, withdrawn or never made")


def _as_id(value: object) -> Id | None:
    """True and False are integers to Python, not to JSON. A peer whose numbers are floats may answer 1.0 to 1."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _is_params(value: object) -> TypeGuard[Json | list[object] | None]:
    return value is None or isinstance(value, dict | list)


def _error_of(value: object) -> RpcError:
    if not isinstance(value, dict):
        return RpcError(INTERNAL_ERROR, str(value))
    error = cast(Json, value)
    code, message = error.get("code"), error.get("message")
    return RpcError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else "no message",
        error.get("data"),
    )
