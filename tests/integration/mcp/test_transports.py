"""WebSockets, tasks, calls in the background, and definitions that are looked up by name."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.mcp.conftest import OpenHost, Person, hostile
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import InputAnswer
from weft.schema.content import ToolUse, text_of
from weft.schema.events import TaskInfo
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools import mcp as mcp_tools
from weft.tools.mcp import McpTools
from weft.tools.tasks import BackgroundTasks


async def ready(host: Host) -> None:
    with anyio.fail_after(30):
        await host.settle(60)
    assert host.servers()[0].state == "ready", host.servers()


async def answer_frames(socket: Any) -> None:
    """A server of one tool, by hand."""
    async for frame in socket:
        message = json.loads(frame)
        if "id" not in message:
            continue
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "socket", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": json.dumps(message.get("params"))}]},
        }
        result = results.get(message["method"])
        reply = {"result": result} if result else {"error": {"code": -32601, "message": "what?"}}
        await socket.send("this is not JSON")
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}))


async def test_a_websocket_server_gets_our_headers_and_subprotocol(open_host: OpenHost):
    from websockets.asyncio.server import serve

    seen: list[tuple[str | None, str | None]] = []

    async def handle(socket: Any) -> None:
        seen.append((socket.request.headers.get("X-Key"), socket.request.headers.get("User-Agent")))
        assert socket.subprotocol == "mcp"
        await answer_frames(socket)

    async with serve(handle, "127.0.0.1", 0, subprotocols=["mcp"]) as server:  # pyright: ignore[reportArgumentType]
        port = next(iter(server.sockets)).getsockname()[1]
        config = ServerConfig(name="ws", transport="ws", url=f"ws://127.0.0.1:{port}/", headers={"X-Key": "k"})
        async with open_host(config) as host:
            await ready(host)
            result = await host.call("ws", "echo", {"a": 1})
            assert '"a": 1' in text_of(result.content)
    assert seen[0][0] == "k" and (seen[0][1] or "").startswith("weft/")


async def test_a_websocket_that_is_refused_is_a_failed_server(open_host: OpenHost):
    config = ServerConfig(name="ws", transport="ws", url="ws://127.0.0.1:9/")
    async with open_host(config, reconnects=0) as host:
        with anyio.fail_after(30):
            await host.settle(60)
        assert host.servers()[0].state == "failed" and "cannot connect" in (host.servers()[0].error or "")


def modern(**spec: Any) -> ServerConfig:
    import msgspec

    return msgspec.structs.replace(hostile(modern=True, **spec), protocol="auto")


async def test_a_task_is_followed_to_its_end(open_host: OpenHost):
    person = Person(InputAnswer("accept", {"n": "Ada"}))
    async with open_host(modern(tools=["later"]), ask_input=person) as host:
        await ready(host)
        with anyio.fail_after(30):
            assert text_of((await host.call("bad", "later", {})).content) == "done later"
            failed = await host.call("bad", "later", {"id": "fails"})
            assert failed.is_error and "the disk is full" in text_of(failed.content)
            asked = await host.call("bad", "later", {"id": "asks"})
            assert "Ada" in text_of(asked.content) and "Who?" in person.shown[0]


async def test_cancelling_a_call_cancels_its_task(open_host: OpenHost):
    async with open_host(modern(tools=["later", "cancelled"])) as host:
        await ready(host)
        with anyio.move_on_after(0.6):
            await host.call("bad", "later", {"id": "endless"})
        with anyio.fail_after(30):
            assert "tasks/cancel" in text_of((await host.call("bad", "cancelled", {})).content)


async def test_a_call_that_takes_long_goes_on_in_the_background(
    open_host: OpenHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mcp_tools, "BACKGROUND_AFTER", 0.1)
    changes: list[TaskInfo] = []
    workspace = MemoryWorkspace()
    async with (
        BackgroundTasks(workspace, tmp_path / "tasks", on_change=changes.append) as tasks,
        open_host(hostile(tools=["slow"])) as host,
    ):
        await ready(host)
        (tool,) = McpTools(host)()
        context = fake_tool_context(workspace, tasks=tasks, use=ToolUse("u1", tool.name, {}))
        result = await tool.run(tool.decode({"steps": 4, "pause": 0.1}), context)
        assert "goes on in the background" in text_of(result.content)
        (task,) = tasks.list()
        assert task.kind == "mcp" and task.state == "running"
        with anyio.fail_after(30):
            info, text = await tasks.read(task.id, wait=5)
        assert info.state == "completed" and text.strip() == "done"
        second = await tool.run(tool.decode({"steps": 40, "pause": 0.1}), context)
        assert "goes on" in text_of(second.content)
        with anyio.fail_after(30):
            assert (await tasks.stop(tasks.list()[1].id)).state == "stopped"


async def test_definitions_that_would_fill_the_window_are_looked_up_by_name(open_host: OpenHost):
    long = [{"name": f"t{n}", "description": "word " * 200, "inputSchema": {"type": "object"}} for n in range(20)]
    always = {**long[0], "name": "keep", "_meta": {"anthropic/alwaysLoad": True}}
    async with open_host(hostile(tools=[*long, always])) as host:
        await ready(host)
        assert not any(tool.deferred for tool in McpTools(host, budget=100_000)())
        made = {tool.name: tool.deferred for tool in McpTools(host, budget=500)()}
        assert made["mcp__bad__t1"] and not made["mcp__bad__keep"]
