"""The frames of the two-way stream: every kind there and back."""

from base64 import b64encode

import msgspec
import pytest

from weft.protocols.payloads import (
    ContentBlockDeltaEvent,
    ContinuedUserInput,
    ConversationTurnInput,
    ErrorEvent,
    MetadataEvent,
    Payload,
    PayloadDecoder,
    ToolResultInput,
    ToolUseRequestEvent,
    decode_frame,
    encode_frame,
)
from weft.schema.content import Text, ToolUse, Unknown
from weft.schema.messages import Message, Usage
from weft.schema.stream import InputDelta, TextDelta


@pytest.mark.parametrize(
    "payload",
    [
        ContinuedUserInput((Text("more"), Unknown(b'{"type":"new","x":1}'))),
        ToolResultInput("t1", (Text("42"),), is_error=True),
        ConversationTurnInput((Message("user", (Text("hi"),)), Message("assistant", (Text("yes"),)))),
        ContentBlockDeltaEvent(0, TextDelta("a")),
        ContentBlockDeltaEvent(1, InputDelta('{"a')),
        ToolUseRequestEvent(ToolUse("t1", "Read", {"path": "a"})),
        ErrorEvent("busy", "overloaded"),
        MetadataEvent(Usage(1, 2), "end_turn", {"trace": 1}),
        Unknown(b'{"type":"FromTheFuture", "n": 1.50}'),
    ],
)
def test_a_payload_comes_back_as_it_went(payload: Payload) -> None:
    wire = encode_frame(payload)
    assert wire.startswith(b'data: {"bytes":"') and wire.endswith(b'","encoding":"base64"}\n\n')
    decoder = PayloadDecoder()
    assert decoder.feed(wire[:-1]) == []
    assert decoder.finish() == [payload]


def test_text_content_is_taken_as_a_block() -> None:
    inner = b64encode(b'{"type":"ContinuedUserInput","content":"hello"}').decode()
    assert decode_frame(msgspec.json.encode({"bytes": inner})) == ContinuedUserInput((Text("hello"),))


def test_a_known_kind_of_a_strange_shape_is_kept() -> None:
    raw = b'{"type":"ErrorEvent","message":7}'
    frame = msgspec.json.encode({"bytes": b64encode(raw).decode(), "encoding": "base64"})
    assert decode_frame(frame) == Unknown(raw)
