"""Our own agent in a child process, behind the same port: the events are those that it would have in this one."""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import msgspec
from anyio.abc import TaskGroup

import weft.errors
from weft.agent.channel import Channel
from weft.errors import ConnectionLost, RemoteProtocolError, ToolError, TransportError, WeftError
from weft.protocols.session_lines import (
    Answered,
    Call,
    Close,
    Failed,
    HookCall,
    Open,
    ToolCall,
    Withdrawn,
    decode_session_line,
    encode_command,
    encode_line,
)
from weft.schema.commands import Command
from weft.schema.events import AgentEvent, SessionChanged, SessionInfo, SessionStarted, TurnEnded, TurnStarted
from weft.transports.awaited import Awaited
from weft.transports.messages import LineStream
from weft.transports.process import Child, spawn

logger = logging.getLogger(__name__)

START_LIMIT = 60.0
END_LIMIT = 15.0
LAST_WORDS = 10.0
"""Seconds that it has to end by itself after it has closed its output, or said a line without end."""
CallFunction = Callable[[Call], Awaitable[object]]


class ChildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How it is started. `opening` makes the first line: of a new session (""), or of one that goes on."""

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    opening: Callable[[str], Open]
    call: CallFunction
    """Runs a function of this process; what it raises is told to the agent as a sentence."""
    resumable: bool = True


class _Life:
    """One process from its start to its end: what belongs to it dies with it, and not with the next one."""

    def __init__(self, child: Child, stream: LineStream) -> None:
        self.child = child
        self.stream = stream
        self.started: Awaited[SessionInfo | WeftError] = Awaited()
        self.running: dict[int, anyio.CancelScope] = {}


class ChildConnection:
    """Implements `Connection`. A child that died is started again by the next command, where it was."""

    def __init__(self, options: ChildOptions) -> None:
        self._options = options
        self._channel = Channel(limit=4096)
        self._life: _Life | None = None
        self._info: SessionInfo | None = None
        self._turn: str | None = None
        self._said: list[str] = []
        self._closing = False

    async def __aenter__(self) -> Self:
        self._group: TaskGroup = await anyio.create_task_group().__aenter__()
        try:
            await self._start("")
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._closing = True
        with anyio.CancelScope(shield=True):
            await self._stop()
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
            return None
        finally:
            self._channel.close()

    @property
    def info(self) -> SessionInfo:
        if self._info is None:
            raise ConnectionLost("The agent has not been started.")
        return self._info

    @property
    def child(self) -> Child | None:
        """The process, while it runs."""
        return self._life.child if self._life is not None else None

    def events(self) -> AsyncIterator[AgentEvent]:
        return aiter(self._channel)

    async def send(self, command: Command) -> None:
        if self._closing:
            raise ConnectionLost("The connection is closed.")
        if self._life is None:
            if not self._options.resumable:
                raise ConnectionLost("The agent is gone, and nothing of its conversation was kept.")
            await self._start(self.info.session_id)
        await self._write(encode_command(command))

    # --- the child -------------------------------------------------------------------------------------------

    async def _start(self, resume: str) -> None:
        options = self._options
        try:
            child = await spawn(
                options.command, cwd=options.cwd, env=options.env, stdin="pipe", on_stderr=self._complaint
            )
        except TransportError as error:
            raise ConnectionLost(str(error)) from error
        assert child.stdin is not None and child.stdout is not None
        stdin = child.stdin

        async def close() -> None:
            stdin.close()

        life = self._life = _Life(child, LineStream(child.stdout.receive, stdin.send, close))
        self._group.start_soon(self._read, life)
        await self._write(encode_line(options.opening(resume)))
        try:
            with anyio.fail_after(START_LIMIT):
                found = await life.started.wait()
        except TimeoutError:
            raise ConnectionLost(f"The agent did not start within {START_LIMIT:g} s.", hint=self._why()) from None
        if isinstance(found, WeftError):
            raise found

    async def _stop(self) -> None:
        life, self._life = self._life, None
        if life is None:
            return
        with anyio.move_on_after(END_LIMIT):
            with contextlib.suppress(TransportError):
                await life.stream.send(encode_line(Close()))
            await life.child.wait()
        await life.stream.close()
        await life.child.kill()
        life.child.close()

    def _complaint(self, line: str) -> None:
        logger.debug("child: %s", line)
        self._said = [*self._said[-20:], line]

    def _why(self) -> str | None:
        return "; ".join(self._said[-3:]) or None

    async def _read(self, life: _Life) -> None:
        child = life.child
        try:
            while (line := await life.stream.receive()) is not None:
                try:
                    self._take(line, life)
                except RemoteProtocolError as error:
                    logger.warning("the child said what cannot be read: %s", error)
        except anyio.get_cancelled_exc_class():
            # Nobody will answer its calls any more: it must not wait for that.
            if child.stdin is not None:
                child.stdin.close()
            raise
        with anyio.move_on_after(LAST_WORDS):
            await child.wait()
        await child.kill()
        code = await child.wait()
        for scope in list(life.running.values()):
            scope.cancel()
        message = f"The agent's process ended with exit code {code}."
        life.started.set(ConnectionLost(message, hint=self._why()))
        if life is not self._life:
            return
        self._life = None
        if self._turn is not None and not self._closing:
            self._put(TurnEnded(turn_id=self._turn, reason="error", error=message))

    def _take(self, line: str | bytes, life: _Life) -> None:
        found = decode_session_line(line)
        if isinstance(found, ToolCall | HookCall):
            self._group.start_soon(self._call, found, life)
        elif isinstance(found, Withdrawn):
            if (scope := life.running.get(found.id)) is not None:
                scope.cancel()
        elif isinstance(found, Failed):
            life.started.set(_raised(found))
        else:
            self._put(found)
            if isinstance(found, SessionStarted):
                life.started.set(found.info)

    def _put(self, event: AgentEvent) -> None:
        match event:
            case SessionStarted(info=info):
                again, self._info = self._info is not None, info
                if again:
                    event = SessionChanged(info=info, reason="restart")
            case SessionChanged(info=info):
                self._info = info
            case TurnStarted(turn_id=turn):
                self._turn = turn
            case TurnEnded():
                self._turn = None
            case _:
                pass
        self._channel.put(event)

    async def _call(self, call: Call, life: _Life) -> None:
        """A function of this process, for the agent. It is cancelled with the turn that called it."""
        answer = Answered(call.id, error="The call was withdrawn.")
        with anyio.CancelScope() as scope:
            life.running[call.id] = scope
            try:
                answer = Answered(call.id, await self._options.call(call))
            except ToolError as error:
                answer = Answered(call.id, error=str(error))
            except Exception as error:
                logger.exception("a function that the agent called failed")
                answer = Answered(call.id, error=str(error))
            finally:
                life.running.pop(call.id, None)
        if scope.cancelled_caught:
            return
        try:
            await life.stream.send(_encoded(answer))
        except TransportError:
            logger.debug("the agent was gone before it heard of call %s", call.id)

    async def _write(self, line: bytes) -> None:
        if self._life is None:
            raise ConnectionLost("The agent is not running.", hint=self._why())
        try:
            await self._life.stream.send(line)
        except TransportError as error:
            raise ConnectionLost("The agent is gone.", hint=self._why()) from error


def _encoded(answer: Answered) -> bytes:
    try:
        return encode_line(answer)
    except (TypeError, ValueError, RecursionError) as error:
        return encode_line(Answered(answer.id, error=f"what it returned is not JSON: {error}"))


def _raised(failed: Failed) -> WeftError:
    """The error that the session raised in the child, of the same class where it has one here."""
    kind = getattr(weft.errors, failed.kind, None)
    if isinstance(kind, type) and issubclass(kind, WeftError):
        return kind(failed.message, hint=failed.hint)
    return ConnectionLost(failed.message, hint=failed.hint)
