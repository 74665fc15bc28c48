"""Streams of models: any cut of the bytes gives the same events, and no bytes at all break a decoder."""

import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from weft.protocols.anthropic_messages import MessagesDecoder
from weft.protocols.anthropic_server import MessagesEncoder
from weft.protocols.fold import unfold
from weft.protocols.openai_server import ChatEncoder
from weft.protocols.openai_stream import ChatDecoder
from weft.schema.content import AnyBlock, Text, Thinking, ToolUse
from weft.schema.messages import Reply, Usage
from weft.schema.stream import StreamDone, StreamEvent, StreamFailed

Decoder = MessagesDecoder | ChatDecoder
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)
inputs = st.dictionaries(texts, st.none() | st.integers(-1000, 1000) | texts | st.lists(texts, max_size=3), max_size=3)
blocks = (
    texts.map(Text)
    | st.builds(Thinking, texts, texts)
    | st.builds(ToolUse, st.uuids().map(str), st.sampled_from(["Read", "Bash"]), inputs)
)
replies = st.builds(
    Reply,
    id=st.just("m1"),
    model=st.just("m"),
    content=st.lists(blocks, min_size=1, max_size=4).map(tuple),
    stop_reason=st.just("end_turn"),
    usage=st.builds(Usage, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
)


def encode(reply: Reply, encoder: Callable[[StreamEvent], bytes], piece: int) -> bytes:
    return b"".join(encoder(event) for event in unfold(reply, piece=piece))


def decode(decoder: Decoder, wire: bytes, cuts: list[int]) -> list[StreamEvent]:
    edges = sorted({0, len(wire), *(cut % (len(wire) + 1) for cut in cuts)})
    events = [event for a, b in itertools.pairwise(edges) for event in decoder.feed(wire[a:b])]
    return events + decoder.finish()


def ends(events: list[StreamEvent]) -> int:
    return sum(isinstance(event, StreamDone | StreamFailed) for event in events)


cut_lists = st.lists(st.integers(0, 10_000), max_size=12)


@given(replies, st.integers(0, 7), cut_lists)
def test_any_chunking_of_an_anthropic_stream_gives_the_reply(reply: Reply, piece: int, cuts: list[int]) -> None:
    wire = encode(reply, MessagesEncoder().encode, piece)
    events = decode(MessagesDecoder(), wire, cuts)
    assert events == decode(MessagesDecoder(), wire, [])
    assert events[-1] == StreamDone(reply) and ends(events) == 1


def joined(content: tuple[AnyBlock, ...]) -> tuple[AnyBlock, ...]:
    """As chat completions have it: neighbours of one kind are one, and thinking is not signed."""
    out: list[AnyBlock] = []
    for block in content:
        last = out[-1] if out else None
        if isinstance(block, Text) and isinstance(last, Text):
            out[-1] = Text(last.text + block.text)
        elif isinstance(block, Thinking):
            text = last.thinking + block.thinking if isinstance(last, Thinking) else block.thinking
            if isinstance(last, Thinking):
                out.pop()
            out.append(Thinking(text))
        else:
            out.append(block)
    return tuple(out)


@given(replies, st.integers(0, 7), cut_lists)
def test_any_chunking_of_a_chat_stream_gives_the_reply(reply: Reply, piece: int, cuts: list[int]) -> None:
    wire = encode(reply, ChatEncoder().encode, piece)
    events = decode(ChatDecoder(), wire, cuts)
    done = events[-1]
    assert isinstance(done, StreamDone) and ends(events) == 1
    assert done.reply.content == joined(reply.content)


@given(replies, st.data(), st.booleans())
def test_a_stream_cut_or_spoiled_anywhere_ends_once_and_never_raises(
    reply: Reply, data: st.DataObject, chat: bool
) -> None:
    wire = encode(reply, ChatEncoder().encode if chat else MessagesEncoder().encode, 3)
    at = data.draw(st.integers(0, len(wire)))
    junk = data.draw(st.binary(max_size=30))
    keep = data.draw(st.booleans())
    spoiled = wire[:at] + junk + (wire[at + len(junk) :] if keep else b"")
    events = decode(ChatDecoder() if chat else MessagesDecoder(), spoiled, [at])
    assert ends(events) == 1 and isinstance(events[-1], StreamDone | StreamFailed)


@given(st.lists(st.binary(max_size=60).map(lambda line: b"data: " + line.replace(b"\n", b"") + b"\n\n"), max_size=5))
def test_no_bytes_break_a_decoder(lines: list[bytes]) -> None:
    for decoder in (MessagesDecoder(), ChatDecoder()):
        assert ends(decode(decoder, b"".join(lines), [7])) == 1
