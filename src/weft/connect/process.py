"""An agent that listens on a port, as a child of ours: started, watched until it is ready, stopped, restarted.

Ready is when it says so (a line with `listening`, `ready` or `port`) or when its socket opens. The numbers are those
of the editor extension that Weft stands in for.
"""

import logging
import os
import re
import socket
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio
import msgspec

from weft.connect.acp.start import SocketAgent
from weft.connect.discovery import Found, find
from weft.connect.registry import KnownAgent
from weft.errors import AgentEnded, AgentMissing, ConnectionLost, PortTaken, TransportError
from weft.transports.messages import MessageStream
from weft.transports.process import Child, spawn
from weft.transports.websocket import WebSocketClient

if TYPE_CHECKING:
    from weft.proxy.session import ProxySession

_log = logging.getLogger(__name__)
_READY = re.compile(r"listening|ready|port", re.IGNORECASE)
CHECK_AFTER = 0.5
CHECK_TIMES = 20
CHECK_EVERY = 0.3
START_LIMIT = 30.0

Argv: TypeAlias = tuple[str, ...]


class StartConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`node` is a Node that the person chose; `port` 0 takes a free one."""

    node: str | None = None
    port: int = 0


class StartModes:
    """The three tiers of starting: the person's Node with the agent's script; what was found by itself, kept for the
    next time; and None, where the caller runs the bare command."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = env
        self._kept: dict[str, Found] = {}

    async def resolve(self, command: str, config: StartConfig) -> Argv | None:
        found = await self.detect(command)
        if found is None:
            return None
        if config.node and found.script:
            return (config.node, found.script)
        return found.argv

    async def detect(self, command: str) -> Found | None:
        if command not in self._kept:
            found = await find(command, env=self._env)
            if found is None:
                return None
            self._kept[command] = found
        return self._kept[command]

    def clear(self) -> None:
        """Forgets what was found: the person installed something."""
        self._kept.clear()


class ManagedAgent:
    """One child at a time; left, it is gone. `said` has its last lines, for diagnostics.

    Entering opens no scope, so that a caller may enter it within a limit of its own and stay longer. Through `proxy`,
    which is entered by the time of `start`, the child asks models with a nonce instead of the key.
    """

    def __init__(
        self,
        agent: KnownAgent,
        *,
        cwd: Path,
        config: StartConfig | None = None,
        modes: StartModes | None = None,
        env: Mapping[str, str] | None = None,
        proxy: "ProxySession | None" = None,
    ) -> None:
        self._agent = agent
        self._cwd = cwd
        self._config = config or StartConfig()
        self._modes = modes or StartModes(env)
        self._env = {**os.environ, **(env or {}), **agent.env}
        self._proxy = proxy
        self._child: Child | None = None
        self._told = anyio.Event()
        self.port = self._config.port
        self.said: deque[str] = deque(maxlen=50)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def has_process(self) -> bool:
        return self._child is not None and self._child.returncode is None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp"

    async def start(self) -> None:
        """Returns when the agent is ready, or when there is no more to wait for: a client may be luckier than we.

        Raises:
            PortTaken: something else listens on the port that was asked for.
            AgentMissing: there is no such command.
            AgentEnded: it cannot be started, or it ended at once.
        """
        if self.has_process:
            return
        if self._agent.port is None:
            raise ConnectionLost(f"{self._agent.title} does not listen on a port")
        if self._config.port and not is_free(self._config.port):
            raise PortTaken(f"The port {self._config.port} is taken.", hint="Name another one, or none at all.")
        self.port = self._config.port or free_port()
        found = await self._modes.resolve(self._agent.command, self._config)
        argv = found or (self._agent.command,)
        rest = tuple(part.format(port=self.port) for part in self._agent.port)
        self._told = anyio.Event()
        env = self._env if self._proxy is None else self._proxy.env(self._env)
        try:
            self._child = await spawn(
                (*argv, *rest), cwd=self._cwd, env=env, on_stderr=self._hear, on_stdout=self._hear
            )
        except TransportError as error:
            kind = AgentMissing if found is None else AgentEnded
            raise kind(str(error), hint=self._agent.install or None) from error
        with anyio.move_on_after(START_LIMIT):
            await self._wait_ready(self._child)
        if self._child.returncode is not None:
            last = "; ".join(list(self.said)[-3:])
            raise AgentEnded(f"{self._agent.title} ended with {self._child.returncode}: {last}")

    async def _wait_ready(self, child: Child) -> None:
        """The first of: it says so, its socket opens, it ends, the checks are used up."""
        async with anyio.create_task_group() as tasks:

            async def until_told() -> None:
                await self._told.wait()
                tasks.cancel_scope.cancel()

            async def until_open() -> None:
                await anyio.sleep(CHECK_AFTER)
                for _ in range(CHECK_TIMES):
                    if await answers(self.url):
                        break
                    await anyio.sleep(CHECK_EVERY)
                tasks.cancel_scope.cancel()

            async def until_ended() -> None:
                await child.wait()
                tasks.cancel_scope.cancel()

            for job in (until_told, until_open, until_ended):
                tasks.start_soon(job)

    def _hear(self, line: str) -> None:
        self.said.append(line)
        _log.debug("%s: %s", self._agent.name, line)
        if _READY.search(line):
            self._told.set()

    async def stop(self) -> None:
        """SIGTERM to all that it started, SIGKILL to what is left."""
        child, self._child = self._child, None
        if child is not None:
            await child.kill()
            child.close()

    async def restart(self) -> None:
        await self.stop()
        self._modes.clear()
        await self.start()


class PortAgent:
    """An agent that has to be started on a port before its socket can be opened: an `Opener`."""

    def __init__(self, agent: KnownAgent, cwd: Path, *, proxy: "ProxySession | None" = None, port: int = 0) -> None:
        self._managed = ManagedAgent(agent, cwd=cwd, proxy=proxy, config=StartConfig(port=port))
        self._socket: SocketAgent | None = None

    async def __aenter__(self) -> MessageStream:
        try:
            await self._managed.start()
            return await self._open()
        except BaseException:
            await self._managed.stop()
            raise

    async def _open(self) -> MessageStream:
        """An agent may speak of its port a moment before it listens there."""
        for tries_left in reversed(range(CHECK_TIMES)):
            socket = SocketAgent(self._managed.url)
            try:
                stream = await socket.__aenter__()
            except TransportError:
                if not tries_left or not self._managed.has_process:
                    raise
                await anyio.sleep(CHECK_EVERY)
                continue
            self._socket = socket
            return stream
        raise AssertionError("the last try returned or raised")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            if self._socket is not None:
                await self._socket.__aexit__(kind, error, trace)
            await self._managed.stop()

    def why(self) -> str:
        return "; ".join(list(self._managed.said)[-3:])


async def answers(url: str, *, timeout: float = 2.0) -> bool:
    """Whether a WebSocket opens there."""
    try:
        async with WebSocketClient(url, open_timeout=timeout):
            return True
    except TransportError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
