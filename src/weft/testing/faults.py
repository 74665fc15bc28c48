"""A provider that fails on purpose, driven by a seed: the same seed gives the same faults."""

from collections.abc import AsyncGenerator, AsyncIterator
from random import Random
from typing import Final

import anyio.lowlevel

from weft.errors import ProviderErrorKind
from weft.protocols.failures import failure
from weft.protocols.fold import Fold
from weft.providers.port import Provider
from weft.schema.messages import Request
from weft.schema.stream import MessageStart, Ping, StreamDone, StreamEvent, StreamFailed

_PASSING: Final[tuple[ProviderErrorKind, ...]] = ("overloaded", "rate_limit", "server_error", "timeout", "connection")
_LASTING: Final[tuple[ProviderErrorKind, ...]] = ("invalid_request", "authentication_failed", "prompt_too_long")


class FaultyProvider:
    """Passes `inner`'s streams on, and spoils some: `rate` of them fail before the first event or are cut anywhere,
    with the blocks that were whole in `partial`; `lasting` of the failures are of kinds that retrying does not help.
    Pings are strewn in. Keeps the provider's contract: one terminal event, last.

    `faults` says what was done to each stream, in order: empty for nothing.
    """

    def __init__(self, inner: Provider, seed: int, *, rate: float = 0.3, lasting: float = 0.0) -> None:
        self.name = inner.name
        self._inner = inner
        self._random = Random(seed)
        self._rate = rate
        self._lasting = lasting
        self.faults: list[str] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        fault, left = self._plan()
        self.faults.append(fault)
        if fault == "refused":
            await anyio.lowlevel.checkpoint()
            yield self._failure()
            return
        fold = Fold()
        events = self._inner.stream(request)
        try:
            async for event in events:
                if fault == "cut" and left <= 0 and not isinstance(event, StreamFailed):
                    yield StreamFailed("cut", "the fault was planned", retryable=True, partial=fold.blocks)
                    return
                left -= 1
                fold.feed(event)
                yield event
                if isinstance(event, StreamDone | StreamFailed):
                    return
                if isinstance(event, MessageStart) or self._random.random() < 0.05:
                    yield Ping()
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def count_tokens(self, request: Request) -> int | None:
        return await self._inner.count_tokens(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _plan(self) -> tuple[str, int]:
        if self._random.random() >= self._rate:
            return "", 0
        return self._random.choice(("refused", "cut")), int(self._random.expovariate(1 / 8))

    def _failure(self) -> StreamFailed:
        lasting = self._random.random() < self._lasting
        kind = self._random.choice(_LASTING if lasting else _PASSING)
        return failure(kind, "the fault was planned")
