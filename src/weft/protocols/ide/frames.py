"""JSON-RPC objects in text frames: what a frame is, and how to write one."""

from typing import Any, TypeAlias, cast

import msgspec

from weft.errors import RemoteProtocolError
from weft.protocols.ide.notices import as_object
from weft.schema.content import Json

RequestId: TypeAlias = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002


class Request(msgspec.Struct, frozen=True):
    id: RequestId
    method: str
    params: Json


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: Json


class Reply(msgspec.Struct, frozen=True):
    """`error` is `(code, message)` when the other side refused."""

    id: RequestId
    result: Json
    error: tuple[int, str] | None = None


Frame: TypeAlias = Request | Notification | Reply


def decode_frame(data: str | bytes) -> Frame:
    """
    Raises:
        RemoteProtocolError: not one JSON-RPC object.
    """
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError("a frame is not JSON") from error
    if not isinstance(value, dict):
        raise RemoteProtocolError("a frame is not one JSON object")
    message = cast("Json", value)
    number, method = message.get("id"), message.get("method")
    known = isinstance(number, str | int) and not isinstance(number, bool)
    if isinstance(method, str):
        params = as_object(message.get("params"))
        if "id" not in message:
            return Notification(method, params)
        if known:
            return Request(cast("RequestId", number), method, params)
    elif known and ("result" in message or "error" in message):
        return Reply(cast("RequestId", number), as_object(message.get("result")), _error(message.get("error")))
    raise RemoteProtocolError("a frame is neither a request, a notification nor an answer")


def _error(value: object) -> tuple[int, str] | None:
    if value is None:
        return None
    found = as_object(value)
    code = found.get("code")
    return code if isinstance(code, int) else INTERNAL_ERROR, str(found.get("message", "error"))


def encode_request(number: RequestId, method: str, params: Json | None = None) -> str:
    return _encode({"jsonrpc": "2.0", "id": number, "method": method, **_params(params)})


def encode_notification(method: str, params: Json | None = None) -> str:
    return _encode({"jsonrpc": "2.0", "method": method, **_params(params)})


def encode_result(number: RequestId, result: Json) -> str:
    return _encode({"jsonrpc": "2.0", "id": number, "result": result})


def encode_error(number: RequestId | None, code: int, message: str) -> str:
    return _encode({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


def _params(params: Json | None) -> Json:
    return {} if params is None else {"params": params}


def _encode(value: Json) -> str:
    return msgspec.json.encode(value).decode()
