"""The channel merges deltas when the reader is slow, and loses nothing."""

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.agent.channel import Channel, merged
from weft.schema.events import AgentEvent, Notice, Streamed
from weft.schema.stream import BlockDelta, InputDelta, TextDelta, ThinkingDelta


def delta(text: str, *, index: int = 0, message: str = "m") -> Streamed:
    return Streamed(message_id=message, delta=BlockDelta(index, TextDelta(text)))


async def drain(channel: Channel) -> list[AgentEvent]:
    with anyio.fail_after(30):
        return [event async for event in channel]


async def test_events_come_out_in_order_and_end_with_close():
    channel = Channel()
    channel.put(delta("a"))
    channel.put(Notice(text="n"))
    channel.close()
    channel.put(Notice(text="too late"))
    assert await drain(channel) == [delta("a"), Notice(text="n")]


async def test_a_reader_that_waits_gets_what_is_put_later():
    channel = Channel()
    seen: list[AgentEvent] = []

    async def read() -> None:
        async for event in channel:
            seen.append(event)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.lowlevel.checkpoint()
            channel.put(Notice(text="n"))
            channel.close()
    assert seen == [Notice(text="n")]


@settings(deadline=None)
@given(st.lists(st.one_of(st.text(max_size=3), st.none()), max_size=40), st.integers(0, 5))
def test_no_text_and_no_other_event_is_ever_lost(pieces: list[str | None], limit: int):
    channel = Channel(limit=limit)
    for piece in pieces:
        channel.put(Notice(text="x") if piece is None else delta(piece))
    channel.close()
    events = anyio.run(drain, channel)
    text = "".join(
        event.delta.delta.text
        for event in events
        if isinstance(event, Streamed)
        and isinstance(event.delta, BlockDelta)
        and isinstance(event.delta.delta, TextDelta)
    )
    assert text == "".join(piece for piece in pieces if piece is not None)
    assert events.count(Notice(text="x")) == pieces.count(None)


def test_only_deltas_of_one_block_and_kind_merge():
    assert merged(delta("a"), delta("b")) == delta("ab")
    assert merged(delta("a"), delta("b", index=1)) is None
    assert merged(delta("a"), delta("b", message="other")) is None
    thinking = Streamed(message_id="m", delta=BlockDelta(0, ThinkingDelta("t")))
    assert merged(delta("a"), thinking) is None
    one = Streamed(message_id="m", delta=BlockDelta(0, InputDelta("{")))
    two = Streamed(message_id="m", delta=BlockDelta(0, InputDelta("}")))
    assert merged(one, two) == Streamed(message_id="m", delta=BlockDelta(0, InputDelta("{}")))
    assert merged(Notice(text="a"), Notice(text="b")) is None


async def test_a_burst_is_everything_that_waits_and_comes_at_once():
    channel = Channel(limit=10_000)
    sizes: list[int] = []
    seen: list[AgentEvent] = []

    async def read() -> None:
        async for events in channel.bursts():
            sizes.append(len(events))
            seen.extend(events)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            channel.put(delta("first"))
            await anyio.wait_all_tasks_blocked()
            assert sizes == [1]
            for _ in range(1000):
                channel.put(Notice(text="n"))
            channel.close()
    assert seen == [delta("first"), *[Notice(text="n")] * 1000]
    assert len(sizes) < 5
