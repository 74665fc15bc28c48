"""One connection kept for many turns: reconnected only when the mode, the folder or the folders change, or after a
fault. A session is loaded only when it is not the one that is open. What an earlier turn still says is dropped."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import anyio
import msgspec

from weft.connect.acp.connection import AcpConnection
from weft.connect.port import Connection
from weft.schema.events import Mode


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the next turn needs. An empty `session_id` goes on with the session that is open, or opens a new one."""

    mode: Mode | None
    cwd: Path
    directories: tuple[Path, ...] = ()
    session_id: str = ""


Connect: TypeAlias = Callable[[Wanted], Awaitable[Connection]]
"""Makes a connection that is not yet entered. One that does not speak ACP loads no other session: it is made anew."""


class ReusedConnection:
    """`ready` answers a connection that fits; left, the last one is gone.

    Connections must be left by the task that entered them, so each lives in a task of its own here.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._held: Connection | None = None
        self._key: tuple[object, ...] = ()
        self._leave = anyio.Event()
        self._left = anyio.Event()
        self.opened = 0
        """How many connections were made so far."""

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.drop()
        self._tasks.cancel_scope.cancel()  # One that was still being opened.
        return await self._tasks.__aexit__(kind, error, trace)

    async def ready(self, wanted: Wanted) -> Connection:
        """
        Raises:
            ConnectionLost: the agent cannot be reached.
        """
        key = (wanted.mode, wanted.cwd, wanted.directories)
        held = self._held
        same = held is not None and wanted.session_id in ("", held.info.session_id)
        usable = held.alive if isinstance(held, AcpConnection) else same
        if held is None or key != self._key or not usable:
            await self.drop()
            held = await self._open(wanted)
            self._key = key
        elif isinstance(held, AcpConnection) and not same:
            await held.load(wanted.session_id)
        if isinstance(held, AcpConnection):
            held.drop_stale()
        return held

    async def _open(self, wanted: Wanted) -> Connection:
        connection = await self._connect(wanted)
        entered = anyio.Event()
        failed: list[Exception] = []
        self._leave, self._left = anyio.Event(), anyio.Event()
        self._tasks.start_soon(self._live, connection, entered, failed, self._leave, self._left)
        await entered.wait()
        if failed:
            raise failed[0]
        self.opened += 1
        self._held = connection
        return connection

    async def _live(
        self,
        connection: Connection,
        entered: anyio.Event,
        failed: list[Exception],
        leave: anyio.Event,
        left: anyio.Event,
    ) -> None:
        from weft.errors import WeftError

        try:
            async with connection:
                entered.set()
                await leave.wait()
        except WeftError as error:
            failed.append(error)
        finally:
            entered.set()
            left.set()

    def fault(self) -> None:
        """The last turn went wrong: the next one gets a new connection."""
        self._key = ()

    async def drop(self) -> None:
        if self._held is not None:
            self._held = None
            self._leave.set()
            await self._left.wait()
