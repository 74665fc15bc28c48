from collections.abc import AsyncIterator, Sequence

import pytest

from weft.protocols.failures import failure
from weft.protocols.fold import unfold
from weft.providers.retry import RetryingProvider, RetryPolicy
from weft.schema.content import Text
from weft.schema.messages import Message, Reply, Request
from weft.schema.stream import BlockDelta, MessageStart, Retry, StreamDone, StreamEvent, StreamFailed
from weft.testing.faults import FaultyProvider
from weft.testing.scripted import ScriptedProvider

REQUEST = Request("main", (Message("user", (Text("hi"),)),))
OVERLOADED = failure("overloaded", "busy", status=529)


class Failing:
    """Fails as told, then answers with the model's name."""

    name = "failing"

    def __init__(self, failures: Sequence[StreamFailed], begun: bool = False) -> None:
        self._failures = list(failures)
        self._begun = begun
        self.models: list[str] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.models.append(request.model)
        if self._failures:
            if self._begun:
                yield MessageStart("m", request.model)
            yield self._failures.pop(0)
            return
        for event in unfold(Reply("m", request.model, (Text(request.model),), "end_turn")):
            yield event

    async def count_tokens(self, request: Request) -> int | None:
        return 5

    async def aclose(self) -> None: ...


async def run(inner: Failing, **more: object) -> tuple[list[StreamEvent], list[float]]:
    slept: list[float] = []

    async def sleep(delay: float) -> None:
        slept.append(delay)

    provider = RetryingProvider(inner, sleep=sleep, luck=lambda: 1.0, **more)
    return [event async for event in provider.stream(REQUEST)], slept


def retries(events: Sequence[StreamEvent]) -> list[Retry]:
    return [event for event in events if isinstance(event, Retry)]


async def test_delays_double_with_jitter_up_to_the_longest() -> None:
    events, slept = await run(Failing([OVERLOADED] * 9))
    assert slept == [0.5 * 2**n * 1.25 for n in range(7)] + [40.0, 40.0]
    assert [retry.attempt for retry in retries(events)] == list(range(1, 10))
    assert retries(events)[0] == Retry(1, 10, 0.625, "overloaded", "busy", 529)
    assert isinstance(events[-1], StreamDone)


async def test_after_the_last_retry_the_failure_is_told() -> None:
    events, _ = await run(Failing([OVERLOADED] * 50), policy=RetryPolicy(max_retries=2))
    assert len(retries(events)) == 2 and events[-1] == OVERLOADED


async def test_the_servers_wish_wins_over_ours() -> None:
    _, slept = await run(Failing([failure("rate_limit", "slow", status=429, retry_after=7.0)]))
    assert slept == [7.0]


async def test_a_server_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    events, slept = await run(Failing([failure("rate_limit", "slow", status=429, retry_after=3600.0)]))
    assert slept == [] and isinstance(events[-1], StreamFailed)


@pytest.mark.parametrize("kind", ["invalid_request", "prompt_too_long", "model_not_found", "too_large", "protocol"])
async def test_what_asking_again_cannot_help_is_not_asked_again(kind: str) -> None:
    inner = Failing([failure(kind, "no", status=400)])
    events, _ = await run(inner)
    assert len(inner.models) == 1 and len(events) == 1


async def test_a_refused_key_is_tried_twice_more_and_no_longer() -> None:
    inner = Failing([failure("authentication_failed", "no", status=401, retryable=True)] * 9)
    events, _ = await run(inner)
    assert len(inner.models) == 3 and isinstance(events[-1], StreamFailed)


async def test_a_cut_after_whole_blocks_is_handed_up_and_not_repeated() -> None:
    cut = StreamFailed("cut", "gone", retryable=True, partial=(Text("whole"),))
    inner = Failing([cut])
    events, _ = await run(inner)
    assert events == [cut] and len(inner.models) == 1


async def test_a_cut_before_any_whole_block_begins_again() -> None:
    events, _ = await run(Failing([failure("cut", "gone")], begun=True))
    assert [type(event).__name__ for event in events[:3]] == ["MessageStart", "Retry", "MessageStart"]


async def test_after_three_overloads_the_fallback_model_is_asked() -> None:
    inner = Failing([OVERLOADED] * 3)
    events, slept = await run(inner, fallback="other")
    assert inner.models == ["main", "main", "main", "other"]
    assert [retry.fallback for retry in retries(events)] == [None, None, "other"]
    assert slept[-1] == 0.0
    assert isinstance(events[-1], StreamDone) and events[-1].reply.model == "other"


async def test_the_fallback_is_not_its_own_fallback() -> None:
    inner = Failing([OVERLOADED] * 8)
    events, _ = await run(inner, fallback="other", policy=RetryPolicy(max_retries=4))
    assert inner.models == ["main"] * 3 + ["other"] * 5
    assert isinstance(events[-1], StreamFailed)


@pytest.mark.parametrize(
    ("env", "expected"),
    [({}, 10), ({"CLAUDE_CODE_MAX_RETRIES": "3"}, 3), ({"WEFT_MAX_RETRIES": "0", "CLAUDE_CODE_MAX_RETRIES": "3"}, 0),
     ({"WEFT_MAX_RETRIES": "many"}, 10)],
)  # fmt: skip
def test_the_environment_says_how_often(env: dict[str, str], expected: int) -> None:
    assert RetryPolicy.from_env(env).max_retries == expected


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_the_faults_a_retrying_provider_ends_once(seed: int) -> None:
    faulty = FaultyProvider(ScriptedProvider(["Hello there, this is a reply"], chunk=4, cycle=True), seed, rate=0.6)

    async def at_once(delay: float) -> None: ...

    provider = RetryingProvider(faulty, sleep=at_once, policy=RetryPolicy(max_retries=50))
    for _ in range(5):
        events = [event async for event in provider.stream(REQUEST)]
        assert sum(isinstance(event, StreamDone | StreamFailed) for event in events) == 1
        end = events[-1]
        if isinstance(end, StreamFailed):
            assert end.partial
        else:
            assert isinstance(end, StreamDone) and end.reply.text == "Hello there, this is a reply"


async def test_the_same_seed_gives_the_same_faults() -> None:
    async def plan(seed: int) -> list[str]:
        provider = FaultyProvider(ScriptedProvider(["Hello"], cycle=True), seed, rate=0.5)
        for _ in range(30):
            async for event in provider.stream(REQUEST):
                assert not isinstance(event, BlockDelta) or event.index == 0
        return provider.faults

    assert await plan(7) == await plan(7) != await plan(8)
