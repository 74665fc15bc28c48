from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import LocalProtocolError, RemoteProtocolError
from weft.protocols.http_head import Head, HeadDecoder, content_length, encode_head

WIRE = (
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 Fine by me\r\nContent-Type: text/plain\r\n"
    b"X-A: 1\r\nx-a:2\r\n\r\nbody"
)
HEAD = Head(200, 1, {"content-type": "text/plain", "x-a": "1, 2"})


@given(st.lists(st.integers(0, len(WIRE)), max_size=10))
def test_any_chunking_of_a_head_yields_the_same_head(cuts: list[int]) -> None:
    decoder, found, rest = HeadDecoder(max_size=1000), None, b""
    for start, end in pairwise(sorted({0, len(WIRE), *cuts})):
        if found is None:
            found = decoder.feed(WIRE[start:end])
            rest = decoder.rest
        else:
            rest += WIRE[start:end]
    assert found == HEAD and rest == b"body"


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2000,
    ],
)
def test_what_is_no_head_is_refused(wire: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        HeadDecoder(max_size=1000).feed(wire)


@pytest.mark.parametrize("text", ["", "x", "-1", "1, 2", "+1", "1" * 30])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(RemoteProtocolError):
        content_length(Head(200, 1, {"content-length": text}))


def test_a_length_that_is_told_twice_counts_once() -> None:
    assert content_length(Head(200, 1, {"content-length": "5, 5"})) == 5
    assert content_length(Head(200, 1, {})) is None


def test_a_request_head() -> None:
    assert (
        encode_head("GET", "/a?b", {"host": "x", "x-key": " k "}) == b"GET /a?b HTTP/1.1\r\nhost: x\r\nx-key: k\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/a b", {}),
        ("/a\r\nx: y", {}),
        ("/ä", {}),
        ("/", {"x": "a\r\nevil: 1"}),
        ("/", {"x y": "a"}),
        ("/", {"x": "\u2028"}),
        ("/", {"x": "\0"}),
    ],
)
def test_nothing_can_be_smuggled_into_a_head(target: str, headers: dict[str, str]) -> None:
    with pytest.raises(LocalProtocolError):
        encode_head("GET", target, headers)
