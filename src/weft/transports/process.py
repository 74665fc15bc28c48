"""Child processes: started cheaply, read with backpressure, and never left behind.

Each child leads a session of its own, so that one signal reaches all that it started. When we die, however that
happens, a watcher (`transports/watcher.py`) kills the groups that are still there. PR_SET_PDEATHSIG would reach
only the child itself, and needs code between fork and exec, which costs a real fork and can deadlock.
"""

import os
import signal
import subprocess
import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import anyio
import anyio.lowlevel

from weft.errors import TransportError
from weft.transports.watcher import watcher

CHUNK = 65_536
LINGER = 0.2
"""How long output is read on after the child has ended while something that it left behind holds the pipe open."""
LINGER_BYTES = 1 << 20
MAX_LINE = 65_536


class ChildInput:
    """The child's standard input. Sends are whole and in order; a cancelled one may have sent a part."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._lock = anyio.Lock()

    async def send(self, data: bytes) -> None:
        """
        Raises:
            TransportError: the child no longer reads.
        """
        rest = memoryview(data)
        async with self._lock:
            while rest:
                if self._fd < 0:
                    raise TransportError("the input of the process is closed")
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._fd)
                except OSError as error:
                    self.close()
                    raise TransportError("the process no longer reads its input") from error

    def close(self) -> None:
        """The child sees the end of its input."""
        if self._fd >= 0:
            anyio.notify_closing(self._fd)
            os.close(self._fd)
            self._fd = -1


class ChildOutput:
    """One of the child's output pipes, for one reader. A slow reader makes the child wait."""

    def __init__(self, fd: int, child: "Child") -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._child = child
        self._ready: anyio.Event | None = None
        self._after_exit = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = await self.receive()
        if not data:
            raise StopAsyncIteration
        return data

    async def receive(self) -> bytes:
        """The next bytes; empty at the end, which comes soon after the child's own end, also when a process that
        it left behind keeps the pipe."""
        await anyio.lowlevel.checkpoint()
        while self._fd >= 0:
            try:
                data = os.read(self._fd, CHUNK)
            except BlockingIOError:
                if not await self._wait():
                    self._leave()
                continue
            if not data:
                self.close()
            elif self._child.exited_at is not None:
                self._after_exit += len(data)
                if self._after_exit > LINGER_BYTES:
                    self._leave()
            return data
        return b""

    async def _wait(self) -> bool:
        """False when nothing more is worth waiting for."""
        ended = self._child.exited_at
        left = LINGER - (time.monotonic() - ended) if ended is not None else None
        if left is not None and left <= 0:
            return False
        ready = self._ready = anyio.Event()
        loop = get_running_loop()
        loop.add_reader(self._fd, ready.set)
        try:
            with anyio.move_on_after(left):
                await ready.wait()
        finally:
            self._ready = None
            if self._fd >= 0:
                loop.remove_reader(self._fd)
        return True

    def child_ended(self) -> None:
        if self._ready is not None:
            self._ready.set()

    def _leave(self) -> None:
        """Reads and drops from now on: a server that was left running must not die of SIGPIPE, nor block."""
        fd, self._fd = self._fd, -1
        loop = get_running_loop()

        def drop() -> None:
            try:
                done = not os.read(fd, CHUNK)
            except BlockingIOError:
                return
            if done:
                loop.remove_reader(fd)
                os.close(fd)

        loop.add_reader(fd, drop)

    def close(self) -> None:
        if self._fd >= 0:
            if self._ready is not None:
                self._ready.set()
                get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


def _call_lines(fd: int, loop: AbstractEventLoop, callback: Callable[[str], None]) -> None:
    """Gives each line that arrives on `fd` to the callback; a line without end is cut at `MAX_LINE`."""
    os.set_blocking(fd, False)
    tail = b""

    def read() -> None:
        nonlocal tail
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        *lines, tail = (tail + data).split(b"\n")
        if len(tail) > MAX_LINE or not data:
            lines, tail = [*lines, *([tail] if tail else [])], b""
        if not data:
            loop.remove_reader(fd)
            os.close(fd)
        for line in lines:
            callback(line.decode("utf-8", "replace").rstrip("\r"))

    loop.add_reader(fd, read)


class Child:
    """A started process and its pipes; `stdin`, `stdout` and `stderr` exist when they were asked for."""

    def __init__(
        self,
        popen: "subprocess.Popen[bytes]",
        on_stderr: Callable[[str], None] | None,
        on_stdout: Callable[[str], None] | None = None,
    ) -> None:
        self.pid = popen.pid
        self.exited_at: float | None = None
        self._popen = popen
        self._ended = anyio.Event()
        loop = get_running_loop()
        self.stdin = ChildInput(os.dup(popen.stdin.fileno())) if popen.stdin else None
        self.stdout: ChildOutput | None = None
        if popen.stdout and on_stdout:
            _call_lines(os.dup(popen.stdout.fileno()), loop, on_stdout)
        elif popen.stdout:
            self.stdout = ChildOutput(os.dup(popen.stdout.fileno()), self)
        self.stderr: ChildOutput | None = None
        if popen.stderr and on_stderr:
            _call_lines(os.dup(popen.stderr.fileno()), loop, on_stderr)
        elif popen.stderr:
            self.stderr = ChildOutput(os.dup(popen.stderr.fileno()), self)
        for pipe in (popen.stdin, popen.stdout, popen.stderr):
            if pipe:
                pipe.close()
        self._watch(loop)

    def _watch(self, loop: AbstractEventLoop) -> None:
        if hasattr(os, "pidfd_open"):
            pidfd = os.pidfd_open(self.pid)

            def ended() -> None:
                loop.remove_reader(pidfd)
                os.close(pidfd)
                self._popen.poll()
                self._set_ended()

            loop.add_reader(pidfd, ended)
            return
        import threading

        def wait() -> None:
            self._popen.wait()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._set_ended)

        threading.Thread(target=wait, name=f"wait-{self.pid}", daemon=True).start()

    def _set_ended(self) -> None:
        self.exited_at = time.monotonic()
        watcher.leader_ended(self.pid)
        for output in (self.stdout, self.stderr):
            if output:
                output.child_ended()
        self._ended.set()

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._popen.returncode

    async def wait(self) -> int:
        """The exit code; negative for a signal. Any number of tasks may wait."""
        await self._ended.wait()
        code = self._popen.returncode
        return -signal.SIGKILL if code is None else code

    async def kill(self, grace: float = 2.0) -> None:
        """Ends the whole group: SIGTERM, SIGKILL after `grace` seconds. Returns when it is gone, cancelled or not."""
        with anyio.CancelScope(shield=True):
            if self.exited_at is None:
                self.signal(signal.SIGTERM)
                with anyio.move_on_after(grace):
                    await self._ended.wait()
            if not self.signal(signal.SIGKILL):
                return
            with anyio.move_on_after(5):
                await self._ended.wait()
            # What the child left behind dies now and is reaped by init, which some containers do not have.
            for pause in (0.002, 0.01, 0.05):
                if not _alive(self.pid):
                    break
                await anyio.sleep(pause)
        watcher.sweep()

    def signal(self, number: int) -> bool:
        """Sends a signal to the whole group; False when nothing of it is left."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def close(self) -> None:
        """Closes our ends of the pipes. The process is not touched."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe:
                pipe.close()


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def spawn(
    argv: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Literal["null", "pipe"] = "null",
    stderr: Literal["merge", "pipe", "null"] = "merge",
    on_stderr: Callable[[str], None] | None = None,
    on_stdout: Callable[[str], None] | None = None,
) -> Child:
    """Starts a process. `env` is the whole environment (None: ours). `on_stderr` gets each line of standard error, and
    `on_stdout` each of standard output: then there is no `stdout` to read.

    Raises:
        TransportError: it cannot be started; the message is a sentence.
    """
    await anyio.lowlevel.checkpoint()
    piped = on_stderr is not None or stderr == "pipe"
    errors = subprocess.PIPE if piped else subprocess.STDOUT if stderr == "merge" else subprocess.DEVNULL
    watcher.prepare()
    try:
        popen = _popen(argv, cwd, env, subprocess.PIPE if stdin == "pipe" else subprocess.DEVNULL, errors)
    except (OSError, ValueError) as error:
        raise TransportError(_why(argv, cwd, error)) from error
    watcher.started(popen.pid)
    return Child(popen, on_stderr, on_stdout)


def _popen(
    argv: Sequence[str], cwd: str | Path | None, env: Mapping[str, str] | None, stdin: int, stderr: int
) -> "subprocess.Popen[bytes]":
    """Waits for the exec, under a millisecond: a vfork without code of ours in the child."""
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,
    )


def _why(argv: Sequence[str], cwd: str | Path | None, error: Exception) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return f"cannot start {argv[0]!r}: the folder {str(cwd)!r} does not exist"
    if isinstance(error, FileNotFoundError):
        return f"cannot start {argv[0]!r}: there is no such program"
    if isinstance(error, OSError):
        return f"cannot start {argv[0]!r}: {error.strerror or error}"
    return f"cannot start {argv[0]!r}: {error}"
