"""A chunked body that is passed on with its framing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import RemoteProtocolError
from weft.protocols.http_body import ChunkedBody, FramedBody

lines = st.lists(st.binary(min_size=0, max_size=40).map(lambda data: data + b"\n"), min_size=1, max_size=20)
anything = st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=20)


def framed(chunks: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def passed(wire: bytes, cuts: list[int]) -> tuple[bytes, FramedBody]:
    """What a client gets: framed parts as they are, plain ones in chunks of their own."""
    body = FramedBody()
    out = b""
    marks = sorted({0, len(wire), *(cut % (len(wire) + 1) for cut in cuts)})
    for begin, end in itertools.pairwise(marks):
        chunks, plain = body.feed(wire[begin:end])
        out += chunks + (framed([plain]) if plain else b"")
    return out + b"0\r\n\r\n", body


@given(lines | anything, st.lists(st.integers(min_value=0), max_size=8), st.binary(max_size=5))
def test_any_cuts_give_the_same_body(chunks: list[bytes], cuts: list[int], after: bytes) -> None:
    out, body = passed(framed(chunks) + b"0\r\n\r\n" + after, cuts)
    reader = ChunkedBody()
    assert reader.feed(out) == b"".join(chunks) and reader.done
    assert body.done


@given(lines, st.lists(st.integers(min_value=0), max_size=8))
def test_chunks_that_end_lines_pass_as_they_are(chunks: list[bytes], cuts: list[int]) -> None:
    plain = [chunk.replace(b"\r", b"") for chunk in chunks]
    out, body = passed(framed(plain) + b"0\r\n\r\n", cuts)
    assert out == framed(plain) + b"0\r\n\r\n" and body.done


def test_a_second_pass_over_known_sizes_is_the_same() -> None:
    chunks = [b"data: a\n\n", b"data: bb\n\n"] * 50
    body = FramedBody()
    assert body.feed(framed(chunks)) == (framed(chunks), b"")
    assert body.feed(framed(chunks) + b"a") == (framed(chunks), b"")
    assert body.feed(b"\r\ndata: cc\n\n\r\n") == (b"a\r\ndata: cc\n\n\r\n", b"")


def test_trailers_and_what_follows_are_left_out() -> None:
    body = FramedBody()
    assert body.feed(b"2\r\na\n\r\n0\r\nx-t: 1\r\n\r\nHTTP/1.1") == (b"2\r\na\n\r\n", b"")
    assert body.done and body.rest == b"HTTP/1.1"


@pytest.mark.parametrize("wire", [b"zz\r\n", b"\r\n\r\n", b"2\r\na\nXX3\r\n", b"-1\r\na\r\n", b"12345678901\r\nx"])
def test_broken_framing_is_said(wire: bytes) -> None:
    body = FramedBody()
    with pytest.raises(RemoteProtocolError):
        body.feed(wire)
        body.finish()
