"""Several models in the order of preference, behind one provider: the first that answers is asked from then on."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Final

import msgspec

from weft.errors import ProviderErrorKind
from weft.providers.port import Provider
from weft.schema.messages import Request
from weft.schema.stream import Retry, StreamEvent, StreamFailed

GOES_ON: Final[frozenset[ProviderErrorKind]] = frozenset(
    (
        "authentication_failed",
        "billing_error",
        "rate_limit",
        "overloaded",
        "model_not_found",
        "server_error",
        "connection",
        "timeout",
    )
)
"""Failures of a model or its server: another one may do better. The rest is the request's own fault."""

Choice = Callable[[], tuple[Provider, str]]


class ListedProvider:
    """Asks `choices` in order, each with its own retries behind it. A reply that has begun is never asked again.

    `last`, when given, is asked only where the others do not know their model at all. `owned` are the providers that
    end with this one.
    """

    def __init__(
        self, choices: Sequence[Choice], *, last: Choice | None = None, owned: Sequence[Provider] = ()
    ) -> None:
        self._choices = [*choices, *([last] if last is not None else [])]
        self._named = len(choices)
        self._owned = owned
        self._at = 0
        self.name = self._choices[0]()[0].name

    @property
    def model(self) -> str:
        """The model that is asked now."""
        return self._choices[self._at]()[1]

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        while True:
            failed: StreamFailed | None = None
            provider, model = self._choices[self._at]()
            events = provider.stream(msgspec.structs.replace(request, model=model))
            try:
                async for event in events:
                    if isinstance(event, StreamFailed) and self._may_go_on(event):
                        failed = event
                        break
                    yield event
            finally:
                # A generator is closed where it was begun, so that the wire is closed before the next one is asked.
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
            if failed is None:
                return
            self._at += 1
            yield Retry(1, 1, 0.0, failed.error, failed.message, failed.status, self.model)

    def _may_go_on(self, failed: StreamFailed) -> bool:
        if failed.partial or self._at + 1 >= len(self._choices):
            return False
        if self._at + 1 == self._named:
            return failed.error == "model_not_found"
        return failed.error in GOES_ON

    async def count_tokens(self, request: Request) -> int | None:
        provider, model = self._choices[self._at]()
        return await provider.count_tokens(msgspec.structs.replace(request, model=model))

    async def aclose(self) -> None:
        for provider in self._owned:
            await provider.aclose()
