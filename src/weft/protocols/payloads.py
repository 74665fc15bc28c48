"""The payload frames of a platform's two-way stream: JSON inside base64 inside JSON inside an event stream.

    data: {"bytes": "eyJ0eXBlIjoi…", "encoding": "base64"}

Client frames are `ContinuedUserInput`, `ToolResultInput` and `ConversationTurnInput`; server frames are
`ContentBlockDeltaEvent`, `ToolUseRequestEvent`, `ErrorEvent` and `MetadataEvent`. Other types stay `Unknown`.
"""

import binascii
from base64 import b64decode, b64encode
from typing import Final, TypeAlias

import msgspec

from weft.errors import RemoteProtocolError
from weft.protocols import sse
from weft.schema.content import Content, Json, ToolUse, Unknown
from weft.schema.messages import Message, Usage
from weft.schema.stream import Delta
from weft.schema.wire import as_blocks, decode_content, encode


class ContinuedUserInput(msgspec.Struct, frozen=True, tag_field="type", tag="ContinuedUserInput"):
    """More of what the person says, while a turn runs."""

    content: Content


class ToolResultInput(msgspec.Struct, frozen=True, tag_field="type", tag="ToolResultBlock"):
    tool_use_id: str
    content: Content = ()
    is_error: bool = False


class ConversationTurnInput(msgspec.Struct, frozen=True, tag_field="type", tag="ConversationTurnInput"):
    """A turn begins with this history."""

    messages: tuple[Message, ...]


class ContentBlockDeltaEvent(msgspec.Struct, frozen=True, tag_field="type", tag="ContentBlockDeltaEvent"):
    index: int
    delta: Delta


class ToolUseRequestEvent(msgspec.Struct, frozen=True, tag_field="type", tag="ToolUseRequestEvent"):
    tool_use: ToolUse


class ErrorEvent(msgspec.Struct, frozen=True, tag_field="type", tag="ErrorEvent"):
    message: str
    kind: str = "unknown"


class MetadataEvent(msgspec.Struct, frozen=True, tag_field="type", tag="MetadataEvent"):
    usage: Usage = Usage()
    stop_reason: str | None = None
    data: Json = {}


ClientPayload: TypeAlias = ContinuedUserInput | ToolResultInput | ConversationTurnInput
ServerPayload: TypeAlias = ContentBlockDeltaEvent | ToolUseRequestEvent | ErrorEvent | MetadataEvent
Payload: TypeAlias = ClientPayload | ServerPayload | Unknown


class _Frame(msgspec.Struct):
    bytes: str
    encoding: str = "base64"


class _WireMessage(msgspec.Struct):
    role: str
    content: msgspec.Raw


class _WireClient(msgspec.Struct):
    """Any client frame: its blocks may be of kinds that only `schema.wire` can keep."""

    type: str
    content: msgspec.Raw = msgspec.Raw(b"[]")
    tool_use_id: str = ""
    is_error: bool = False
    messages: list[_WireMessage] = []


_frame: Final = msgspec.json.Decoder(_Frame)
_server: Final = msgspec.json.Decoder(ServerPayload)
_client: Final = msgspec.json.Decoder(_WireClient)
_CLIENT_TAGS: Final = ("ContinuedUserInput", "ToolResultBlock", "ConversationTurnInput")


class PayloadDecoder:
    """Bytes of the stream to payloads."""

    def __init__(self, *, max_event: int = sse.MAX_EVENT) -> None:
        self._events = sse.SseDecoder(max_event=max_event)

    def feed(self, data: bytes) -> list[Payload]:
        """
        Raises:
            RemoteProtocolError: a frame is not JSON, not base64, or not JSON inside.
        """
        return [decode_frame(event.data) for event in self._events.feed(data)]

    def finish(self) -> list[Payload]:
        return [decode_frame(event.data) for event in self._events.finish()]


def decode_frame(data: bytes) -> Payload:
    """One frame, without the `data:` before it.

    Raises:
        RemoteProtocolError: it is not a frame.
    """
    try:
        frame = _frame.decode(data)
        if frame.encoding != "base64":
            raise RemoteProtocolError(f"a payload has the encoding {frame.encoding!r}; only base64 is known")
        inner = b64decode(frame.bytes, validate=True)
        return _decode_payload(inner)
    except (msgspec.DecodeError, binascii.Error, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"a payload cannot be read: {error}") from None


def encode_frame(payload: Payload) -> bytes:
    """One frame as an event of the stream, with its empty line."""
    inner = payload.raw if isinstance(payload, Unknown) else encode(payload)
    return sse.encode(msgspec.json.encode(_Frame(b64encode(inner).decode())))


def _decode_payload(inner: bytes) -> Payload:
    try:
        tag = _client.decode(inner).type
    except msgspec.ValidationError:
        return Unknown(inner)
    try:
        return _decode_client(inner) if tag in _CLIENT_TAGS else _server.decode(inner)
    except msgspec.ValidationError:
        return Unknown(inner)


def _decode_client(inner: bytes) -> ClientPayload:
    found = _client.decode(inner)
    if found.type == "ConversationTurnInput":
        return ConversationTurnInput(
            tuple(
                Message("assistant" if one.role == "assistant" else "user", as_blocks(decode_content(one.content)))
                for one in found.messages
            )
        )
    content = as_blocks(decode_content(found.content))
    if found.type == "ToolResultBlock":
        return ToolResultInput(found.tool_use_id, content, found.is_error)
    return ContinuedUserInput(content)
