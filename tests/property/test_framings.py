"""Any cut of the bytes gives the same values."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from weft.protocols import jsonl, sse
from weft.protocols.partial_json import PartialJson
from weft.protocols.payloads import (
    ContinuedUserInput,
    ErrorEvent,
    PayloadDecoder,
    ToolResultInput,
    encode_frame,
)
from weft.schema.content import Text, Unknown

T = TypeVar("T")
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=("Cs",)))
json_values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, json_values, max_size=5)


def cut(data: st.DataObject, whole: Sequence[T]) -> list[Sequence[T]]:
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    edges = [0, *places, len(whole)]
    return [whole[a:b] for a, b in itertools.pairwise(edges)]


def fed(feed: Callable[[bytes], list[T]], pieces: Sequence[bytes]) -> list[T]:
    return [value for piece in pieces for value in feed(piece)]


@given(st.lists(json_values), st.data())
def test_any_chunking_of_json_lines_yields_the_same_values(values: list[object], data: st.DataObject) -> None:
    whole = b"".join(jsonl.encode(value) for value in values)
    assert fed(jsonl.JsonLines().feed, cut(data, whole)) == values


@given(
    st.lists(st.tuples(st.binary(min_size=1).filter(lambda b: b"\r" not in b), st.sampled_from(["", "ping", "x"]))),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_any_chunking_and_line_end_of_events_yields_the_same_events(
    items: list[tuple[bytes, str]], end: bytes, data: st.DataObject
) -> None:
    whole = b"".join(sse.encode(body, name) for body, name in items).replace(b"\n", end)
    decoder = sse.SseDecoder()
    events = fed(decoder.feed, cut(data, whole)) + decoder.finish()
    assert [(event.data, event.event) for event in events] == items


@given(st.lists(st.sampled_from([0, 1, 2, 3])), texts, st.data())
def test_any_chunking_of_payload_frames_yields_the_same_payloads(
    kinds: list[int], text: str, data: st.DataObject
) -> None:
    known = [
        ContinuedUserInput((Text(text),)),
        ToolResultInput("t1", (Unknown(b'{"type":"new", "x": 1}'),), is_error=True),
        ErrorEvent(text),
        Unknown(b'{"type":"SomethingElse","a":[1,  2]}'),
    ]
    payloads = [known[kind] for kind in kinds]
    whole = b"".join(encode_frame(payload) for payload in payloads)
    assert fed(PayloadDecoder().feed, cut(data, whole)) == payloads


def is_part_of(part: object, whole: object) -> bool:
    """Whether `part` is what one may know of `whole` while it still arrives."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part_of(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(is_part_of(a, b) for a, b in zip(part, whole, strict=False))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return part == whole and type(part) is type(whole)


@given(objects, st.booleans(), st.data())
def test_a_partial_value_is_always_part_of_the_whole(value: object, ascii_only: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 1])))
    parser = PartialJson()
    for piece in cut(data, text):
        parser.feed(piece)
        assert not len(parser) or (parser.value() is not None and is_part_of(parser.value(), value))
    assert parser.complete
    assert parser.value() == parser.finish() == value


@given(json_values)
def test_a_line_is_one_line_and_decodes_to_what_was_encoded(value: object) -> None:
    line = jsonl.encode(value)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert msgspec.json.decode(line) == value
