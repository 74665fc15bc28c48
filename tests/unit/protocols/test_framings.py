import pytest

from weft.errors import RemoteProtocolError
from weft.protocols import sse
from weft.protocols.jsonl import JsonLines, Lines
from weft.protocols.payloads import decode_frame
from weft.protocols.sse import SseDecoder, SseEvent


def test_values_before_a_bad_line_are_returned_and_then_the_error_comes() -> None:
    lines = JsonLines()
    assert lines.feed(b'1\n{"a":2}\nnot json\n3\n') == [1, {"a": 2}]
    assert lines.broken
    with pytest.raises(RemoteProtocolError, match="not json"):
        lines.feed(b"")


def test_a_line_separator_of_unicode_does_not_cut_a_line() -> None:
    assert JsonLines().feed('"a\u2028b"\r\n\n'.encode()) == ["a\u2028b"]


def test_a_line_that_is_too_long_is_refused_before_it_ends() -> None:
    lines = Lines(max_line=10)
    lines.feed(b"0123456789")
    with pytest.raises(RemoteProtocolError, match="10 bytes"):
        lines.feed(b"0")


def test_a_last_line_without_its_newline_counts_at_the_end() -> None:
    lines = JsonLines()
    assert lines.feed(b'1\n{"a"') == [1]
    assert lines.feed(b":2}") == []
    assert lines.finish() == [{"a": 2}]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: a\n\n", [SseEvent(b"a")]),
        (b"data:a\ndata: b\n\n", [SseEvent(b"a\nb")]),
        (b": comment\n\ndata: a\n\n", [SseEvent(b"a")]),
        (b"event: x\nid: 7\ndata: a\nretry: 5\n\n", [SseEvent(b"a", "x", "7")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent(b"a")]),
        (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"event: nothing\n\n", []),
        (b"data\n\n", [SseEvent(b"")]),
        (b"data: a\r\n\r\ndata: b\r\r", [SseEvent(b"a"), SseEvent(b"b")]),
    ],
)
def test_events_are_read_as_the_standard_says(text: bytes, events: list[SseEvent]) -> None:
    by_one = SseDecoder()
    assert SseDecoder().feed(text) == events
    assert [event for byte in text for event in by_one.feed(bytes([byte]))] == events


def test_an_event_cut_in_a_line_is_no_event_and_one_cut_after_it_is() -> None:
    decoder = SseDecoder()
    decoder.feed(b'data: {"a"')
    assert decoder.finish() == []
    decoder.feed(b"data: [DONE]\n")
    assert decoder.finish() == [SseEvent(b"[DONE]")]


def test_an_event_that_is_too_large_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        SseDecoder(max_event=20).feed(b"data: " + b"x" * 20)


def test_data_of_several_lines_is_encoded_as_several_lines() -> None:
    assert SseDecoder().feed(sse.encode(b"a\nb", "e")) == [SseEvent(b"a\nb", "e")]


@pytest.mark.parametrize(
    "frame",
    [b"{}", b"no", b'{"bytes":"%%%"}', b'{"bytes":"","encoding":"hex"}', b'{"bytes":"AAAA"}'],
)
def test_a_frame_that_cannot_be_read_is_the_peers_mistake(frame: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_frame(frame)
