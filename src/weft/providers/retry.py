"""A provider around another: asks again when asking again may help, and says so each time."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

import anyio
import msgspec

from weft.providers.port import Provider
from weft.schema.messages import Request
from weft.schema.stream import Retry, StreamDone, StreamEvent, StreamFailed

MAX_RETRIES: Final = 10
_MAX_KEY_RETRIES: Final = 2
"""A key may be in the middle of being renewed; one that stays wrong should be told soon."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Delays are `first`, twice that, and so on up to `longest`, and up to `jitter` of it more. A server that asks for
    more patience than `patience` seconds is not waited for."""

    max_retries: int = MAX_RETRIES
    first: float = 0.5
    longest: float = 32.0
    jitter: float = 0.25
    patience: float = 300.0
    overloads_before_fallback: int = 3

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "RetryPolicy":
        for name in ("WEFT_MAX_RETRIES", "CLAUDE_CODE_MAX_RETRIES"):
            text = env.get(name, "")
            if text.isdigit():
                return cls(max_retries=int(text))
        return cls()

    def delay(self, attempt: int, luck: float) -> float:
        """Before retry `attempt`, counted from 1. `luck` is between 0 and 1."""
        plain = min(self.longest, self.first * 2 ** min(attempt - 1, 16))
        return plain * (1 + self.jitter * luck)


class RetryingProvider:
    """Passes `inner`'s stream on; a failure that may pass is asked again, each time after a `Retry` event.

    What came after complete blocks is not asked again: `StreamFailed.partial` has them, and its reader goes on from
    there. After three overloads the request goes to the `fallback` model, if there is one.
    """

    def __init__(
        self,
        inner: Provider,
        *,
        policy: RetryPolicy | None = None,
        fallback: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        luck: Callable[[], float] = lambda: os.urandom(1)[0] / 256,
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._policy = policy or RetryPolicy()
        self._fallback = fallback
        self._sleep = sleep
        self._luck = luck

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        attempt = overloads = 0
        while True:
            failed: StreamFailed | None = None
            done: StreamDone | None = None
            events = self._inner.stream(request)
            try:
                async for event in events:
                    if isinstance(event, StreamFailed):
                        failed = event
                        break
                    if isinstance(event, StreamDone):
                        done = event
                        break
                    yield event
            finally:
                # A generator is closed where it was begun, so that the wire is closed before the next try.
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
            if done is not None:
                yield done
                return
            if failed is None:
                failed = StreamFailed("protocol", "the provider ended its stream without an answer")
            attempt += 1
            overloads += failed.error == "overloaded"
            retry = self._next(failed, attempt, overloads, request.model)
            if retry is None:
                yield failed
                return
            yield retry
            if retry.fallback is not None:
                request = msgspec.structs.replace(request, model=retry.fallback)
                attempt = overloads = 0
            await self._sleep(retry.delay)

    async def count_tokens(self, request: Request) -> int | None:
        return await self._inner.count_tokens(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _next(self, failed: StreamFailed, attempt: int, overloads: int, model: str) -> Retry | None:
        fallback = self._fallback if self._fallback != model else None
        return next_retry(
            self._policy, failed, attempt=attempt, overloads=overloads, fallback=fallback, luck=self._luck()
        )


def next_retry(
    policy: RetryPolicy, failed: StreamFailed, *, attempt: int, overloads: int, fallback: str | None, luck: float
) -> Retry | None:
    """What to do after failure number `attempt`, of which `overloads` were overloads: ask again, ask `fallback`
    instead, or None for giving up."""
    most = min(policy.max_retries, _MAX_KEY_RETRIES) if failed.error == "authentication_failed" else policy.max_retries
    if not failed.retryable or failed.partial:
        return None
    if fallback and overloads >= policy.overloads_before_fallback:
        return _retry(policy, failed, attempt, 0.0, fallback)
    if attempt > most:
        return None
    if failed.retry_after is not None and failed.retry_after > policy.patience:
        return None
    delay = failed.retry_after if failed.retry_after is not None else policy.delay(attempt, luck)
    return _retry(policy, failed, attempt, delay, None)


def _retry(policy: RetryPolicy, failed: StreamFailed, attempt: int, delay: float, fallback: str | None) -> Retry:
    return Retry(
        attempt=attempt,
        max_retries=policy.max_retries,
        delay=delay,
        error=failed.error,
        message=failed.message,
        status=failed.status,
        fallback=fallback,
    )
