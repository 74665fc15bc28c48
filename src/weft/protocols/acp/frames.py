"""JSON-RPC 2.0 frames of ACP: bytes in, one of five values out. Parameters and results stay raw until their type is
known, so each is decoded once. Batches are refused, as the official SDKs do."""

from typing import Final, TypeAlias, cast

import msgspec

from weft.errors import RemoteProtocolError

Id: TypeAlias = int | str | None
"""A request's id. 0 and "" are ids like any other: never test one for truth."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
CANCELLED: Final = -32800

NULL: Final = msgspec.Raw(b"null")


class RpcError(RemoteProtocolError):
    """An error answer, ours or the peer's. `data` is any JSON, or UNSET when there is none."""

    def __init__(self, code: int, message: str, data: object = msgspec.UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def explained(error: Exception) -> str:
    """The message, with what `data` adds to it: an object with `details`, a string, or anything else."""
    data = error.data if isinstance(error, RpcError) else None
    if isinstance(data, dict):
        data = cast(dict[str, object], data).get("details")
    told = str(error)
    if data is None or data is msgspec.UNSET or str(data) in told:
        return told
    return f"{told}: {str(data)[:500]}"


class Request(msgspec.Struct, frozen=True):
    id: Id
    method: str
    params: msgspec.Raw


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: msgspec.Raw


class Answer(msgspec.Struct, frozen=True):
    id: Id
    result: msgspec.Raw


class Failure(msgspec.Struct, frozen=True):
    """`id` is None also when the peer could not tell which request it answers."""

    id: Id
    code: int
    message: str
    data: object = msgspec.UNSET


class Invalid(msgspec.Struct, frozen=True):
    """Not a frame: answer with `code` and a null id."""

    code: int
    message: str


Frame: TypeAlias = Request | Notification | Answer | Failure | Invalid


class _Envelope(msgspec.Struct):
    method: str | msgspec.UnsetType = msgspec.UNSET
    id: int | str | float | msgspec.UnsetType | None = msgspec.UNSET
    params: msgspec.Raw = NULL
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _Error(msgspec.Struct):
    code: int | float = INTERNAL_ERROR
    message: str = ""
    data: object = msgspec.UNSET


class _RequestOut(msgspec.Struct):
    id: Id
    method: str
    params: object
    jsonrpc: str = "2.0"


class _NotificationOut(msgspec.Struct):
    method: str
    params: object
    jsonrpc: str = "2.0"


class _AnswerOut(msgspec.Struct):
    id: Id
    result: object
    jsonrpc: str = "2.0"


class _FailureOut(msgspec.Struct):
    id: Id
    error: dict[str, object]
    jsonrpc: str = "2.0"


_decoder: Final = msgspec.json.Decoder(_Envelope)
_error: Final = msgspec.json.Decoder(_Error)
_encoder: Final = msgspec.json.Encoder()


def decode(data: bytes | str) -> Frame:
    """One frame. Never raises: what cannot be understood is `Invalid`."""
    try:
        envelope = _decoder.decode(data)
    except msgspec.ValidationError as error:
        return Invalid(INVALID_REQUEST, f"Invalid request: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Invalid(PARSE_ERROR, "Parse error")
    given = envelope.id
    id_ = int(given) if isinstance(given, float) else given
    if isinstance(envelope.method, str):
        if isinstance(id_, msgspec.UnsetType):
            return Notification(envelope.method, envelope.params)
        return Request(id_, envelope.method, envelope.params)
    answered = None if isinstance(id_, msgspec.UnsetType) else id_
    if bytes(envelope.error) not in (b"", b"null"):
        return _failure(answered, envelope.error)
    if bytes(envelope.result) and not isinstance(id_, msgspec.UnsetType):
        return Answer(id_, envelope.result)
    return Invalid(INVALID_REQUEST, "Invalid request: neither a method nor a result nor an error")


def _failure(id_: Id, raw: msgspec.Raw) -> Failure:
    try:
        error = _error.decode(raw)
    except msgspec.DecodeError:
        return Failure(id_, INTERNAL_ERROR, bytes(raw).decode("utf-8", "replace")[:500])
    return Failure(id_, int(error.code), error.message or "the peer failed without a message", error.data)


def encode_request(id_: Id, method: str, params: object) -> bytes:
    return _encoder.encode(_RequestOut(id_, method, params))


def encode_notification(method: str, params: object) -> bytes:
    return _encoder.encode(_NotificationOut(method, params))


def encode_answer(id_: Id, result: object) -> bytes:
    return _encoder.encode(_AnswerOut(id_, result))


def encode_failure(id_: Id, code: int, message: str, data: object = msgspec.UNSET) -> bytes:
    """`data` is left out when there is none: a null there kills one of the clients."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not msgspec.UNSET and data is not None:
        error["data"] = data
    return _encoder.encode(_FailureOut(id_, error))
