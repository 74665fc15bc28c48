"""What every `Provider` keeps: run on each implementation, each wrapper and each fake."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest

from weft.protocols.fold import Fold
from weft.providers.anthropic import AnthropicProvider
from weft.providers.openai import OpenAIProvider
from weft.providers.port import Provider
from weft.providers.retry import RetryingProvider, RetryPolicy
from weft.providers.small.provider import SmallProvider
from weft.schema.content import AnyBlock, Text, Thinking, ToolUse
from weft.schema.messages import Message, Request, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    Ping,
    Retry,
    StreamDone,
    StreamEvent,
    StreamFailed,
)
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.testing.fake_server import Answer
from weft.testing.faults import FaultyProvider
from weft.testing.scripted import Fail, Line, ScriptedProvider

Step = tuple[AnyBlock, ...] | None
"""What the model says; None for a failure that stays one."""
Open = Callable[[Sequence[Step]], AbstractAsyncContextManager[Provider]]
REQUEST = Request("fake-model", (Message("user", (Text("hi"),)),), max_tokens=1000)
USAGE = Usage(input_tokens=7, output_tokens=3, cache_read_input_tokens=2)


def answers(steps: Sequence[Step]) -> list[Answer]:
    return [
        Answer(status=400, error="invalid_request") if step is None else Answer(blocks=step, usage=USAGE, piece=3)
        for step in steps
    ]


@asynccontextmanager
async def anthropic(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    async with FakeAnthropic(answers(steps)) as server:
        provider = AnthropicProvider(key="k", base_url=server.url)
        yield provider
        await provider.aclose()


@asynccontextmanager
async def openai(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    async with FakeOpenAI(answers(steps)) as server:
        provider = OpenAIProvider(key="k", base_url=server.url)
        yield provider
        await provider.aclose()


@asynccontextmanager
async def scripted(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    lines = [Fail("invalid_request", status=400) if step is None else Line(step, USAGE) for step in steps]
    yield ScriptedProvider(lines, chunk=3)


@asynccontextmanager
async def retrying(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    """Around a provider that fails a third of the time: the caller sees none of it but `Retry`."""
    failing: list[Line | Fail] = []
    for step in steps:
        failing.append(Fail("overloaded", status=529))
        failing.append(Fail("invalid_request", status=400) if step is None else Line(step, USAGE))

    async def at_once(delay: float) -> None:
        await anyio.lowlevel.checkpoint()

    inner = _Retryable(ScriptedProvider(failing, chunk=3))
    yield RetryingProvider(inner, policy=RetryPolicy(max_retries=3), sleep=at_once, luck=lambda: 0.0)


class _Retryable:
    """Marks overloads as worth a retry, as the wire's decoder does."""

    name = "scripted"

    def __init__(self, inner: ScriptedProvider) -> None:
        self._inner = inner

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async for event in self._inner.stream(request):
            if isinstance(event, StreamFailed) and event.error == "overloaded":
                yield StreamFailed(event.error, event.message, event.status, retryable=True)
            else:
                yield event

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None: ...


@asynccontextmanager
async def faulty_without_faults(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    async with scripted(steps) as inner:
        yield FaultyProvider(inner, seed=1, rate=0.0)


@asynccontextmanager
async def small(steps: Sequence[Step]) -> AsyncIterator[Provider]:
    """The small-model profile around a model that is asked without tools: it passes everything on."""
    async with scripted(steps) as inner:
        yield SmallProvider(inner)


ALL = pytest.mark.parametrize("open_provider", [anthropic, openai, scripted, retrying, faulty_without_faults, small])


async def collect(provider: Provider, request: Request = REQUEST) -> list[StreamEvent]:
    with anyio.fail_after(30):
        return [event async for event in provider.stream(request)]


def check_order(events: Sequence[StreamEvent]) -> None:
    """MessageStart (BlockStart BlockDelta* BlockStop)* MessageDelta? (StreamDone | StreamFailed)"""
    assert isinstance(events[-1], StreamDone | StreamFailed)
    begun = False
    open_block: int | None = None
    for event in events[:-1]:
        match event:
            case Ping():
                pass
            case Retry():
                begun, open_block = False, None
            case MessageStart():
                assert not begun
                begun = True
            case BlockStart(index=index):
                assert begun and open_block is None
                open_block = index
            case BlockDelta(index=index):
                assert open_block == index
            case BlockStop(index=index):
                assert open_block == index
                open_block = None
            case MessageDelta():
                assert begun and open_block is None
            case _:
                pytest.fail(f"{event} before the end")
    if isinstance(events[-1], StreamDone):
        assert begun and open_block is None


@ALL
async def test_a_message_comes_in_order_and_ends_once(open_provider: Open) -> None:
    blocks = (Thinking("hm", "sig"), Text("Hello there"), ToolUse("t1", "Read", {"path": "ä", "n": [1, None]}))
    async with open_provider([blocks]) as provider:
        events = await collect(provider)
    check_order(events)
    done = events[-1]
    assert isinstance(done, StreamDone)
    assert [type(block) for block in done.reply.content] == [Thinking, Text, ToolUse]
    assert done.reply.text == "Hello there" and done.reply.tool_uses == blocks[2:]
    assert done.reply.stop_reason == "tool_use" and done.reply.usage == USAGE


@ALL
async def test_the_deltas_fold_to_the_reply(open_provider: Open) -> None:
    async with open_provider([(Text("Hello there"), ToolUse("t1", "Read", {"path": "a"}))]) as provider:
        events = await collect(provider)
    fold = Fold()
    for event in events[:-1]:
        fold.feed(event)
    done = events[-1]
    assert isinstance(done, StreamDone)
    assert fold.reply().content == done.reply.content and fold.usage == done.reply.usage


@ALL
async def test_a_failure_is_the_last_event_and_never_an_exception(open_provider: Open) -> None:
    async with open_provider([None]) as provider:
        events = await collect(provider)
    check_order(events)
    failed = events[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.error == "invalid_request" and failed.message


@ALL
async def test_one_provider_answers_many_requests(open_provider: Open) -> None:
    async with open_provider([(Text("one"),), None, (Text("three"),)]) as provider:
        texts = [
            end.reply.text if isinstance(end := (await collect(provider))[-1], StreamDone) else "" for _ in range(3)
        ]
    assert texts == ["one", "", "three"]


@ALL
async def test_cancellation_passes_through_and_the_provider_stays_usable(open_provider: Open) -> None:
    async with open_provider([(Text("a long text " * 50),), (Text("after"),)]) as provider:
        with anyio.CancelScope() as scope:
            async for event in provider.stream(REQUEST):
                if isinstance(event, BlockDelta):
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        end = (await collect(provider))[-1]
        assert isinstance(end, StreamDone) and end.reply.text == "after"


@ALL
async def test_counting_tokens_gives_a_number_or_none(open_provider: Open) -> None:
    async with open_provider([]) as provider:
        count = await provider.count_tokens(REQUEST)
    assert count is None or count > 0
