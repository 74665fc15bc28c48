"""A session of ours for a host that is Weft too: `weft.Client` with the agent in a child process.

Every event goes out as it is. What lives in the host's process, its functions, is called by id.
"""

import contextlib
from collections.abc import Awaitable, Callable

import anyio

from weft.connect.local import LocalConnection
from weft.connect.port import Connection
from weft.errors import RemoteProtocolError, ToolError, TransportError, WeftError
from weft.protocols.session_lines import (
    Answered,
    Call,
    Close,
    Failed,
    Open,
    Withdrawn,
    decode_host_line,
    encode_event,
    encode_line,
)
from weft.schema.commands import Command
from weft.transports.awaited import Awaited
from weft.transports.messages import LineStream

AskHost = Callable[[Callable[[int], Call]], Awaitable[object]]
"""Calls a function of the host's: the argument makes the call's line of its id.

Raises:
    ToolError: with the host's sentence, when it failed.
"""
Opener = Callable[[Open, AskHost], Awaitable[Connection]]
GONE = "The process that has this function is gone."
END_LIMIT = 10.0


class LineServer:
    """One session, until the host says `Close` or is gone."""

    def __init__(self, stream: LineStream, opener: Opener) -> None:
        self._stream = stream
        self._opener = opener
        self._waiting: dict[int, Awaited[Answered]] = {}
        self._count = 0
        self._gone = False
        self._early: list[Command] = []
        """Commands that came before there was a session."""
        self._connection: Connection | None = None
        self._opening = anyio.CancelScope()
        self._telling = anyio.CancelScope()

    async def run(self) -> int:
        """0, or 1 when the session could not be opened; the host has been told why.

        Raises:
            RemoteProtocolError: the host sent what is no line.
        """
        first = await self._stream.receive()
        if first is None:
            return 0
        opening = decode_host_line(first)
        if not isinstance(opening, Open):
            raise RemoteProtocolError("the first line of the host does not open a session")
        code = 0
        async with anyio.create_task_group() as group:
            # The host is listened to from the start: what opens the session may call its functions.
            group.start_soon(self._read, group.cancel_scope)
            try:
                await self._serve(opening)
            except WeftError as error:
                code = 1
                await self._stream.send(encode_line(Failed(type(error).__name__, str(error), error.hint)))
            group.cancel_scope.cancel()
        return code

    async def _serve(self, opening: Open) -> None:
        with self._opening:
            connection = await self._opener(opening, self.ask)
            async with connection:
                self._connection = connection
                while self._early:
                    await connection.send(self._early.pop(0))
                # From here on, leaving cancels the telling alone: the session ends as it does in one process.
                self._opening = self._telling
                with self._telling:
                    await self._tell(connection)

    async def _tell(self, connection: Connection) -> None:
        if not isinstance(connection, LocalConnection):
            async for event in connection.events():
                await self._stream.send(encode_event(event))
            return
        async for events in connection.bursts():
            await self._stream.send_all([encode_event(event) for event in events])

    async def _read(self, all_work: anyio.CancelScope) -> None:
        while (line := await self._stream.receive()) is not None:
            found = decode_host_line(line)
            if isinstance(found, Answered):
                if (waiting := self._waiting.get(found.id)) is not None:
                    waiting.set(found)
            elif isinstance(found, Close):
                self._opening.cancel()
            elif isinstance(found, Open):
                raise RemoteProtocolError("the host opened a second session")
            elif self._connection is not None:
                await self._connection.send(found)
            else:
                self._early.append(found)
        self._gone = True
        for number, waiting in list(self._waiting.items()):
            waiting.set(Answered(number, error=GONE))
        self._opening.cancel()
        all_work.deadline = anyio.current_time() + END_LIMIT

    async def ask(self, make: Callable[[int], Call]) -> object:
        if self._gone:
            raise ToolError(GONE)
        self._count += 1
        number = self._count
        waiting = self._waiting[number] = Awaited[Answered]()
        try:
            await self._stream.send(encode_line(make(number)))
            answer = await waiting.wait()
        except anyio.get_cancelled_exc_class():
            await self._withdraw(number)
            raise
        finally:
            del self._waiting[number]
        if answer.error is not None:
            raise ToolError(answer.error)
        return answer.value

    async def _withdraw(self, number: int) -> None:
        # A host that is gone has no functions that run on.
        with anyio.move_on_after(1, shield=True), contextlib.suppress(TransportError):
            await self._stream.send(encode_line(Withdrawn(number)))
