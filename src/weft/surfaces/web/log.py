"""What was said in a conversation, twice: the latest chunks as they were sent, and all of it in short.

A page that lost its socket gets the chunks after the last one it saw. A page that is new, or was away too long, gets
the short form: the same chunks with the pieces of each block, thought and tool call put together. Applied to an
empty page it looks the same.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from weft.surfaces.web.stream import (
    Ask,
    AskClosed,
    InputRequest,
    Plan,
    PlanApproval,
    Queue,
    RetryChunk,
    Session,
    StreamChunk,
    TextChunk,
    ThinkingContent,
    ThinkingEnd,
    ThinkingStart,
    ToolConfirmation,
    ToolEnd,
    ToolOutput,
    ToolStart,
    TurnEnd,
    TurnStart,
    UsageChunk,
    UserMessage,
    UserQuestion,
)

RECENT: Final = 4096
RECENT_CHARS: Final = 8_000_000
OUTPUT: Final = 200_000
"""Characters of a running tool's output that are kept: the last ones."""
PAGE: Final = 60
"""Items that a page is given at once; more, up to the beginning of that turn."""


class ChunkLog:
    """`add` numbers a chunk from 1. `seq` is the last number given."""

    def __init__(self) -> None:
        self.seq = 0
        self.asks: dict[str, Ask] = {}
        self._recent: deque[tuple[int, str]] = deque()
        self._chars = 0
        self._items: dict[str, list[StreamChunk]] = {}
        self._state: dict[str, StreamChunk] = {}
        self._number = 0

    def add(self, chunk: StreamChunk) -> int:
        self.seq += 1
        self._fold(chunk)
        return self.seq

    def keep(self, seq: int, encoded: str) -> None:
        """Remembers a chunk as it was sent, for pages that come back."""
        self._recent.append((seq, encoded))
        self._chars += len(encoded)
        while len(self._recent) > RECENT or self._chars > RECENT_CHARS:
            self._chars -= len(self._recent.popleft()[1])

    def since(self, seq: int) -> list[str] | None:
        """What was sent after `seq`; None when that is no longer known."""
        if seq == self.seq:
            return []
        if not self._recent or not self._recent[0][0] <= seq + 1 <= self.seq:
            return None
        return [encoded for number, encoded in self._recent if number > seq]

    def tail(self) -> tuple[tuple[StreamChunk, ...], str | None]:
        """State and the last items, from the beginning of a turn on; and the key of what is before them."""
        chunks, older = self._page(len(self._items))
        return (*self._state.values(), *chunks), older

    @property
    def first(self) -> str:
        """The key of the first item; empty when there is none."""
        return next(iter(self._items), "")

    def before(self, key: str, *, itself: bool = True) -> tuple[tuple[StreamChunk, ...], str | None]:
        """A page that ends with the item `key`, or right before it."""
        keys = list(self._items)
        return self._page(keys.index(key) + itself) if key in self._items else ((), None)

    def prepend(self, chunks: Iterable[StreamChunk]) -> tuple[StreamChunk, ...]:
        """Puts what was said before all else in its place, in short; gives it back that way."""
        earlier = ChunkLog()
        for chunk in chunks:
            earlier.add(chunk)
        items = {
            f"{self._number}-{key}" if key.startswith("at:") else key: item for key, item in earlier._items.items()
        }
        self._number += 1
        self._items = {**items, **self._items}
        return tuple(chunk for item in items.values() for chunk in item)

    def clear(self) -> None:
        self._items.clear()
        self.asks.clear()
        self._recent.clear()
        self._chars = 0

    def cut(self, message_id: str) -> None:
        """Forgets the user message and all that came after it."""
        keys = list(self._items)
        key = f"user:{message_id}"
        if key in self._items:
            for gone in keys[keys.index(key) :]:
                del self._items[gone]

    def user_text(self, message_id: str) -> str:
        items = self._items.get(f"user:{message_id}", [])
        return next((chunk.text for chunk in items if isinstance(chunk, UserMessage)), "")

    def _page(self, end: int) -> tuple[tuple[StreamChunk, ...], str | None]:
        keys = list(self._items)
        start = max(0, end - PAGE)
        while start > 0 and not (keys[start].startswith("user:") and self._items[keys[start]][0].parent is None):
            start -= 1
        chunks = tuple(chunk for key in keys[start:end] for chunk in self._items[key])
        return chunks, keys[start - 1] if start > 0 else None

    def _fold(self, chunk: StreamChunk) -> None:
        match chunk:
            case Session() | UsageChunk() | Queue():
                self._state[type(chunk).__name__] = chunk
            case Plan(parent=parent):
                self._items.pop(f"plan:{parent}", None)
                self._items[f"plan:{parent}"] = [chunk]
            case TextChunk(id=id):
                self._put_text(f"text:{id}", chunk)
            case ThinkingStart(id=id) | ThinkingContent(id=id) | ThinkingEnd(id=id):
                self._put_thinking(f"thinking:{id}", chunk)
            case ToolStart(id=id) | ToolOutput(id=id) | ToolEnd(id=id):
                self._put_tool(f"tool:{id}", chunk)
            case UserMessage(id=id):
                self._items[f"user:{id}"] = [chunk]
            case ToolConfirmation(request_id=id) | UserQuestion(request_id=id) | PlanApproval(request_id=id):
                self._items[f"ask:{id}"] = [chunk]
                self.asks[id] = chunk
            case InputRequest(request_id=id):
                self._items[f"ask:{id}"] = [chunk]
                self.asks[id] = chunk
            case AskClosed(request_id=id):
                self._close_ask(id, chunk)
            case RetryChunk(discard=discard):
                for id in discard:
                    self._items.pop(f"text:{id}", None)
                    self._items.pop(f"thinking:{id}", None)
            case TurnStart():
                self._state["turn"] = chunk
            case TurnEnd():
                self._state.pop("turn", None)
                self._append(chunk)
            case _:
                self._append(chunk)

    def _append(self, chunk: StreamChunk) -> None:
        self._number += 1
        self._items[f"at:{self._number}"] = [chunk]

    def _put_text(self, key: str, chunk: TextChunk) -> None:
        item = self._items.get(key)
        if item is None:
            self._items[key] = [chunk]
            return
        item.append(chunk)
        if chunk.done or len(item) > 64:
            self._items[key] = [merge_text(item)]

    def _put_thinking(self, key: str, chunk: StreamChunk) -> None:
        item = self._items.setdefault(key, [])
        item.append(chunk)
        if isinstance(chunk, ThinkingEnd) or len(item) > 64:
            contents = [c for c in item if isinstance(c, ThinkingContent)]
            whole = "".join(c.text for c in contents)
            middle = [msgspec.structs.replace(contents[0], text=whole)] if contents else []
            start = [c for c in item if isinstance(c, ThinkingStart)]
            self._items[key] = [*start, *middle, *(c for c in item if isinstance(c, ThinkingEnd))]

    def _put_tool(self, key: str, chunk: ToolStart | ToolOutput | ToolEnd) -> None:
        item = self._items.setdefault(key, [])
        if isinstance(chunk, ToolStart):
            self._items[key] = [chunk, *(c for c in item if not isinstance(c, ToolStart))]
        elif isinstance(chunk, ToolEnd):
            self._items[key] = [*(c for c in item if isinstance(c, ToolStart)), chunk]
        else:
            item.append(chunk)
            outputs = [c for c in item if isinstance(c, ToolOutput)]
            if len(outputs) > 64:
                text = "".join(c.text for c in outputs)[-OUTPUT:]
                merged = msgspec.structs.replace(chunk, text=text)
                self._items[key] = [*(c for c in item if isinstance(c, ToolStart)), merged]

    def _close_ask(self, id: str, chunk: AskClosed) -> None:
        ask = self.asks.pop(id, None)
        if isinstance(ask, UserQuestion | PlanApproval):
            self._items.setdefault(f"ask:{id}", []).append(chunk)
        else:
            self._items.pop(f"ask:{id}", None)


def merge_text(pieces: list[StreamChunk]) -> TextChunk:
    """Several chunks of one block as one."""
    chunks = [piece for piece in pieces if isinstance(piece, TextChunk)]
    html = tuple(part for chunk in chunks for part in chunk.html)
    tail: str | None = None
    text = ""
    for chunk in chunks:
        if chunk.tail is not None:
            tail, text = chunk.tail, ""
        text += chunk.text
    joined = ("".join(html),) if html else ()
    return msgspec.structs.replace(chunks[-1], html=joined, tail=tail, text=text)
