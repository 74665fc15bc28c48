"""The stage after `to_chunks`: everything that needs memory of what was already said in a conversation.

`<think>` becomes thinking, Markdown becomes HTML piece by piece, a block that was streamed is not said again when
it comes whole, and tool calls get what a person sees of them. Deltas wait in `held` until `flush`, so that a page
is told thirty times a second, not once for each token.
"""

import html
import time
from collections.abc import Callable, Iterable

import msgspec

from weft.schema.events import AgentEvent
from weft.surfaces.diffs import can_choose
from weft.surfaces.markdown import MarkdownStream, render
from weft.surfaces.web.chunks import to_chunks
from weft.surfaces.web.stream import (
    MessageEnd,
    PlanApproval,
    RetryChunk,
    StreamChunk,
    TaskChunk,
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
    UserMessage,
    View,
)
from weft.surfaces.web.think import ThinkSplitter
from weft.surfaces.web.views import MOST_SHOWN, input_views, to_views, visible


class _Names:
    """Ids that are the page's own. Some agents count their messages and calls anew in each turn; here the second
    `call_1` of a conversation is `call_1~2`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._now: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._old: set[str] = set()

    def begin(self, id: str) -> str:
        """The name of something that may be new."""
        if id not in self._now or id in self._old:
            self._count[id] = number = self._count.get(id, 0) + 1
            self._now[id] = self._prefix + (id if number == 1 else f"{id}~{number}")
            self._old.discard(id)
        return self._now[id]

    def of(self, id: str) -> str:
        """The name of something that was begun."""
        return self._now.get(id, id)

    def turn(self) -> None:
        """From here on an id that begins again is another one."""
        self._old = set(self._now)


class _Block:
    """A text block of the model: its pieces of text and thinking become parts with ids of their own."""

    def __init__(self, id: str, parent: str | None) -> None:
        self.id = id
        self.parent = parent
        self.said = 0
        self.splitter = ThinkSplitter()
        self.part = 0
        self.kind: str | None = None
        self.stream = MarkdownStream()
        self.since = 0.0
        self.pending = ""
        self.at_once = False

    @property
    def part_id(self) -> str:
        return f"{self.id}.{self.part}"


class Weaver:
    """One conversation's. `weave` gives chunks that are ready for the page, in order. Names begin with `prefix`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, prefix: str = "") -> None:
        self._clock = clock
        self._open: dict[str, _Block] = {}
        self._done: set[str] = set()
        self._thinking: dict[str, float] = {}
        self._thought: dict[str, int] = {}
        self._held: ToolOutput | None = None
        self._blocks = _Names(prefix)
        self._tools = _Names(prefix)

    @property
    def held(self) -> bool:
        """Whether something waits for `flush`."""
        return self._held is not None or any(block.pending for block in self._open.values())

    def weave(self, event: AgentEvent) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        for chunk in to_chunks(event):
            out += self._one(self._renamed(chunk))
        return out

    def _renamed(self, chunk: StreamChunk) -> StreamChunk:
        replace = msgspec.structs.replace
        parent = chunk.parent and self._tools.of(chunk.parent)
        match chunk:
            case ToolStart(id=id):
                return replace(chunk, id=self._tools.begin(id), parent=parent)
            case ToolOutput(id=id) | ToolEnd(id=id):
                return replace(chunk, id=self._tools.of(id), parent=parent)
            case ToolConfirmation(tool_id=id):
                return replace(chunk, tool_id=self._tools.of(id), parent=parent)
            case TaskChunk(task=task):
                return replace(chunk, task=replace(task, tool_use_id=self._tools.of(task.tool_use_id)))
            case TextChunk(id=id) | ThinkingStart(id=id) | ThinkingContent(id=id) | ThinkingEnd(id=id):
                return replace(chunk, id=self._blocks.begin(id), parent=parent)
            case TurnStart() | UserMessage(parent=None):
                self._blocks.turn()
                self._tools.turn()
                return chunk
            case _:
                return replace(chunk, parent=parent) if parent else chunk

    def flush(self) -> list[StreamChunk]:
        """What was held back, now."""
        out: list[StreamChunk] = []
        for block in self._open.values():
            out += self._say(block)
        if self._held is not None:
            out.append(self._held)
            self._held = None
        return out

    def _one(self, chunk: StreamChunk) -> Iterable[StreamChunk]:
        match chunk:
            case TextChunk(whole=False):
                return self._more(chunk)
            case ToolOutput():
                return self._output(chunk)
            case TextChunk():
                return [*self._flush_output(), *self._whole(chunk)]
            case ThinkingStart() | ThinkingContent() | ThinkingEnd():
                return [*self.flush(), *self._think(chunk)]
            case MessageEnd():
                return [*self.flush(), *self._close_all(), chunk]
            case TurnEnd():
                return [*self.flush(), *self._close_all(), chunk]
            case TurnStart():
                self._done.clear()
                self._thought.clear()
                return [*self.flush(), chunk]
            case RetryChunk():
                gone = [f"{block.id}.{n}" for block in self._open.values() for n in range(block.part + 1)]
                gone += self._thinking
                self._open.clear()
                self._thinking.clear()
                return [msgspec.structs.replace(chunk, discard=tuple(gone))]
            case _:
                return [*self.flush(), dress(chunk)]

    def _more(self, chunk: TextChunk) -> list[StreamChunk]:
        if chunk.id in self._done:
            return []
        block = self._open.get(chunk.id)
        if block is None:
            block = self._open[chunk.id] = _Block(chunk.id, chunk.parent)
        block.pending += chunk.text
        block.said += len(chunk.text)
        return []

    def _whole(self, chunk: TextChunk) -> list[StreamChunk]:
        if chunk.id in self._done:
            return []
        block = self._open.pop(chunk.id, None) or _Block(chunk.id, chunk.parent)
        block.at_once = not block.said
        block.pending += chunk.text[block.said :]
        self._done.add(chunk.id)
        return [*self._say(block), *self._close(block)]

    def _close_all(self) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        for id, block in list(self._open.items()):
            self._done.add(id)
            out += self._close(block)
        self._open.clear()
        for id, since in self._thinking.items():
            out.append(ThinkingEnd(id=id, seconds=self._clock() - since))
        self._thinking.clear()
        return out

    def _say(self, block: _Block) -> list[StreamChunk]:
        pending, block.pending = block.pending, ""
        return self._pieces(block, block.splitter.feed(pending)) if pending else []

    def _pieces(self, block: _Block, pieces: Iterable[tuple[str, str]]) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        for kind, text in pieces:
            if block.kind is not None and block.kind != kind:
                out += self._end_part(block)
            if block.kind is None:
                text = text.lstrip("\n") if block.part else text
                if not text.strip() and kind == "text":
                    continue
                block.kind = kind
                block.since = self._clock()
                if kind == "thinking":
                    out.append(ThinkingStart(id=block.part_id, parent=block.parent))
            if kind == "thinking":
                out.append(ThinkingContent(id=block.part_id, text=text, parent=block.parent))
                continue
            if block.at_once:
                block.stream.hold(text)
                continue
            html, tail = block.stream.feed(text)
            rest = text if tail is None else ""
            out.append(TextChunk(id=block.part_id, text=rest, html=tuple(html), tail=tail, parent=block.parent))
        return out

    def _end_part(self, block: _Block) -> list[StreamChunk]:
        kind, id = block.kind, block.part_id
        block.kind = None
        block.part += 1
        if kind == "thinking":
            return [ThinkingEnd(id=id, seconds=self._clock() - block.since, parent=block.parent)]
        html = tuple(block.stream.end())
        block.stream = MarkdownStream()
        return [TextChunk(id=id, html=html, tail="", done=True, parent=block.parent)]

    def _close(self, block: _Block) -> list[StreamChunk]:
        out = self._say(block)
        out += self._pieces(block, block.splitter.end())
        return [*out, *self._end_part(block)] if block.kind is not None else out

    def _think(self, chunk: ThinkingStart | ThinkingContent | ThinkingEnd) -> list[StreamChunk]:
        if chunk.id in self._done:
            return []
        match chunk:
            case ThinkingStart(id=id):
                if id in self._thinking:
                    return []
                self._thinking[id] = self._clock()
                return [chunk]
            case ThinkingContent(id=id, text=text, whole=whole, parent=parent):
                if whole:
                    text = text[self._thought.get(id, 0) :]
                if not text:
                    return []
                start = self._think(ThinkingStart(id=id, parent=parent))
                self._thought[id] = self._thought.get(id, 0) + len(text)
                return [*start, ThinkingContent(id=id, text=text, parent=parent)]
            case ThinkingEnd(id=id):
                self._done.add(id)
                since = self._thinking.pop(id, None)
                if since is None:
                    return []
                return [msgspec.structs.replace(chunk, seconds=self._clock() - since)]

    def _output(self, chunk: ToolOutput) -> list[StreamChunk]:
        held = self._held
        if held is not None and held.id == chunk.id and len(held.text) < MOST_SHOWN:
            chunk = msgspec.structs.replace(
                chunk,
                text=held.text + chunk.text,
                message=chunk.message or held.message,
                fraction=held.fraction if chunk.fraction is None else chunk.fraction,
            )
            self._held = chunk
            return []
        out = self._flush_output()
        self._held = chunk
        return out

    def _flush_output(self) -> list[StreamChunk]:
        held, self._held = self._held, None
        return [held] if held is not None else []


def dress(chunk: StreamChunk) -> StreamChunk:
    """Adds what a person sees to a chunk that has only data. Pure."""
    replace = msgspec.structs.replace
    match chunk:
        case UserMessage(text=text):
            return replace(chunk, html=render(text[:MOST_SHOWN]))
        case ToolStart(name=name, input=input):
            return replace(chunk, name=visible(name), title=visible(chunk.title), views=input_views(name, input))
        case ToolEnd(display=display, text=text):
            views = to_views(display) or ((View("code", html=html.escape(text[:MOST_SHOWN])),) if text else ())
            # An app's page waits for the text of the calls that it made.
            kept = text[:MOST_SHOWN] if chunk.id.startswith("app_") else ""
            return replace(chunk, views=views, display=(), text=kept)
        case ToolConfirmation(name=name, input=input, preview=preview):
            views = to_views(preview) or input_views(name, input)
            return replace(
                chunk,
                name=visible(name),
                title=visible(chunk.title),
                reason=visible(chunk.reason),
                views=views,
                hunks=can_choose(name, input, preview),
                preview=(),
            )
        case PlanApproval(plan=plan):
            return replace(chunk, html=render(plan[:MOST_SHOWN]))
        case _:
            return chunk
