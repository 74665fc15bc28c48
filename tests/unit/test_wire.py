"""Blocks cross the wire unchanged, known or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.schema.content import Text, Thinking, ToolResult, ToolUse, Unknown
from weft.schema.messages import Usage
from weft.schema.wire import decode_block, decode_content, encode


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"server_tool_use", "x":1.50}',
        b'{"type":"text","text":7}',
        b'{"no":"tag"}',
        b'{"type":"web_search_tool_result","content":[{"a":  null}]}',
    ],
)
def test_a_block_that_we_do_not_know_leaves_as_the_same_bytes(raw: bytes):
    block = decode_block(raw)
    assert block == Unknown(raw)
    assert encode([block]) == b"[" + raw + b"]"


def test_a_tool_result_keeps_unknown_blocks_inside():
    raw = b'{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"X"}]}'
    block = decode_block(raw)
    assert isinstance(block, ToolResult)
    assert encode(block) == raw


def test_content_may_be_a_string():
    assert decode_content(b'"hi"') == "hi"


@given(st.text(), st.text(), st.dictionaries(st.text(), st.integers()))
def test_encode_then_decode_is_identity(text: str, name: str, value: dict[str, object]):
    blocks = (Text(text), ToolUse("i", name, value), Thinking(text, "s"), ToolResult("i", (Text(text),), is_error=True))
    assert decode_content(encode(blocks)) == blocks


def test_usage_adds_up_field_by_field():
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
