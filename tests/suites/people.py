"""People who use Weft all day, for the soak: one at the terminal, in tmux, and one at the page, over its socket."""

import json
import os
import re
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc
import websockets
from anyio import to_thread

from tests.e2e.terminal.tmux import Terminal
from tests.suites.processes import command


class AtTheTerminal:
    """`weft` in a window. Commands that only print are allowed; nothing else is asked for."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self._window = Terminal(f"weft-soak-{os.getpid()}", Path(env["HOME"]), folder, env | {"TERM": "xterm-256color"})

    async def __aenter__(self) -> Self:
        await to_thread.run_sync(lambda: self._window.start("--allowedTools", "Bash(echo:*)", size=(100, 40)))
        await to_thread.run_sync(self._window.shows, "> ")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._window.close)

    async def turn(self, text: str) -> str:
        """Types it, and waits until the whole answer to it stands on the screen."""
        await to_thread.run_sync(self._window.type, text)
        await to_thread.run_sync(self._window.press, "Enter")
        await to_thread.run_sync(self._window.shows, f"That was {text}.")
        return "completed"


class AtThePage:
    """`weft web`, and what its page does: one socket, one conversation, every permission allowed once."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self._folder = folder
        self._env = env
        self._stack = AsyncExitStack()
        self._frames: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        host = await anyio.open_process(command("web", "--no-open"), cwd=self._folder, env=self._env, stderr=None)
        await self._stack.enter_async_context(host)
        self._stack.callback(host.terminate)
        assert host.stdout is not None
        said = b""
        with anyio.fail_after(60):
            while b"\n" not in said:
                said += await host.stdout.receive()
        found = re.search(rb"http://(127\.0\.0\.1:\d+)(/\S+)", said)
        assert found is not None, said
        place, link = found[1].decode(), found[2].decode()
        opening = websockets.connect(
            f"ws://{place}/socket",
            origin=f"http://{place}",  # pyright: ignore[reportArgumentType]
            additional_headers={"Cookie": await self._cookie(place, link)},
            max_size=None,
        )
        self._socket = await self._stack.enter_async_context(opening)
        await self._say(type="ready")
        await self._say(type="newConversation")
        opened = await self._until("conversationOpened")
        self._conversation = opened["row"]["id"]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @staticmethod
    async def _cookie(place: str, link: str) -> str:
        host, port = place.split(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(f"GET {link} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n".encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
        found = re.search(rb"(?i)set-cookie: ([^;]+)", head)
        assert found is not None, head
        return found[1].decode()

    async def turn(self, text: str) -> str:
        await self._say(type="sendMessage", conversation=self._conversation, text=text)
        while True:
            chunk = (await self._until("streamChunk"))["chunk"]
            if chunk["type"] == "tool_confirmation":
                answer = {"requestId": chunk["request_id"], "outcome": "allow"}
                await self._say(type="toolApproval", conversation=self._conversation, **answer)
            elif chunk["type"] == "turn_end":
                return str(chunk["reason"])

    async def _say(self, **message: Any) -> None:
        await self._socket.send(json.dumps(message))

    async def _until(self, kind: str) -> dict[str, Any]:
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame["type"] == kind:
                    return frame
            self._frames = json.loads(await self._socket.recv())
