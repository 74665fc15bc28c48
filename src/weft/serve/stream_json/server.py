"""The two-way stream: prompts and control requests in, messages and control requests out.

The session is opened by the first line that needs it, because `initialize` may still say what it is to be. Every
control request is handled in a task of its own: an answer of the host may be needed to give one.
"""

import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import TaskGroup, TaskStatus

from weft.agent.history import new_id
from weft.agent.session import Session
from weft.errors import TransportError, UsageError, WeftError
from weft.protocols.stream_json import (
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Other,
    UserLine,
    control_cancel,
    control_error,
    control_request,
    control_success,
    decode_line,
    is_json,
)
from weft.schema.commands import Cancel, Command, Prompt
from weft.schema.content import Json, ToolUse
from weft.schema.events import (
    GOOD_ENDS,
    AgentEvent,
    AskWithdrawn,
    InputRequested,
    PermissionAsked,
    PlanProposed,
    QuestionAsked,
    Streamed,
    ToolCalled,
    TurnEnded,
)
from weft.schema.records import Record
from weft.schema.wire import decode_object, encode
from weft.serve.stream_json import asking
from weft.serve.stream_json.translate import Translator
from weft.sessions.codec import encode_record
from weft.transports.awaited import Awaited
from weft.transports.messages import LineStream

logger = logging.getLogger(__name__)

CLOSED = "stream closed before response received"
DROPPING = ("interrupt", "cancel_async_message")
"""Requests that may take prompts out of the queue."""


class Opener(Protocol):
    """Opens the session, with what `initialize` said (empty without one) and a way to ask the host."""

    async def __call__(self, initialize: Json, ask: asking.Ask) -> Session: ...


class Answers(Protocol):
    """Answers a control request of the host.

    Raises:
        UsageError: with a sentence for the host; `code` may be in its `hint`.
    """

    async def __call__(self, session: Session, request: ControlRequest) -> Json | None: ...


class StreamServer:
    """One conversation with one host, until its input ends and the work is done."""

    def __init__(
        self,
        stream: LineStream,
        translator: Translator,
        opener: Opener,
        answers: Answers,
        *,
        quick: frozenset[str] = frozenset(),
        relay: bool = True,
        echo: bool = False,
    ) -> None:
        """`quick` requests are answered before the next line is read. With `relay` the host is asked what the person
        would be; with `echo` its answers are repeated to it, as its prompts are."""
        self._stream = stream
        self._translator = translator
        self._opener = opener
        self._answers = answers
        self._quick = quick
        self._relays = relay
        self._echo = echo
        self._asking = 0
        self._session: Session | None = None
        self._opening = anyio.Lock()
        self._pending: dict[str, Awaited[ControlResponse]] = {}
        self._uses: dict[str, ToolUse] = {}
        self._input_closed = False
        self._written = anyio.Event()
        self._failed = False
        self._mirrored: dict[str, list[Json]] = {}
        self._count = 0
        self.exit_code = 0

    async def run(self) -> int:
        """
        Raises:
            RemoteProtocolError: a line that cannot be understood; callers leave with 1.
        """
        async with anyio.create_task_group() as group:
            self._group = group
            await self._read()
            self._close_input()
            if self._session is not None and not self._failed:
                await self._finish(self._session)
            group.cancel_scope.cancel()
        return self.exit_code

    async def _read(self) -> None:
        while (line := await self._stream.receive()) is not None:
            found = decode_line(line)
            match found:
                case UserLine():
                    await self._prompt(found)
                case ControlRequest():
                    if found.subtype == "end_session":
                        await self.write(control_success(found.id, {}))
                        return
                    if self._session is not None and found.subtype in self._quick:
                        await self._control(found)
                    else:
                        self._group.start_soon(self._control, found)
                case ControlResponse(id=request_id):
                    if self._echo:
                        await self._stream.send(line)
                    if (pending := self._pending.get(request_id)) is not None:
                        pending.set(found)
                case ControlCancel() | Other():
                    continue
            if self._failed:
                return

    async def interrupt(self) -> None:
        """A signal: ends the running turn, as the host's own request would."""
        if self._session is not None:
            await self._session.send(Cancel(drop_queue=True))

    async def _finish(self, session: Session) -> None:
        """Queued turns still run, background work is waited for, and everything is written before the end."""
        await session.finish()
        await self._written.wait()

    def _close_input(self) -> None:
        self._input_closed = True
        for pending in list(self._pending.values()):
            pending.set(ControlResponse("", error=CLOSED))

    # --- the session ------------------------------------------------------------------------------------------

    async def session(self, initialize: Json | None = None) -> Session:
        if self._session is not None:
            return self._session
        async with self._opening:
            session = self._session
            if session is None:
                self._translator.forward_subagent_text((initialize or {}).get("forwardSubagentText") is True)
                session = await self._opener(initialize or {}, self.ask)
                await self._group.start(self._own, session)
                self._session = session
            return session

    async def _own(self, session: Session, *, task_status: TaskStatus[None]) -> None:
        """The one task that enters the session, reads its events and leaves it."""
        async with session:
            task_status.started()
            await self._pump(session)

    async def _prompt(self, line: UserLine) -> None:
        try:
            session = await self.session()
        except WeftError as error:
            await self._could_not_open(error)
            return
        prompt_id = line.uuid or new_id()
        queued = self._translator.prompts.accept(
            prompt_id, named=bool(line.uuid), origin=line.origin, content=_written(line), busy=session.busy
        )
        await self._tell(queued)
        origin = str((line.origin or {}).get("kind") or "human")
        await session.send(
            Prompt(line.content, id=prompt_id, verbatim=line.verbatim, synthetic=line.synthetic, origin=origin)
        )

    async def _tell(self, messages: list[Json]) -> None:
        await self._stream.send_all([encode(message) for message in messages])

    async def _could_not_open(self, error: WeftError) -> None:
        """The host is told as it is told of any failure: a result, and an exit code."""
        sys.stderr.write(f"{error}\n")
        self._failed, self.exit_code = True, 1
        ended = TurnEnded(turn_id="", reason="cancelled", error=str(error))
        for message in self._translator.feed(ended):
            await self.write(message)

    async def _pump(self, session: Session) -> None:
        async for events in session.bursts():
            lines: list[bytes] = []
            for event in events:
                if isinstance(event, TurnEnded):
                    lines += self._take_mirrored()
                lines += self._translator.lines(event)
            await self._stream.send_all(lines)
            # What an event sets off comes after its line, never before.
            for event in events:
                if not isinstance(event, Streamed):
                    self._follow(event, session, self._group)
        await self._stream.send_all(self._take_mirrored())
        self._written.set()

    def mirror(self, path: Path, record: Record) -> None:
        """A line of the transcript, for a host that keeps its own copy."""
        line = decode_object(encode_record(record))
        if not str(line.get("type")).startswith("api-request"):
            self._mirrored.setdefault(str(path), []).append(line)

    def _take_mirrored(self) -> list[bytes]:
        mirrored, self._mirrored = self._mirrored, {}
        return [
            encode({"type": "transcript_mirror", "filePath": path, "entries": entries})
            for path, entries in mirrored.items()
        ]

    def _follow(self, event: AgentEvent, session: Session, group: TaskGroup) -> None:
        match event:
            case ToolCalled(use=use):
                self._uses[use.id] = use
            case PermissionAsked() if self._relays:
                group.start_soon(self._relay, session, lambda: asking.permission(event, self.ask))
            case QuestionAsked(tool_use_id=use_id, questions=_) if self._relays:
                use = self._uses.get(use_id, ToolUse(use_id, "AskUserQuestion", {}))
                group.start_soon(self._relay, session, lambda: asking.question(event, use, self.ask))
            case PlanProposed(tool_use_id=use_id, plan=plan) if self._relays:
                use = self._uses.get(use_id, ToolUse(use_id, "ExitPlanMode", {"plan": plan}))
                group.start_soon(self._relay, session, lambda: asking.plan(event, use, self.ask))
            case InputRequested() if self._relays:
                group.start_soon(self._relay, session, lambda: asking.elicitation(event, self.ask))
            case AskWithdrawn(request_id=request_id, reason="cancelled"):
                self._withdraw(request_id)
            case TurnEnded():
                self._uses.clear()
                self.exit_code = 0 if event.reason in GOOD_ENDS else 1
            case _:
                pass

    async def _relay(self, session: Session, answer: Callable[[], Awaitable[Command]]) -> None:
        self._asking += 1
        if self._asking == 1:
            await self._tell(self._translator.state_changed("requires_action"))
        try:
            command = await answer()
        finally:
            self._asking -= 1
        if not self._asking and session.busy:
            await self._tell(self._translator.state_changed("running"))
        await session.send(command)

    # --- control ----------------------------------------------------------------------------------------------

    async def ask(self, request_id: str, subtype: str, fields: Json) -> Json:
        """
        Raises:
            WeftError: the host said no, or cannot say anything any more.
        """
        if self._input_closed:
            raise TransportError(CLOSED)
        if not request_id:
            self._count += 1
            request_id = f"weft_{self._count}"
        pending = self._pending[request_id] = Awaited[ControlResponse]()
        try:
            await self.write(control_request(request_id, subtype, **fields))
            answer = await pending.wait()
        finally:
            self._pending.pop(request_id, None)
        if answer.error is not None:
            raise UsageError(answer.error)
        return answer.body

    def _withdraw(self, request_id: str) -> None:
        pending = self._pending.get(request_id)
        if pending is not None:
            pending.set(ControlResponse(request_id, error="withdrawn"))
            self._group.start_soon(self.write, control_cancel(request_id))

    async def _control(self, request: ControlRequest) -> None:
        try:
            session = await self.session(request.body if request.subtype == "initialize" else None)
            waiting = session.queue() if request.subtype in DROPPING else ()
            answer = await self._answers(session, request)
            if waiting:
                left = {prompt.id for prompt in session.queue()}
                for dropped in (prompt.id for prompt in waiting if prompt.id not in left):
                    await self._tell(self._translator.prompts.drop(dropped))
        except UsageError as error:
            await self.write(control_error(request.id, str(error), error.hint))
        except WeftError as error:
            await self.write(control_error(request.id, str(error)))
            if self._session is None:
                await self._could_not_open(error)
        except Exception as error:
            logger.exception("the control request %s failed", request.subtype)
            await self.write(control_error(request.id, f"{type(error).__name__}: {error}"))
        else:
            await self.write(control_success(request.id, answer))

    async def write(self, message: Json) -> None:
        await self._stream.send(encode(message))


def _written(line: UserLine) -> object:
    """The content as the host wrote it: text stays text."""
    message = line.raw.get("message")
    return message.get("content") if is_json(message) else None
