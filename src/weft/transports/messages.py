"""The port of a two-way stream of text messages: a WebSocket, lines on a pipe, or a pair in memory."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from weft.errors import TransportError

MAX_MESSAGE = 64 * 2**20
_WRITE = 2**15
"""Half of what a pipe holds: its reader works on one half while the other is written."""


class MessageStream(Protocol):
    """Whole messages, in order. `receive` is for one reader; `send` may be called by several at once.

    Raises:
        TransportError: on `send`, when the other side is gone.
    """

    async def send(self, message: str | bytes) -> None: ...

    async def receive(self) -> str | bytes | None:
        """The next message; None when the other side is gone."""
        ...

    async def close(self) -> None: ...


class MemoryStream:
    """One end of a pair in memory: the same contract, no operating system."""

    def __init__(self, inbox: MemoryObjectReceiveStream[str], outbox: MemoryObjectSendStream[str]) -> None:
        self._inbox = inbox
        self._outbox = outbox

    async def send(self, message: str | bytes) -> None:
        text = message if isinstance(message, str) else message.decode()
        try:
            await self._outbox.send(text)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise TransportError("the other side is gone") from error

    async def receive(self) -> str | bytes | None:
        try:
            return await self._inbox.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return None

    async def close(self) -> None:
        self._outbox.close()
        self._inbox.close()


def memory_pair(*, size: int = 1024) -> tuple[MemoryStream, MemoryStream]:
    """Two ends; what one sends the other receives. A sender waits when `size` messages are unread."""
    left_out, right_in = anyio.create_memory_object_stream[str](size)
    right_out, left_in = anyio.create_memory_object_stream[str](size)
    return MemoryStream(left_in, left_out), MemoryStream(right_in, right_out)


class LineStream:
    """Messages as lines of UTF-8 on two byte functions: `read` answers b"" at the end.

    Only LF ends a line: U+2028 is legal inside a JSON string. Empty lines are skipped. A line longer than
    `max_line` ends the stream, because what follows it cannot be trusted to be a message.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], Awaitable[None]],
        close: Callable[[], Awaitable[None]],
        *,
        max_line: int = MAX_MESSAGE,
    ) -> None:
        self._read = read
        self._write = write
        self._close = close
        self._max = max_line
        self._lines: list[bytes] = []
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._sending = anyio.Lock(fast_acquire=True)

    async def send(self, message: str | bytes) -> None:
        data = message.encode() if isinstance(message, str) else message
        async with self._sending:
            await self._write(data + b"\n")

    async def send_all(self, messages: Sequence[bytes]) -> None:
        """Several messages, in order, with nothing in between: one write for as many as fit in `_WRITE` bytes."""
        async with self._sending:
            lines: list[bytes] = []
            size = 0
            for message in messages:
                lines += (message, b"\n")
                size += len(message)
                if size > _WRITE:
                    await self._write(b"".join(lines))
                    lines, size = [], 0
            if lines:
                await self._write(b"".join(lines))

    async def receive(self) -> str | bytes | None:
        while not self._lines:
            data = await self._read()
            if not data:
                self._lines = [b"".join(self._tail)] if self._tail_size else []
                self._tail, self._tail_size = [], 0
                if not self._lines:
                    return None
                break
            self._feed(data)
            if self._tail_size > self._max:
                return None
        return self._lines.pop(0)

    def _feed(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._tail.append(first)
        self._tail_size += len(first)
        for piece in rest:
            line = b"".join(self._tail).strip()
            if line:
                self._lines.append(line)
            self._tail, self._tail_size = [piece], len(piece)

    async def close(self) -> None:
        await self._close()
