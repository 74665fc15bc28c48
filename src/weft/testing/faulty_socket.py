"""Faults on the way to a server, driven by a seed: a relay on loopback that spoils some connections.

    async with FaultySocket(server_port, seed=3) as relay:
        env = {"ANTHROPIC_BASE_URL": relay.url}

Each connection gets a plan: nothing, a cut or garbage after some bytes of the answer, a cut of the request, slowness,
or silence. `faults` says what was done to each, in order.
"""

from random import Random
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.abc

FAULTS: Final = ("none", "none", "cut", "garbage", "cut request", "slow", "refuse")


class FaultySocket:
    """Relays to 127.0.0.1:`port`. `quiet` seconds of nothing are the longest that it is slow."""

    def __init__(self, port: int, *, seed: int, quiet: float = 0.1) -> None:
        self._port = port
        self._random = Random(seed)
        self._quiet = quiet
        self.faults: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        listener = self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(listener.serve, self._relay)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(kind, value, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await self._listener.aclose()

    async def _relay(self, client: anyio.abc.SocketStream) -> None:
        fault = self._random.choice(FAULTS)
        after = self._random.randrange(0, 3000)
        self.faults.append(fault)
        async with client:
            if fault == "refuse":
                return
            try:
                server = await anyio.connect_tcp("127.0.0.1", self._port)
            except OSError:
                return
            async with server, anyio.create_task_group() as group:
                asked = after % 300 if fault == "cut request" else -1
                group.start_soon(self._pump, client, server, "cut" if asked >= 0 else "none", asked, group)
                group.start_soon(self._pump, server, client, fault, after, group)

    async def _pump(
        self,
        source: anyio.abc.SocketStream,
        target: anyio.abc.SocketStream,
        fault: str,
        after: int,
        group: anyio.abc.TaskGroup,
    ) -> None:
        passed = 0
        try:
            async for data in source:
                if fault == "slow":
                    await anyio.sleep(self._random.random() * self._quiet)
                if fault in ("cut", "garbage") and passed + len(data) > after:
                    await target.send(data[: max(0, after - passed)])
                    if fault == "garbage":
                        await target.send(b"\x00\xff\r\nHTTP/9.9 weft\r\n\r\ndata: {\r\n")
                    break
                await target.send(data)
                passed += len(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        group.cancel_scope.cancel()
