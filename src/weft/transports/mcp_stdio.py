"""MCP over a child's pipes, one JSON message a line, with limits.

The package's own transport reads lines without a limit and in quadratic time. This one pulls: nothing is read
before the session asks for it, so a chatty server waits instead of filling our memory.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

import anyio
from mcp.shared.message import SessionMessage

from weft.errors import TransportError
from weft.transports.mcp_streams import End, Iterated, decode, encode
from weft.transports.process import Child, spawn

log = logging.getLogger(__name__)

MAX_LINE = 32 << 20
MAX_JUNK = 1000
SEND_LIMIT = 30.0
GRACE = 2.0


class StdioTransport:
    """A server process. Entered, it gives the pair of streams that a client session is made from; left, the whole
    process group is gone: stdin closed, then two seconds, then SIGTERM, then SIGKILL."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[str], None],
        max_line: int = MAX_LINE,
    ) -> None:
        self._argv = tuple(argv)
        self._env = dict(env)
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._max_line = max_line
        self.child: Child | None = None
        self._reader: LineReader | None = None

    async def __aenter__(self) -> tuple["LineReader", "LineWriter"]:
        child = await spawn(self._argv, cwd=self._cwd, env=self._env, stdin="pipe", on_stderr=self._on_stderr)
        self.child = child
        self._reader = LineReader(child, self._max_line)
        return self._reader, LineWriter(child)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        child = self.child
        if child is None:
            return None
        with anyio.CancelScope(shield=True):
            if child.stdin is not None:
                child.stdin.close()
            # A server that never said anything has nothing to finish: people should not wait for it.
            grace = GRACE if self._reader is not None and self._reader.heard else 0.05
            with anyio.move_on_after(grace):
                await self._drained(child)
            await child.kill(grace)
            child.close()
        return None

    async def _drained(self, child: Child) -> None:
        """Reads what a server still says, so that it is not stuck on a full pipe when it should end."""
        if child.stdout is not None:
            async for _ in child.stdout:
                pass
        await child.wait()


class LineReader(End, Iterated):
    """Messages from the child's output. Lines that are not JSON-RPC are counted and left out.

    A line over the limit, or too much junk, ends the stream: the server is broken or hostile.
    """

    def __init__(self, child: Child, max_line: int) -> None:
        self._child = child
        self._max_line = max_line
        self._parts: list[bytes] = []
        self._size = 0
        self._lines: list[bytes] = []
        self._junk = 0
        self.heard = False
        self.problem = ""

    async def receive(self) -> SessionMessage | Exception:
        while True:
            while self._lines:
                message = self._parse(self._lines.pop())
                if message is not None:
                    return message
            output = self._child.stdout
            data = b"" if output is None or self.problem else await output.receive()
            if not data:
                raise anyio.EndOfStream
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        first, newline, rest = data.partition(b"\n")
        self._parts.append(first)
        self._size += len(first)
        if self._size > self._max_line:
            self.problem = f"it sent a line of more than {self._max_line} bytes"
            self._parts.clear()
            raise anyio.EndOfStream
        if not newline:
            return
        *lines, tail = rest.split(b"\n")
        self._lines = [*reversed(lines), b"".join(self._parts)]
        self._parts, self._size = ([tail], len(tail)) if tail else ([], 0)

    def _parse(self, line: bytes) -> SessionMessage | None:
        line = line.strip()
        if not line:
            return None
        try:
            message = decode(line)
            self.heard = True
            return message
        except ValueError:
            self._junk += 1
            log.debug("< junk %.200r", line)
            if self._junk > MAX_JUNK:
                self.problem = f"it wrote more than {MAX_JUNK} lines that are not JSON-RPC"
                raise anyio.EndOfStream from None
            return None


class LineWriter(End):
    """Messages to the child's input. A line is written whole even when its sender is cancelled."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def send(self, item: SessionMessage, /) -> None:
        pipe = self._child.stdin
        if pipe is None:
            raise anyio.BrokenResourceError
        line = encode(item).encode() + b"\n"
        with anyio.move_on_after(SEND_LIMIT, shield=True) as scope:
            try:
                await pipe.send(line)
            except TransportError as error:
                raise anyio.BrokenResourceError from error
        if scope.cancelled_caught:
            pipe.close()
            raise anyio.BrokenResourceError
