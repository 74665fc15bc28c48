"""The port to a model."""

from collections.abc import AsyncIterator
from typing import Protocol

from weft.schema.messages import Request
from weft.schema.stream import StreamEvent


class Provider(Protocol):
    """A source of assistant messages.

    `stream` yields the events of one message in the order that `schema.stream` gives. Exactly one terminal event
    (`StreamDone` or `StreamFailed`) is last; nothing is raised instead of it, and nothing follows it. A failure of
    any kind is `StreamFailed`. Cancellation is the only exception that passes through, and it closes the wire.
    `count_tokens` is the provider's own count, or None where it has none.
    """

    name: str

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]: ...

    async def count_tokens(self, request: Request) -> int | None: ...

    async def aclose(self) -> None: ...
