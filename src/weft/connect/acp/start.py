"""How the stream to an agent is opened: a child on its standard streams, a WebSocket, or one that is given."""

import logging
import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import anyio

from weft.errors import TransportError
from weft.transports.messages import LineStream, MessageStream
from weft.transports.process import Child, spawn
from weft.transports.websocket import WebSocketClient

if TYPE_CHECKING:
    from weft.proxy.session import ProxySession

_log = logging.getLogger(__name__)
EXIT_GRACE = 2.0
"""Seconds that an agent has to leave by itself after its input is closed."""


class Opener(Protocol):
    """Entered, it is a stream; left, everything behind the stream is gone. `why` says what the agent last said."""

    async def __aenter__(self) -> MessageStream: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def why(self) -> str: ...


class ChildAgent:
    """An agent as a child process. Its standard error is logged, and its last lines are kept to explain its end."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        proxy: "ProxySession | None" = None,
    ) -> None:
        """Through `proxy`, which is entered by then, the child asks models with a nonce instead of the key."""
        self._argv = tuple(argv)
        self._cwd = cwd
        self._env = {**os.environ, **(env or {})}
        self._proxy = proxy
        self._said: deque[str] = deque(maxlen=20)
        self.child: Child | None = None

    async def __aenter__(self) -> MessageStream:
        env = self._env if self._proxy is None else self._proxy.env(self._env)
        child = self.child = await spawn(self._argv, cwd=self._cwd, env=env, stdin="pipe", on_stderr=self._heard)
        source, sink = child.stdout, child.stdin
        assert source is not None and sink is not None

        async def close() -> None:
            sink.close()

        return LineStream(source.receive, sink.send, close)

    def _heard(self, line: str) -> None:
        self._said.append(line)
        _log.debug("%s: %s", self._argv[0], line)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        child = self.child
        if child is None:
            return
        with anyio.CancelScope(shield=True):
            if child.stdin:
                child.stdin.close()
            with anyio.move_on_after(EXIT_GRACE):
                await child.wait()
            await child.kill()
            child.close()

    def why(self) -> str:
        code = self.child.returncode if self.child else None
        ended = f"it ended with {code}" if code is not None else ""
        said = "; ".join(line.strip() for line in list(self._said)[-3:] if line.strip())
        return "; ".join(part for part in (ended, said) if part)


class SocketAgent:
    """An agent that listens on a WebSocket."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, deflate: bool = True) -> None:
        self._client = WebSocketClient(url, headers=headers, deflate=deflate)

    async def __aenter__(self) -> MessageStream:
        return await self._client.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    def why(self) -> str:
        return ""


class GivenStream:
    """A stream that is open already, such as one end of a pair in memory."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream

    async def __aenter__(self) -> MessageStream:
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stream.close()
        except TransportError as gone:
            _log.debug("closing a stream: %s", gone)

    def why(self) -> str:
        return ""
