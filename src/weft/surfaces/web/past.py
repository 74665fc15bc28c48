"""What was said before this host looked: events, made ready for a page a part at a time, from the end.

Rendering two thousand messages takes longer than a person waits for a click; a page shows the last few at first.
"""

from collections.abc import Iterable
from typing import Final

from weft.schema.events import AgentEvent, MessageDone, PromptAdded, ToolEnded
from weft.surfaces.web.stream import StreamChunk
from weft.surfaces.web.weave import Weaver

PART: Final = 60
"""Messages and tool calls of the first part; more, up to the beginning of that turn."""
MOST: Final = 240
"""Of any later one. Each part has twice as many as the one before: who goes far back goes there faster."""
MARK: Final = "past:"
"""With the first item that a page has: the key by which it asks for what is before all of it."""


class Past:
    """Falsy when nothing is left."""

    def __init__(self, events: Iterable[AgentEvent] = ()) -> None:
        self._events = list(events)
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._events)

    def take(self) -> list[StreamChunk]:
        """The last part that was not taken yet, in order."""
        at, seen = len(self._events), 0
        wanted = min(MOST, PART << self._number)
        while at > 0 and (seen < wanted or not _begins(self._events[at])):
            at -= 1
            seen += isinstance(self._events[at], PromptAdded | MessageDone | ToolEnded)
        part, self._events = self._events[at:], self._events[:at]
        self._number += 1
        weaver = Weaver(prefix=f"{self._number}/")
        chunks = [chunk for event in part for chunk in weaver.weave(event)]
        return [*chunks, *weaver.flush()]


def _begins(event: AgentEvent) -> bool:
    return isinstance(event, PromptAdded) and event.parent is None and not event.synthetic
