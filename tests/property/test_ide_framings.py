"""Byte streams of language servers and of Neovim: any cut gives the same messages."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import RemoteProtocolError
from weft.ide.texts import offset_at, position_at
from weft.protocols.lsp import Framing, encode_frame
from weft.protocols.msgpack_rpc import MsgpackPeer, Notified

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=40,
)


def cut(data: bytes, draw) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@given(st.lists(st.dictionaries(st.text(max_size=5), values, max_size=3), max_size=5), st.data())
def test_any_cut_of_lsp_frames_gives_the_same_messages(messages, data) -> None:
    framing = Framing()
    found = [each for piece in cut(b"".join(map(encode_frame, messages)), data.draw) for each in framing.feed(piece)]
    assert found == [msgspec.json.decode(msgspec.json.encode(message)) for message in messages]


@given(st.lists(st.lists(values, max_size=4), max_size=5), st.data())
def test_any_cut_of_msgpack_gives_the_same_events(params, data) -> None:
    stream = b"".join(msgspec.msgpack.encode([2, "m", each]) for each in params)
    peer = MsgpackPeer()
    found = [event for piece in cut(stream, data.draw) for event in peer.feed(piece)[0]]
    assert found == [Notified("m", each) for each in params]


@given(st.binary(max_size=200))
def test_noise_is_an_error_of_ours_or_waits_for_more(noise: bytes) -> None:
    for feed in (Framing().feed, MsgpackPeer().feed):
        try:
            feed(noise)
        except RemoteProtocolError:
            continue


@given(st.text(alphabet="aä🎉\n\t", max_size=40), st.integers(0, 40))
def test_an_offset_survives_its_position(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    assert offset_at(text, position_at(text, offset)) == offset


@pytest.mark.parametrize(
    "head", [b"Content-Length: x\r\n\r\n", b"X: 1\r\n\r\n", b"Content-Length: 999999999999\r\n\r\n", b"a" * 9000]
)
def test_a_frame_without_a_usable_length_is_refused(head: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        Framing().feed(head)
