"""The estimate of tokens: near what tokenizers say, and cheap whatever the length."""

import pytest

from weft.schema.content import Base64Source, Document, Image, Text, ToolResult, ToolUse
from weft.schema.messages import Message
from weft.sessions import tokens

# Counted with a published tokenizer of a model family.
COUNTED = [
    ("The quick brown fox jumps over the lazy dog, and then it sleeps until the evening comes.", 20),
    ("def add(first: int, second: int) -> int:\n    return first + second\n", 20),
    ('{"name": "weft", "version": "0.1.0", "tools": ["Read", "Edit"], "count": 12345}', 31),
    ("数据结构与消息架构，流式状态机如何转换消息。", 18),
]


@pytest.mark.parametrize(("text", "real"), COUNTED)
def test_short_texts_are_near_a_real_count(text: str, real: int) -> None:
    assert 0.75 * real <= tokens.of_text(text) <= 1.3 * real


def test_a_long_text_is_judged_by_samples_of_all_of_it() -> None:
    prose, code = "some plain words here. " * 4_000, "x[1]+=f(y);" * 4_000
    parts = tokens.of_text(prose[:19_000]) * len(prose) / 19_000 + tokens.of_text(code[:19_000]) * len(code) / 19_000
    assert abs(tokens.of_text(prose + code) - parts) / parts < 0.2


def test_every_kind_of_block_has_a_price() -> None:
    assert tokens.of_block(Image(Base64Source("image/png", "x" * 10**6))) == tokens.IMAGE
    assert tokens.of_block(Document(Base64Source("application/pdf", "x" * 700_000))) > 5 * tokens.IMAGE
    result = ToolResult("t", (Text("word " * 100), Image(Base64Source("image/png", ""))))
    assert tokens.of_block(result) > tokens.IMAGE + 90
    assert tokens.of_block(ToolUse("t", "Read", {"file_path": "/a/b.py"})) > 8
    assert tokens.of_message(Message("user", ())) > 0
    assert tokens.of_text("") == 0
