"""The web host on loopback, in the test's own loop, and small clients for it: plain HTTP and a WebSocket."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import websockets

from weft.surfaces.files import Folders
from weft.surfaces.web.app import WebHost
from weft.surfaces.web.hub import Hub
from weft.surfaces.web.ports import Opening
from weft.testing.connection import ScriptedConnection, Turn


class Served:
    def __init__(self, host: WebHost, hub: Hub, agents: list[ScriptedConnection]) -> None:
        self.host = host
        self.hub = hub
        self.agents = agents
        self.cookie = ""

    async def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """A request as it is written here; nothing is added to it."""
        given = {"Host": f"127.0.0.1:{self.host.port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
        async with await anyio.connect_tcp("127.0.0.1", self.host.port) as stream:
            await stream.send(f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
            data = b""
            with contextlib.suppress(anyio.EndOfStream):
                while True:
                    data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        status, *rest = head.decode().split("\r\n")
        return int(status.split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}, body.decode()

    async def log_in(self) -> str:
        path = self.host.link().split(str(self.host.port), 1)[1]
        _, headers, _ = await self.get(path)
        self.cookie = headers["set-cookie"].split(";")[0]
        return headers["set-cookie"]

    def connect(self, *, origin: str | None = "own", cookie: str | None = None, host: str = "") -> Any:
        own = f"http://127.0.0.1:{self.host.port}"
        extra = {"Cookie": self.cookie if cookie is None else cookie}
        if host:
            extra["Host"] = host
        return websockets.connect(
            f"ws://127.0.0.1:{self.host.port}/socket",
            origin=own if origin == "own" else origin,  # pyright: ignore[reportArgumentType]
            additional_headers=extra,
            max_size=None,
            open_timeout=30,
        )


class Talk:
    """A page's side of the socket."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.seen: list[dict[str, Any]] = []

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type, **fields}))

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first frame that is wanted; those before it stay in `seen`."""
        for at, frame in enumerate(self.seen):
            if wanted(frame):
                return self.seen.pop(at)
        with anyio.fail_after(30):
            while True:
                frames = json.loads(await self.socket.recv())
                self.seen += frames
                for at, frame in enumerate(self.seen):
                    if wanted(frame):
                        return self.seen.pop(at)

    async def frame(self, type: str) -> dict[str, Any]:
        return await self.until(lambda frame: frame["type"] == type)

    async def chunk(self, type: str) -> dict[str, Any]:
        found = await self.until(lambda frame: frame["type"] == "streamChunk" and frame["chunk"]["type"] == type)
        return found["chunk"]

    async def fresh(self) -> str:
        """A new conversation's id."""
        await self.send("newConversation")
        return (await self.frame("conversationOpened"))["row"]["id"]


@asynccontextmanager
async def served(folder: Path, turns: Sequence[Turn] = (), **more: Any) -> AsyncIterator[Served]:
    agents: list[ScriptedConnection] = []

    def open_agent(opening: Opening) -> ScriptedConnection:
        agents.append(ScriptedConnection(turns))
        return agents[-1]

    host_options = {name: more.pop(name) for name in ("head_limit", "ancestors") if name in more}
    hub = Hub(Folders([folder]), more.pop("open_agent", open_agent), **more)
    host = WebHost(hub, **host_options)
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        yield Served(host, hub, agents)
        group.cancel_scope.cancel()
