"""A call that is cancelled, wherever it waits: it ends at once, leaves nothing half done and nothing running, and the
same tool works again.

Every part that a tool may wait for is put behind a turnstile that lets so many operations through and then holds,
before or after the next one. The tool is cancelled while it is held; then the turnstile holds later, until the tool
comes to its end without having met it."""

import inspect
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
import pytest
from anyio.abc import SocketAttribute, SocketStream

from tests.contract.test_tool import RIGHT, TOOLS
from weft.errors import ToolError
from weft.schema.content import Json
from weft.testing.tool_context import FakeAsker, FakeSession, FakeSpawner, FakeTasks, fake_tool_context
from weft.tools.port import AnyTool, Found, PlanVerdict, ToolContext
from weft.tools.skill import Loaded, Skill
from weft.tools.web_fetch import WebFetch
from weft.workspace.local import LocalWorkspace

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n--- /dev/null\n+++ b/fresh.txt\n@@ -0,0 +1 @@\n+new\n"
ARGUMENTS: dict[str, Json] = {
    **RIGHT,
    "ApplyPatch": {"patch": PATCH},
    "Bash": {"command": "echo one; cat a.txt; echo two"},
    "Grep": {"pattern": "one", "output_mode": "content"},
}
LIMIT = 60


async def serve_page(stream: SocketStream) -> None:
    async with stream:
        await stream.receive()
        await stream.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"
        )


class Turnstile:
    """Lets `free` operations through, then holds one of them until it is cancelled. `open` for ever after that."""

    def __init__(self, free: int, when: Literal["before", "after"]) -> None:
        self._left = free
        self._when = when
        self.reached = anyio.Event()
        self.held = False
        self.open = False

    async def pass_(self, when: Literal["before", "after"]) -> None:
        if self.open or self.reached.is_set() or when != self._when:
            return
        if self._left:
            self._left -= 1
            return
        self.held = True
        self.reached.set()
        await anyio.sleep_forever()


class Behind:
    """Anything, with every coroutine and every stream of it behind the turnstile."""

    def __init__(self, inner: Any, turnstile: Turnstile, started: list[Any]) -> None:
        self._inner = inner
        self._turnstile = turnstile
        self._started = started

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "output":
            return self._output
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **options: Any) -> Any:
            # Ending a process is part of being cancelled.
            if name != "kill":
                await self._turnstile.pass_("before")
            answer = await found(*args, **options)
            if name == "start":
                self._started.append(answer)
                answer = Behind(answer, self._turnstile, self._started)
            # Between the start of a process and its being known to the tool there is no wait.
            if name not in ("kill", "start"):
                await self._turnstile.pass_("after")
            return answer

        return call

    async def _output(self) -> AsyncIterator[bytes]:
        async for data in self._inner.output():
            await self._turnstile.pass_("before")
            yield data
            await self._turnstile.pass_("after")


class Bench:
    """A folder, the parts of a context, and the tool."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        notebook = {"cells": [{"cell_type": "code", "id": "c1", "source": ["1"]}], "nbformat": 4, "nbformat_minor": 5}
        (root / "a.txt").write_text("one\n")
        (root / "n.ipynb").write_bytes(msgspec.json.encode(notebook))
        self.workspace = LocalWorkspace([root])
        self.session = FakeSession(root)
        self.tasks = FakeTasks()
        self.started: list[Any] = []
        self.name = name

    def context(self, turnstile: Turnstile) -> ToolContext:
        def behind(part: object) -> Any:
            return Behind(part, turnstile, self.started)

        async def search(_query: str, _allowed: tuple[str, ...], _blocked: tuple[str, ...]) -> Found:
            await turnstile.pass_("before")
            return Found(hits=(), text="nothing")

        context = fake_tool_context(
            behind(self.workspace),
            cwd=self.root,
            session=self.session,
            tasks=behind(self.tasks),
            asker=behind(FakeAsker({"Which?": "A"}, PlanVerdict(True))),
            spawner=behind(FakeSpawner()),
        )
        return msgspec.structs.replace(context, search=search)

    def tool(self, turnstile: Turnstile, port: int) -> AnyTool:
        async def load(name: str, arguments: str) -> Loaded:
            await turnstile.pass_("before")
            return Loaded(f"{name} {arguments}")

        async def resolve(_host: str, _port: int) -> str:
            await turnstile.pass_("before")
            return "127.0.0.1"

        if self.name == "Skill":
            return Skill(load)
        return WebFetch(resolve) if self.name == "WebFetch" else TOOLS[self.name]

    def files(self) -> dict[str, bytes]:
        return {os.path.relpath(path, self.root): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


async def cancelled_at(bench: Bench, free: int, when: Literal["before", "after"], port: int) -> bool:
    """Runs the tool and cancels it at the turnstile; False when it came to its end before that."""
    turnstile = Turnstile(free, when)
    context, tool = bench.context(turnstile), bench.tool(turnstile, port)
    ended = anyio.Event()

    async def run() -> None:
        with suppress(ToolError):
            await tool.run(tool.decode(_arguments(bench.name, port)), context)
        ended.set()

    before = bench.files()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as group:
            group.start_soon(run)

            async def wait_for_end() -> None:
                await ended.wait()
                turnstile.reached.set()

            group.start_soon(wait_for_end)
            await turnstile.reached.wait()
            group.cancel_scope.cancel()
    if ended.is_set():
        assert not turnstile.held, "the cancel was swallowed"
        return False
    for process in bench.started:
        with anyio.fail_after(LIMIT):
            await process.wait()
    assert bench.files() in (before, _done(bench, before)), f"half done: {bench.files()}"
    return True


def _arguments(name: str, port: int) -> Json:
    return {**ARGUMENTS[name], **({"url": f"http://page.test:{port}/"} if name == "WebFetch" else {})}


def _done(bench: Bench, before: dict[str, bytes]) -> dict[str, bytes]:
    """What the tool leaves behind when it comes to its end."""
    match bench.name:
        case "ApplyPatch":
            return {**before, "a.txt": b"two\n", "fresh.txt": b"new\n"}
        case "Edit" | "MultiEdit":
            return {**before, "a.txt": b"two\n"}
        case "Write":
            return {**before, "b.txt": b"x"}
        case "NotebookEdit":
            return {**before, "n.ipynb": before["n.ipynb"].replace(b'"1"', b'"2"')}
        case _:
            return before


async def cancel_everywhere(folder: Path, name: str, when: Literal["before", "after"], port: int) -> int:
    """At how many points the tool was held and cancelled; after each it has to work again."""
    points = 0
    while True:
        root = folder / str(points)
        root.mkdir()
        bench = Bench(root, name)
        bench.tasks.tasks["b1"] = await FakeTasks().start_shell("t", "x", "x", root)
        if not await cancelled_at(bench, points, when, port):
            return points
        points += 1
        idle = Turnstile(0, "before")
        idle.open = True
        tool = bench.tool(idle, port)
        with anyio.fail_after(LIMIT):
            try:
                again = await tool.run(tool.decode(_arguments(name, port)), bench.context(idle))
                assert not again.is_error
            except ToolError as error:
                # The change was made before the cancel; it cannot be made twice.
                assert bench.files() == _done(bench, bench.files()), error


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", sorted(TOOLS))
async def test_a_call_cancelled_wherever_it_waits_leaves_nothing_half_done(
    name: str, when: Literal["before", "after"], tmp_path: Path
):
    points = 0
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve_page)
        points = await cancel_everywhere(tmp_path, name, when, listener.extra(SocketAttribute.local_port))
        group.cancel_scope.cancel()
    waits = when == "before" and name not in ("EnterPlanMode", "TodoWrite", "ToolSearch")
    assert points or not waits, "a tool that waits was never held"
