"""Stream-json lines, as both ends speak them: user messages and control envelopes.

The messages of an agent are a catalogue of their own: `serve/stream_json` writes it, `connect/stream_json` reads it.
"""

from typing import TypeAlias, TypeGuard

import msgspec

from weft.errors import RemoteProtocolError
from weft.schema.content import Content, Json
from weft.schema.wire import content_from, decode_object


class UserLine(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt. `verbatim` content is not read for commands or mentions."""

    content: str | Content
    uuid: str = ""
    verbatim: bool = False
    synthetic: bool = False
    origin: Json | None = None
    raw: Json = {}


class ControlRequest(msgspec.Struct, frozen=True):
    id: str
    subtype: str
    body: Json


class ControlResponse(msgspec.Struct, frozen=True):
    """The answer to a request of ours; `error` is None when it went well."""

    id: str
    body: Json = {}
    error: str | None = None


class ControlCancel(msgspec.Struct, frozen=True):
    """The other side withdraws a request that it made."""

    id: str


class Other(msgspec.Struct, frozen=True):
    """A line that is none of these: an agent's message, or a type that we do not know."""

    type: str
    raw: Json


Line: TypeAlias = UserLine | ControlRequest | ControlResponse | ControlCancel | Other


def decode_line(line: str | bytes) -> Line:
    """
    Raises:
        RemoteProtocolError: not JSON, a control request without a request, or a user line of another role.
    """
    try:
        raw = decode_object(line)
    except msgspec.ValidationError:
        return Other("", {})
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"A line of the input is not JSON: {error}") from None
    kind = raw.get("type")
    match kind:
        case "user":
            return _user(raw)
        case "control_request":
            return _request(raw)
        case "control_response":
            return _response(raw)
        case "control_cancel_request":
            return ControlCancel(str(raw.get("request_id", "")))
        case _:
            return Other(str(kind or ""), raw)


def _user(raw: Json) -> UserLine | Other:
    message = raw.get("message")
    if not is_json(message):
        raise RemoteProtocolError("A user line has no message.")
    if message.get("role") != "user":
        raise RemoteProtocolError(f"A user line has the role {message.get('role')!r}.")
    try:
        content = content_from(message.get("content", ""))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"The content of a user line is neither text nor a list of blocks: {error}") from None
    origin = raw.get("origin")
    return UserLine(
        content=content,
        uuid=str(raw.get("uuid") or ""),
        verbatim=raw.get("client_composed") is True,
        synthetic=raw.get("isSynthetic") is True,
        origin=origin if is_json(origin) else None,
        raw=raw,
    )


def _request(raw: Json) -> ControlRequest:
    body = raw.get("request")
    if not is_json(body):
        raise RemoteProtocolError("A control request has no request.")
    return ControlRequest(str(raw.get("request_id", "")), str(body.get("subtype", "")), body)


def _response(raw: Json) -> ControlResponse:
    body = raw.get("response")
    if not is_json(body):
        raise RemoteProtocolError("A control response has no response.")
    answer = body.get("response")
    error = str(body.get("error") or "unknown error") if body.get("subtype") == "error" else None
    return ControlResponse(str(body.get("request_id", "")), answer if is_json(answer) else {}, error)


def is_json(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict)


def control_request(request_id: str, subtype: str, **fields: object) -> Json:
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}}


def control_success(request_id: str, body: Json | None = None) -> Json:
    answer: Json = {"subtype": "success", "request_id": request_id}
    if body is not None:
        answer["response"] = body
    return {"type": "control_response", "response": answer}


def control_error(request_id: str, error: str, code: str | None = None) -> Json:
    answer: Json = {"subtype": "error", "request_id": request_id, "error": error}
    if code is not None:
        answer["error_code"] = code
    return {"type": "control_response", "response": answer}


def control_cancel(request_id: str) -> Json:
    return {"type": "control_cancel_request", "request_id": request_id}


def user_line(content: str | Content, *, uuid: str = "", session_id: str = "", verbatim: bool = False) -> Json:
    line: Json = {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": session_id,
    }
    if uuid:
        line["uuid"] = uuid
    if verbatim:
        line["client_composed"] = True
    return line
