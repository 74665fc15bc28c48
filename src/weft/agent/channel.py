"""The way out of a session: events in order, for one reader.

When more than `limit` events wait, a text or thinking delta merges into the delta before it. Nothing else is ever
merged or dropped: results, questions and ends are delivered.
"""

from collections import deque
from collections.abc import AsyncIterator

import anyio

from weft.schema.events import AgentEvent, Streamed
from weft.schema.stream import BlockDelta, InputDelta, TextDelta, ThinkingDelta

_BURST = 512


def merged(first: AgentEvent, second: AgentEvent) -> Streamed | None:
    """Two deltas of one block as one, or None when they are not that."""
    if not (isinstance(first, Streamed) and isinstance(second, Streamed)):
        return None
    if first.message_id != second.message_id or first.parent != second.parent:
        return None
    one, two = first.delta, second.delta
    if not (isinstance(one, BlockDelta) and isinstance(two, BlockDelta) and one.index == two.index):
        return None
    match one.delta, two.delta:
        case TextDelta(text=a), TextDelta(text=b):
            delta = TextDelta(a + b)
        case ThinkingDelta(thinking=a), ThinkingDelta(thinking=b):
            delta = ThinkingDelta(a + b)
        case InputDelta(partial_json=a), InputDelta(partial_json=b):
            delta = InputDelta(a + b)
        case _:
            return None
    return Streamed(message_id=first.message_id, delta=BlockDelta(one.index, delta), parent=first.parent)


class Channel:
    """`put` never waits; iteration ends after `close`, when everything that was put has been read."""

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        self._waiting: deque[AgentEvent] = deque()
        self._closed = False
        self._news = anyio.Event()

    def put(self, event: AgentEvent) -> None:
        if self._closed:
            return
        if self._waiting and len(self._waiting) >= self._limit:
            one = merged(self._waiting[-1], event)
            if one is not None:
                self._waiting[-1] = one
                return
        self._waiting.append(event)
        self._news.set()

    def close(self) -> None:
        self._closed = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._closed:
                return
            self._news = anyio.Event()
            await self._news.wait()

    async def bursts(self) -> AsyncIterator[list[AgentEvent]]:
        """The same events, as many at once as wait, for a reader whose every write costs a system call. Waits for the
        first of them only."""
        waiting = self._waiting
        while True:
            while waiting:
                yield [waiting.popleft() for _ in range(min(len(waiting), _BURST))]
            if self._closed:
                return
            self._news = anyio.Event()
            await self._news.wait()
