"""`weft -p`: one prompt, one answer, an exit code that tells how it went."""

import math
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Literal

import anyio

from weft.connect.port import Connection, Finishing
from weft.schema.commands import Cancel, Prompt
from weft.schema.content import Json
from weft.schema.events import (
    GOOD_ENDS,
    AgentEvent,
    MessageDone,
    Notice,
    Retrying,
    TaskChanged,
    TurnEnded,
    TurnStarted,
)
from weft.schema.wire import encode

if TYPE_CHECKING:
    from weft.serve.stream_json.translate import Translator

OK, FAILED, REFUSED, INTERRUPTED = 0, 1, 3, 130
Format = Literal["text", "json", "stream-json"]
PATIENCE = 600.0
"""Seconds that background work may go on after an answer."""


class Printer:
    """Writes a connection's events in one of the three formats; those of JSON need a translator. `exit_code` is of the
    last turn."""

    def __init__(
        self,
        form: Format,
        *,
        translator: "Translator | None" = None,
        verbose: bool = False,
        write: Callable[[bytes], None],
        note: Callable[[str], None],
    ) -> None:
        self._form: Format = form
        self._translator = translator
        self._verbose = verbose
        self._write = write
        self.note = note
        self._all: list[Json] = []
        self._result: Json | None = None
        self.exit_code = FAILED

    def show(self, event: AgentEvent) -> None:
        if self._form == "text":
            self._show_text(event)
        elif self._translator is not None and self._form == "stream-json":
            for line in self._translator.lines(event):
                self._write(line + b"\n")
        elif self._translator is not None:
            for message in self._translator.feed(event):
                self._show_json(message)
        if isinstance(event, TurnEnded):
            self.exit_code = exit_code(event, refusals=self._form != "stream-json")

    def _show_json(self, message: Json) -> None:
        if message["type"] == "result":
            self._result = message
        if self._verbose:
            self._all.append(message)

    def _show_text(self, event: AgentEvent) -> None:
        match event:
            case TurnEnded():
                self._write(answer(event).encode() + b"\n")
            case Notice(text=text, level="warning" | "error"):
                self.note(text)
            case Retrying(message=message, delay=delay) if self._verbose:
                self.note(f"{message} Trying again in {delay:.1f} s.")
            case MessageDone(reply=reply, parent=None, error=None) if self._verbose and reply.tool_uses:
                for use in reply.tool_uses:
                    self.note(f"· {use.name} {encode(use.input).decode()[:200]}")
            case _:
                pass

    def close(self) -> None:
        """What can only be written at the end."""
        if self._form == "json" and self._result is not None:
            self._write(encode(self._all if self._verbose else self._result) + b"\n")


def answer(event: TurnEnded) -> str:
    """What a person who asked for text reads."""
    if event.reason == "max_turns":
        return f"Error: {event.error}".replace("maximum number of turns", "max turns")
    if event.error is not None and event.reason != "completed":
        return event.error if event.reason in ("error", "prompt_too_long", "tool_deferred") else f"Error: {event.error}"
    return event.text


def exit_code(event: TurnEnded, *, refusals: bool) -> int:
    if event.reason == "cancelled":
        return INTERRUPTED if refusals else OK
    if event.reason not in GOOD_ENDS:
        return FAILED
    return REFUSED if refusals and event.denials else OK


async def run(connection: Connection, prompt: Prompt, printer: Printer, *, patience: float = PATIENCE) -> int:
    """Plays one prompt to its end, and the turns that background work starts after it. What still runs in the
    background `patience` seconds after a turn is left to be ended with the session; a turn that ended badly waits for
    nothing."""
    await connection.send(prompt)
    if isinstance(connection, Finishing):
        await _all_turns(connection, connection.finish, printer, patience)
    else:
        await _one_turn(connection, printer)
    printer.close()
    return printer.exit_code


async def _all_turns(
    connection: Connection, finish: Callable[[], Coroutine[object, object, None]], printer: Printer, patience: float
) -> None:
    left: SystemExit | None = None
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(finish)
            try:
                async for event in connection.events():
                    printer.show(event)
                    if isinstance(event, TurnStarted):
                        scope.deadline = math.inf
                    elif isinstance(event, TurnEnded):
                        scope.deadline = anyio.current_time() + patience
                        if event.reason not in GOOD_ENDS:
                            group.cancel_scope.cancel()
            except SystemExit as gone:
                # The reader went away. Out of the group it would be a group of exceptions, which nobody expects.
                left = gone
                group.cancel_scope.cancel()
    if left is not None:
        raise left
    if scope.cancelled_caught:
        printer.note(f"Background work still ran {patience:.0f} s after the answer, and is ended.")


async def _one_turn(connection: Connection, printer: Printer) -> None:
    """Another agent, whose events do not end by themselves: it is done when a turn ends and no agent of its works."""
    running: set[str] = set()
    async for event in connection.events():
        printer.show(event)
        if isinstance(event, TaskChanged) and event.task.background and event.task.kind == "agent":
            if event.task.state == "running":
                running.add(event.task.id)
            else:
                running.discard(event.task.id)
        if isinstance(event, TurnEnded) and not running:
            return


def stdout_writer() -> Callable[[bytes], None]:
    """Whole lines, at once: what was confirmed is out. A reader that went away is not our failure."""
    raw = sys.stdout.buffer

    def write(data: bytes) -> None:
        try:
            raw.write(data)
            raw.flush()
        except BrokenPipeError:
            raise SystemExit(OK) from None

    return write


async def interrupt(connection: Connection) -> None:
    await connection.send(Cancel(drop_queue=True))
