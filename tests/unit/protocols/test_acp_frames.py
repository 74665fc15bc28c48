"""Frames and updates of ACP: tables, no loop and no socket."""

import msgspec
import pytest

from weft.protocols.acp import frames
from weft.protocols.acp import updates as u
from weft.protocols.acp.content import TextContent, ToolContentBlock, decode_block, pairs
from weft.protocols.acp.frames import Answer, Failure, Frame, Invalid, Notification, Request
from weft.schema.content import Unknown


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        (b'{"jsonrpc":"2.0","id":0,"method":"m","params":{}}', Request(0, "m", msgspec.Raw(b"{}"))),
        (b'{"jsonrpc":"2.0","id":"a","method":"m"}', Request("a", "m", msgspec.Raw(b"null"))),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', Request(None, "m", msgspec.Raw(b"null"))),
        (b'{"jsonrpc":"2.0","method":"m","params":[1]}', Notification("m", msgspec.Raw(b"[1]"))),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Answer(1, msgspec.Raw(b"null"))),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}', Answer(1, msgspec.Raw(b'{"a":1}'))),
        (b'{"id":1,"error":{"code":-1,"message":"x"}}', Failure(1, -1, "x")),
        (b'{"id":1,"error":{"code":-1,"message":"x","data":[1]}}', Failure(1, -1, "x", [1])),
        (b'{"error":{"code":-1,"message":"x"}}', Failure(None, -1, "x")),
        (b'{"id":1,"error":"broken"}', Failure(1, -32603, '"broken"')),
        (b"{not json", Invalid(-32700, "Parse error")),
        (b"\xff\xfe", Invalid(-32700, "Parse error")),
    ],
)
def test_a_frame_is_told_by_its_fields(data: bytes, frame: Frame) -> None:
    found = frames.decode(data)
    assert type(found) is type(frame)
    assert msgspec.json.encode(found) == msgspec.json.encode(frame)


@pytest.mark.parametrize("data", [b"[]", b'{"foo":"bar"}', b"3", b'{"id":1}'])
def test_what_is_no_frame_is_an_invalid_request(data: bytes) -> None:
    found = frames.decode(data)
    assert isinstance(found, Invalid)
    assert found.code == frames.INVALID_REQUEST


def test_an_error_without_data_has_no_data_field() -> None:
    assert b"data" not in frames.encode_failure(1, -32603, "no")
    assert b"data" not in frames.encode_failure(1, -32603, "no", None)


def test_an_unknown_update_is_kept_and_a_broken_known_one_is_mended() -> None:
    raw = b'{"sessionUpdate":"from_the_future","x":1}'
    assert u.decode_update(raw) == Unknown(raw)
    mended = u.decode_update(
        b'{"sessionUpdate":"tool_call_update","toolCallId":"1","status":null,"title":null,"content":'
        b'[{"type":"hologram"},{"type":"content","content":{"type":"text","text":"a"}}]}'
    )
    assert mended == u.ToolCallUpdate(tool_call_id="1", content=(ToolContentBlock(content=TextContent(text="a")),))
    assert u.decode_update(b'{"sessionUpdate":"current_mode_update","modeId":"plan"}') == u.CurrentMode(
        current_mode_id="plan"
    )


def test_an_unknown_block_is_kept() -> None:
    raw = b'{"type":"hologram","data":"x"}'
    assert decode_block(raw) == Unknown(raw)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"name": "A", "value": "1"}], {"A": "1"}),
        ({"A": "1"}, {"A": "1"}),
        (None, {}),
        ("nonsense", {}),
    ],
)
def test_names_and_values_come_as_a_list_or_as_an_object(value: object, found: dict[str, str]) -> None:
    assert pairs(value) == found


def test_the_values_of_a_select_are_found_flat_and_in_groups() -> None:
    flat = {"value": "a", "name": "A"}
    option = u.ConfigOption(
        id="m",
        name="M",
        type="select",
        current_value="a",
        options=(flat, {"group": "g", "name": "G", "options": [flat]}),
    )
    assert [choice.value for choice in u.choices(option)] == ["a", "a"]
