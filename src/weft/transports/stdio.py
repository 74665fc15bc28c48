"""Our own standard input and output as a stream of lines.

A pipe is read by the event loop. Files and terminals, which it cannot watch, are read by a thread of their own: that
works on every system, and a read that never returns cannot hold up the end of the process. Whatever else prints goes
to standard error, so that nothing but the protocol is on standard output.
"""

import asyncio
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

from weft.errors import TransportError
from weft.transports.messages import MAX_MESSAGE, LineStream

_CHUNK = 2**16
_AHEAD = 16


class _Input:
    """What the reading thread has read, for one waiting task."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: deque[bytes] = deque()
        self._event = anyio.Event()
        self._token = anyio.lowlevel.current_token()
        threading.Thread(target=self._loop, name="stdin", daemon=True).start()

    def _loop(self) -> None:
        from anyio import from_thread

        while True:
            try:
                data = os.read(self._descriptor, _CHUNK)
            except OSError:
                data = b""
            self._chunks.append(data)
            try:
                from_thread.run_sync(self._event.set, token=self._token)
            except (RuntimeError, anyio.RunFinishedError):
                return
            if not data:
                return

    async def read(self) -> bytes:
        while not self._chunks:
            await self._event.wait()
            self._event = anyio.Event()
        if not self._chunks[0]:
            return b""
        return self._chunks.popleft()


class _Pipe:
    """A pipe that the event loop watches all the time: a line costs one wake-up. Reading pauses when nobody takes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: deque[bytes] = deque()
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._watched = False
        self._ended = False
        self._watch()

    def _watch(self) -> None:
        if not self._watched and not self._ended:
            self._watched = True
            self._loop.add_reader(self._descriptor, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError:
            data = b""
        self._chunks.append(data)
        self._ended = not data
        if self._ended or len(self._chunks) >= _AHEAD:
            self._watched = False
            self._loop.remove_reader(self._descriptor)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self) -> bytes:
        while not self._chunks:
            self._watch()
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._chunks.popleft() if self._chunks[0] else b""


def _source(descriptor: int) -> Callable[[], Awaitable[bytes]]:
    mode = os.fstat(descriptor).st_mode
    if os.name == "nt" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return _Input(descriptor).read
    return _Pipe(descriptor).read


def stdio_stream(*, max_line: int = MAX_MESSAGE) -> LineStream:
    """Takes over standard input and output: `print` goes to standard error from here on."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    read = _source(0)

    def put(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(out, view) :]

    async def write(data: bytes) -> None:
        try:
            if len(data) <= _CHUNK:
                put(data)
            else:
                from anyio import to_thread

                await to_thread.run_sync(put, data)
        except OSError as error:
            raise TransportError("standard output is closed") from error

    async def close() -> None:
        return None

    return LineStream(read, write, close, max_line=max_line)
