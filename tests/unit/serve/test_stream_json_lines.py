"""A piece of a reply takes a short way to its line, and the line is the same as by the long one."""

import uuid
from typing import Any

import msgspec
import pytest

from weft.schema.content import Thinking
from weft.schema.events import SessionInfo, SessionStarted, Streamed, TurnEnded, TurnStarted
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    CitationsDelta,
    InputDelta,
    MessageStart,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from weft.schema.wire import encode
from weft.serve.stream_json.init import Stamps, init_fields
from weft.serve.stream_json.translate import Translator
from weft.transports.messages import LineStream

INFO = SessionInfo(session_id='s"1', cwd="/x", model="m")


def translator(*, partial: bool = True) -> Translator:
    found = Translator(stamp=lambda: "id", now=lambda: "now", clock=lambda: 0.0, init=init_fields, partial=partial)
    found.feed(SessionStarted(info=INFO))
    found.feed(TurnStarted(turn_id="t"))
    return found


def streamed(delta: StreamEvent, *, message: str = "m1", parent: str | None = None) -> Streamed:
    return Streamed(message_id=message, delta=delta, parent=parent)


EVENTS = [
    streamed(MessageStart("m1", "model")),
    streamed(BlockStart(0, Thinking("", ""))),
    streamed(BlockDelta(0, ThinkingDelta("hm \u2028 \n"))),
    streamed(BlockDelta(0, SignatureDelta("sig"))),
    streamed(BlockStop(0)),
    streamed(BlockDelta(1, TextDelta('a "quoted" \\ word, \x07 and ü'))),
    streamed(BlockDelta(1, CitationsDelta({"type": "x", "cited_text": "a\nb"}))),
    streamed(BlockDelta(2, InputDelta('{"a":'))),
    streamed(BlockDelta(0, TextDelta("another message")), message="m2"),
    streamed(BlockDelta(0, TextDelta("of a subagent")), parent="toolu_1"),
]


@pytest.mark.parametrize("partial", [True, False])
def test_the_short_way_gives_the_same_lines_as_the_long_one(partial: bool):
    short, long = translator(partial=partial), translator(partial=partial)
    for event in EVENTS:
        lines = short.lines(event)
        messages = long.feed(event)
        assert [msgspec.json.decode(line) for line in lines] == [msgspec.json.decode(encode(one)) for one in messages]
        assert not any(b"\n" in line for line in lines)


def test_a_piece_that_is_the_first_of_its_turn_is_announced():
    kinds = [msgspec.json.decode(line)["type"] for line in translator().lines(EVENTS[5])]
    assert kinds == ["system", "stream_event"]


def test_a_turn_that_ended_is_a_result_line():
    lines = translator().lines(TurnEnded(turn_id="t", reason="completed", text="x"))
    assert [msgspec.json.decode(line)["type"] for line in lines] == ["system", "result"]


def test_stamps_are_uuids_of_the_fourth_kind_and_never_the_same():
    stamps = Stamps()
    found = [stamps() for _ in range(1000)]
    assert len(set(found)) == 1000
    for text in found:
        value = uuid.UUID(text)
        assert (str(value), value.version, value.variant) == (text, 4, uuid.RFC_4122)


async def test_many_lines_are_few_writes_in_order():
    written: list[bytes] = []

    async def write(data: bytes) -> None:
        written.append(data)

    async def nothing() -> Any:
        return b""

    stream = LineStream(nothing, write, nothing)
    lines = [b"%05d" % number * 20 for number in range(2000)]
    await stream.send_all(lines)
    await stream.send_all([])
    assert b"".join(written) == b"".join(line + b"\n" for line in lines)
    assert 1 < len(written) < 10
    assert all(data.endswith(b"\n") and len(data) <= 2**16 for data in written)
