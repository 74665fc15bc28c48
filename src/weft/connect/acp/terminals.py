"""Terminals that an agent asks its host for: real processes, listed, and killed with the session."""

import itertools
import os
import shlex
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from weft.errors import TransportError
from weft.protocols.acp.content import pairs
from weft.protocols.acp.frames import INTERNAL_ERROR, NOT_FOUND, RpcError
from weft.protocols.acp.session import CreateTerminal, ExitStatus, TerminalOutput
from weft.schema.events import TaskInfo
from weft.transports.process import Child, spawn

LIMIT = 2**20
"""Bytes of output that are kept when the agent sets no limit."""
LAST_WORDS = 2.0
"""Seconds that the output of a command may take to be read after its end."""


class HostTerminal:
    """One command. The oldest output goes first when `limit` is reached, at a character's edge."""

    def __init__(self, id_: str, command: str, child: Child, limit: int) -> None:
        self.id = id_
        self.command = command
        self.child = child
        self._limit = limit
        self._kept = bytearray()
        self.truncated = False
        self.heard = anyio.Event()
        """All that it said was read."""

    def add(self, data: bytes) -> None:
        self._kept += data
        over = len(self._kept) - self._limit
        if over > 0:
            while over < len(self._kept) and self._kept[over] & 0xC0 == 0x80:
                over += 1
            del self._kept[:over]
            self.truncated = True

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    @property
    def status(self) -> ExitStatus | None:
        """None until it has ended and all that it said was read: who sees the end has seen the last words."""
        code, ended = self.child.returncode, self.child.exited_at
        if code is None or ended is None:
            return None
        unread = not self.heard.is_set() and time.monotonic() - ended < LAST_WORDS
        return None if unread else to_status(code)


def to_status(code: int) -> ExitStatus:
    if code >= 0:
        return ExitStatus(exit_code=code)
    try:
        return ExitStatus(signal=signal.Signals(-code).name)
    except ValueError:
        return ExitStatus(signal=str(-code))


class HostTerminals:
    """`on_output` sees output as it comes; `on_change` each start and end."""

    def __init__(
        self,
        tasks: TaskGroup,
        cwd: Path,
        confined: Callable[[str], Path],
        on_output: Callable[[HostTerminal, str], Awaitable[None]],
        on_change: Callable[[TaskInfo], Awaitable[None]],
    ) -> None:
        self.shelter: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
        """Takes the person's keys out of the variables: commands of an agent must not see them either."""
        self._tasks = tasks
        self._cwd = cwd
        self._confined = confined
        self._on_output = on_output
        self._on_change = on_change
        self._ids = itertools.count(1)
        self._open: dict[str, HostTerminal] = {}
        self._released: dict[str, HostTerminal] = {}
        """The last few, because a client keeps showing a terminal that was released."""

    async def create(self, request: CreateTerminal) -> str:
        argv = to_argv(request)
        cwd = self._confined(request.cwd) if request.cwd else self._cwd
        own = os.environ if self.shelter is None else self.shelter(os.environ)
        env = {**own, **pairs(request.env)}
        try:
            child = await spawn(argv, cwd=cwd, env=env, stderr="merge")
        except TransportError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error
        id_ = f"term_{next(self._ids)}"
        shown = request.command if not request.args else shlex.join((request.command, *request.args))
        limit = request.output_byte_limit if request.output_byte_limit is not None else LIMIT
        terminal = self._open[id_] = HostTerminal(id_, shown, child, min(limit, LIMIT))
        self._tasks.start_soon(self._follow, terminal)
        return id_

    async def _follow(self, terminal: HostTerminal) -> None:
        await self._on_change(TaskInfo(terminal.id, "shell", terminal.command))
        if terminal.child.stdout is not None:
            while data := await terminal.child.stdout.receive():
                terminal.add(data)
                await self._on_output(terminal, data.decode("utf-8", "replace"))
        terminal.heard.set()
        code = await terminal.child.wait()
        state = "stopped" if code < 0 else "completed" if code == 0 else "failed"
        await self._on_change(TaskInfo(terminal.id, "shell", terminal.command, state))

    def get(self, id_: str) -> HostTerminal:
        """
        Raises:
            RpcError: there is no such terminal, or it was released.
        """
        terminal = self._open.get(id_)
        if terminal is None:
            raise RpcError(NOT_FOUND, f"there is no terminal {id_}")
        return terminal

    def text(self, id_: str) -> str:
        """What a terminal of ours has said; nothing for one that the agent keeps for itself, or has released."""
        terminal = self._open.get(id_) or self._released.get(id_)
        return terminal.text if terminal else ""

    def output(self, id_: str) -> TerminalOutput:
        terminal = self.get(id_)
        return TerminalOutput(output=terminal.text, truncated=terminal.truncated, exit_status=terminal.status)

    async def wait(self, id_: str) -> ExitStatus:
        """Who asks for the output after this gets all of it."""
        terminal = self.get(id_)
        code = await terminal.child.wait()
        with anyio.move_on_after(LAST_WORDS):
            await terminal.heard.wait()
        return to_status(code)

    async def kill(self, id_: str) -> None:
        await self.get(id_).child.kill()

    async def release(self, id_: str) -> None:
        terminal = self.get(id_)
        self._released[id_] = self._open.pop(id_)
        if len(self._released) > 20:
            del self._released[next(iter(self._released))]
        await terminal.child.kill()

    async def close(self) -> None:
        """Ends all of them."""
        for terminal in list(self._open.values()):
            await terminal.child.kill()
            terminal.child.close()
        self._open.clear()


def to_argv(request: CreateTerminal) -> tuple[str, ...]:
    """Some agents send a whole shell line as the command, with no arguments."""
    if request.args:
        return (request.command, *request.args)
    if any(letter in request.command for letter in " \t\n|&;<>()$`\"'*?"):
        return ("/bin/sh", "-c", request.command) if os.name == "posix" else ("cmd", "/c", request.command)
    return (request.command,)
