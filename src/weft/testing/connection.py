"""`ScriptedConnection`: a real `Connection` whose agent is a script, for tests of whatever sits on top of one.

A script is a list of turns, one for each prompt, the last one played again when they run out. A turn is a sequence
of events (an asking event waits for its answer before the next one is played), or an async function that is given a
`Stage` and the prompt, and may decide what to say from what it is told.

    connection = ScriptedConnection([[*said("Hello")], ask_first])
    async with connection:
        await connection.send(Prompt("hi"))
        async for event in connection.events(): ...

`TurnStarted`, `PromptAdded`, `TurnEnded`, the queue, cancelling and changes of mode, model, thinking and title are
done here, as an agent does them. `connection.commands` has every command that was sent, in order.
"""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Self, TypeAlias

import anyio
import msgspec

from weft.errors import ConnectionLost
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Content, Text, Thinking, ToolResult, ToolUse, text_of
from weft.schema.display import Display
from weft.schema.messages import Reply, Usage
from weft.schema.stream import BlockDelta, BlockStart, BlockStop, MessageStart, TextDelta, ThinkingDelta
from weft.schema.wire import as_blocks

TurnScript: TypeAlias = "Callable[[Stage, c.Prompt], Awaitable[None]]"
Turn: TypeAlias = "Iterable[e.AgentEvent] | TurnScript"
Ask: TypeAlias = e.PermissionAsked | e.QuestionAsked | e.PlanProposed | e.InputRequested

_ids = itertools.count(1)


def said(text: str, *, chunk: int = 12, thinking: str = "", parent: str | None = None) -> list[e.AgentEvent]:
    """A whole assistant message, streamed in pieces of `chunk` characters."""
    message_id = f"msg_{next(_ids)}"
    out: list[e.AgentEvent] = [
        e.Streamed(message_id=message_id, delta=MessageStart(message_id, "scripted"), parent=parent)
    ]
    blocks: list[Text | Thinking] = []
    if thinking:
        blocks.append(Thinking(thinking))
    if text:
        blocks.append(Text(text))
    for index, block in enumerate(blocks):
        empty = Text("") if isinstance(block, Text) else Thinking("")
        whole = block.text if isinstance(block, Text) else block.thinking
        out.append(e.Streamed(message_id=message_id, delta=BlockStart(index, empty), parent=parent))
        for at in range(0, len(whole), chunk):
            piece = whole[at : at + chunk]
            delta = TextDelta(piece) if isinstance(block, Text) else ThinkingDelta(piece)
            out.append(e.Streamed(message_id=message_id, delta=BlockDelta(index, delta), parent=parent))
        out.append(e.BlockDone(message_id=message_id, index=index, block=block, parent=parent))
        out.append(e.Streamed(message_id=message_id, delta=BlockStop(index), parent=parent))
    reply = Reply(message_id, "scripted", tuple(blocks), "end_turn", usage=Usage(10, len(text) // 4))
    out.append(e.MessageDone(reply=reply, parent=parent))
    return out


def called(
    name: str,
    input: dict[str, object],
    *,
    id: str = "",
    title: str = "",
    kind: e.ToolKind = "other",
    output: str = "",
    result: str = "",
    display: tuple[Display, ...] = (),
    outcome: str = "ok",
    parent: str | None = None,
) -> list[e.AgentEvent]:
    """A whole tool call: pending, running, some output, ended."""
    use = ToolUse(id or f"toolu_{next(_ids)}", name, input)
    out: list[e.AgentEvent] = [
        e.ToolCalled(use=use, title=title or name, kind=kind, parent=parent),
        e.ToolCalled(use=use, title=title or name, kind=kind, state="running", parent=parent),
    ]
    out += [e.ToolProgressed(tool_use_id=use.id, output=line, parent=parent) for line in output.splitlines(True)]
    out.append(
        e.ToolEnded(
            tool_use_id=use.id,
            name=name,
            result=ToolResult(use.id, result or output, outcome != "ok"),
            outcome="ok" if outcome == "ok" else "error",
            display=display,
            duration=0.2,
            parent=parent,
        )
    )
    return out


class Stage:
    """What a turn's script acts on. `emit` waits when the reader is slow."""

    def __init__(self, connection: "ScriptedConnection") -> None:
        self._connection = connection

    async def emit(self, *events: e.AgentEvent) -> None:
        for event in events:
            await self._connection.emit(event)

    async def say(self, text: str, *, chunk: int = 12, thinking: str = "") -> None:
        await self.emit(*said(text, chunk=chunk, thinking=thinking))

    async def ask(self, event: Ask) -> c.Answer:
        """Emits the question and waits for the answer to it."""
        return await self._connection.ask(event)


class ScriptedConnection:
    """See the module. Deltas are never merged: the channel holds `capacity` events, then the script waits."""

    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        info: e.SessionInfo | None = None,
        history: Iterable[e.AgentEvent] = (),
        resumed: bool = False,
        capacity: int = 1024,
    ) -> None:
        self.commands: list[c.Command] = []
        self.completes: Callable[[str], tuple[int, tuple[e.Completion, ...]]] = lambda _text: (0, ())
        """Answers `Complete`."""
        self._turns = list(turns)
        self._info = info or e.SessionInfo(session_id=f"session-{next(_ids)}", cwd="/", model="scripted")
        self._history = list(history)
        self._resumed = resumed
        self._queue: list[c.Prompt] = []
        self._asks: dict[str, tuple[anyio.Event, list[c.Answer]]] = {}
        self._turn_scope: anyio.CancelScope | None = None
        self._number = 0
        self._closed = False
        self._capacity = capacity
        self._wake = anyio.Event()

    @property
    def info(self) -> e.SessionInfo:
        return self._info

    async def __aenter__(self) -> Self:
        self._send, self._receive = anyio.create_memory_object_stream[e.AgentEvent](self._capacity)
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._closed = True
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, trace)
        finally:
            self._send.close()
            self._receive.close()

    async def events(self) -> AsyncIterator[e.AgentEvent]:
        async for event in self._receive:
            yield event

    async def die(self) -> None:
        """The agent goes away in the middle of whatever it does: the turn is closed, then the events end."""
        self._closed = True
        if self._turn_scope is not None:
            self._turn_scope.cancel()
        self._wake.set()

    async def send(self, command: c.Command) -> None:
        if self._closed:
            raise ConnectionLost("the scripted agent is gone")
        self.commands.append(command)
        match command:
            case c.Prompt():
                self._queue.append(command if command.id else msgspec.structs.replace(command, id=f"p{next(_ids)}"))
                if self._turn_scope is not None:
                    await self._queue_changed()
                self._wake.set()
            case c.DropPrompt(id=id, replace=text):
                self._queue = [
                    msgspec.structs.replace(p, content=text) if p.id == id and text is not None else p
                    for p in self._queue
                    if p.id != id or text is not None
                ]
                await self._queue_changed()
            case c.Cancel(drop_queue=drop):
                if drop:
                    self._queue.clear()
                    await self._queue_changed()
                if self._turn_scope is not None:
                    self._turn_scope.cancel()
            case c.PermissionAnswered() | c.QuestionAnswered() | c.PlanAnswered() | c.InputGiven():
                if waiting := self._asks.pop(command.request_id, None):
                    waiting[1].append(command)
                    waiting[0].set()
            case c.SetMode(mode=mode):
                await self._change("mode", mode=mode)
            case c.SetModel(model=model):
                await self._change("model", model=model or "scripted")
            case c.SetThinking(thinking=thinking):
                await self._change("thinking", thinking=thinking)
            case c.SetTitle(title=title):
                await self._change("title", title=title)
            case c.Compact():
                await self.emit(e.Compacted(state="started", trigger="manual"))
                await self.emit(e.Compacted(state="done", trigger="manual", before=1000, after=100))
            case c.Rewind():
                await self.emit(e.Notice(text="The conversation is back where it was.", tag="rewind"))
            case c.Complete(id=id, text=text):
                start, items = self.completes(text)
                await self.emit(e.Reported(report=e.Completed(id=id, start=start, items=items)))
            case c.StopTask() | c.ServerCommand() | c.AppCall():
                pass

    async def emit(self, event: e.AgentEvent) -> None:
        """Plays an event that no turn's script has, such as a `Notice` at any time."""
        await self._send.send(event)

    async def ask(self, event: Ask) -> c.Answer:
        box: list[c.Answer] = []
        answered = anyio.Event()
        self._asks[event.request_id] = (answered, box)
        await self.emit(event)
        try:
            await answered.wait()
        finally:
            if self._asks.pop(event.request_id, None) is not None:
                with anyio.move_on_after(1, shield=True):
                    await self.emit(e.AskWithdrawn(request_id=event.request_id))
        return box[0]

    async def _change(self, reason: str, **fields: object) -> None:
        self._info = msgspec.structs.replace(self._info, **fields)
        await self.emit(e.SessionChanged(info=self._info, reason=reason))

    async def _queue_changed(self) -> None:
        waiting = tuple(e.QueuedPrompt(p.id, text_of(p.content)) for p in self._queue)
        await self.emit(e.QueueChanged(prompts=waiting))

    async def _run(self) -> None:
        await self.emit(e.SessionStarted(info=self._info, resumed=self._resumed))
        for event in self._history:
            await self.emit(event)
        while not self._closed:
            if not self._queue:
                await self._wake.wait()
                self._wake = anyio.Event()
                continue
            prompt = self._queue.pop(0)
            await self._queue_changed()
            await self._play(prompt)
        self._send.close()

    async def _play(self, prompt: c.Prompt) -> None:
        turn_id = f"turn_{next(_ids)}"
        content: Content = as_blocks(prompt.content)
        await self.emit(e.TurnStarted(turn_id=turn_id, prompt_ids=(prompt.id,), origin=prompt.origin))
        await self.emit(e.PromptAdded(id=prompt.id, content=content, synthetic=prompt.synthetic))
        turn: Turn = self._turns[min(self._number, len(self._turns) - 1)] if self._turns else ()
        self._number += 1
        with anyio.CancelScope() as self._turn_scope:
            await self._act(turn, prompt)
        cancelled = self._turn_scope.cancelled_caught
        self._turn_scope = None
        await self.emit(e.TurnEnded(turn_id=turn_id, reason="cancelled" if cancelled else "completed", steps=1))

    async def _act(self, turn: Turn, prompt: c.Prompt) -> None:
        if callable(turn):
            await turn(Stage(self), prompt)
            return
        for event in turn:
            if isinstance(event, e.PermissionAsked | e.QuestionAsked | e.PlanProposed | e.InputRequested):
                await self.ask(event)
            else:
                await self.emit(event)
