"""The real `claude` command in a private tmux, between a scripted model and Weft's IDE server."""

import json
import re
import shlex
import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from tests.peers import peer_bin
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import ServerSpec
from weft.ide.server import IdeServer
from weft.schema.content import Text, ToolUse
from weft.testing.fake_anthropic import FakeAnthropic
from weft.transports.kernel import kernel_is_installed

FILES = {"calc.py": "def add(a, b):\n    return a + b\n", "notes.txt": "one\ntwo\nthree\nfour\n"}
SUM = "def add(a, b):\n    return a + b  # sum\n"
LIMIT = 60.0


class ClaudePeer:
    """Entered, everything is there but the command; `start` runs it. Each has its own home, folder and tmux."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        use_port: bool = True,
        mode: str = "default",
        servers: tuple[ServerSpec, ...] = (),
        jupyter: Callable[[], bool] = kernel_is_installed,
        through: Sequence[str] = (),
    ) -> None:
        self.home = folder / "home"
        self.ws = folder / "ws"
        self._arguments = arguments
        self._use_port = use_port
        self._mode = mode
        self._servers = servers
        self._jupyter = jupyter
        self._through = through
        self._tmux_name = f"weft-{uuid.uuid4().hex[:12]}"
        self._stack = AsyncExitStack()
        self.sent: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        (self.home / ".claude").mkdir(parents=True)
        self.ws.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (self.ws / name).write_text(text)
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {"hasCompletedOnboarding": True, "theme": "dark", "lastOnboardingVersion": "99.0.0"}
        config = {**settings, "projects": {str(self.ws): trusted}}
        (self.home / ".claude.json").write_text(json.dumps(config))
        enter = self._stack.enter_async_context
        self._model = await enter(FakeAnthropic(self._reply))
        self.editor = await enter(HeadlessEditor([self.ws], name="Weft", servers=self._servers, jupyter=self._jupyter))
        self.server = await enter(IdeServer(self.editor, home=self.home / ".claude", tap=self._tap))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with anyio.move_on_after(5, shield=True):
            await self.tmux("kill-server")
        return await self._stack.__aexit__(kind, error, trace)

    def command(self) -> list[str]:
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": self._model.url,
            "ANTHROPIC_AUTH_TOKEN": "fake",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            **(self.server.environment if self._use_port else {}),
        }
        variables = [f"{name}={value}" for name, value in env.items()]
        claude = [str(peer_bin("claude")), "--permission-mode", self._mode, *self._arguments]
        return ["env", "-i", *variables, *self._through, *claude]

    async def start(self, *, attached: bool = True) -> None:
        """Runs the command; returns when it shows its prompt and, unless told otherwise, has attached."""
        where = ["-x", "150", "-y", "50", "-c", str(self.ws)]
        await self.tmux("new-session", "-d", "-s", "x", *where, shlex.join(self.command()))
        await self.shows("❯")
        if attached:
            await self.until(lambda: "tools/list" in self.methods())
            await anyio.sleep(0.5)

    # The terminal.

    async def tmux(self, *arguments: str) -> str:
        argv = [str(peer_bin("tmux")), "-L", self._tmux_name, *arguments]
        return (await anyio.run_process(argv, check=False)).stdout.decode()

    async def screen(self) -> str:
        return await self.tmux("capture-pane", "-p", "-t", "x")

    async def key(self, *keys: str) -> None:
        await self.tmux("send-keys", "-t", "x", *keys)

    async def choose(self, key: str) -> None:
        """Answers the question on the screen. One that has only just come up takes no key yet: then again."""
        while "Do you want to" in await self.screen():
            await self.key(key)
            with anyio.move_on_after(2):
                while "Do you want to" in await self.screen():
                    await anyio.sleep(0.05)

    async def say(self, text: str) -> None:
        await self.tmux("send-keys", "-t", "x", "-l", text)
        while text not in (await self.screen()).replace("\n", ""):
            await anyio.sleep(0.05)
        await anyio.sleep(0.3)
        await self.key("Enter")

    async def shows(self, text: str) -> None:
        try:
            with anyio.fail_after(LIMIT):
                while text not in await self.screen():
                    await anyio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{text!r} is not on the screen:\n{await self.screen()}") from None

    async def until(self, condition: Callable[[], object], limit: float = LIMIT) -> bool:
        with anyio.move_on_after(limit):
            while not condition():
                await anyio.sleep(0.05)
        return bool(condition())

    # What passed between the command and our server.

    def _tap(self, direction: str, frame: str) -> None:
        if direction == "<":
            self.sent.append(json.loads(frame))

    def methods(self) -> list[str]:
        return [message.get("method", "") for message in self.sent]

    def calls(self, name: str | None = None) -> list[dict[str, Any]]:
        found = [message["params"] for message in self.sent if message.get("method") == "tools/call"]
        return [call for call in found if name in (None, call["name"])]

    async def edit(self) -> dict[str, str]:
        """Has the model propose an edit, and returns what was asked of the editor."""
        await self.say("[[edit]] go")
        assert await self.until(lambda: len(self.server.toolbox.diffs)), await self.screen()
        await self.shows("Do you want to")
        return self.calls("openDiff")[0]["arguments"]

    # The model.

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [request.body for request in self._model.requests if request.body.get("tools")]

    def tools_of_the_model(self) -> set[str]:
        """Those of ours that the last request has, or names for later."""
        names = {tool["name"] for tool in self.requests[-1]["tools"]} | set(re.findall(r"mcp__ide__\w+", self.told()))
        return {name for name in names if name.startswith("mcp__ide__")}

    def told(self) -> str:
        """All text of the last request."""
        found: list[str] = []
        for message in self.requests[-1]["messages"]:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "text":
                    found.append(block["text"])
                elif block["type"] == "tool_result":
                    inner = block["content"]
                    found.append(inner if isinstance(inner, str) else json.dumps(inner))
        return "\n".join(found)

    def _reply(self, body: dict[str, Any]) -> Any:
        """A prompt with `[[name]]` picks a scenario; the n-th request after it gets its n-th reply."""
        if not body.get("tools"):
            return "ok"
        name, after = "", 0
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                after += 1
            for block in blocks if message["role"] == "user" else ():
                for found in re.findall(r"\[\[([\w-]+)\]\]", block.get("text", "")):
                    name, after = found, 0
        replies = self._scenarios().get(name, [])
        return replies[after] if after < len(replies) else "done."

    def _scenarios(self) -> dict[str, Sequence[Any]]:
        path = str(self.ws / "calc.py")
        edit = {"file_path": path, "old_string": "return a + b", "new_string": "return a + b  # sum"}
        number = len(self._model.requests)
        return {
            "hello": ["Hello from the fake model."],
            "edit": [
                [Text("Reading."), ToolUse(f"toolu_r{number}", "Read", {"file_path": path})],
                [ToolUse(f"toolu_e{number}", "Edit", edit)],
                "Edited.",
            ],
            "lint": [
                [ToolUse(f"toolu_r{number}", "Read", {"file_path": path})],
                [
                    ToolUse(
                        f"toolu_e{number}", "Edit", {**edit, "old_string": "def", "new_string": "import os\n\n\ndef"}
                    )
                ],
                "Linted.",
            ],
        }
