"""Real servers through our agent, with a scripted model: tools, prompts, resources, questions, models, folders."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.peers import peer_bin, peer_folder
from weft.agent.options import ALL_ASKS, SessionOptions
from weft.connect.port import Connection
from weft.schema.commands import Complete, InputGiven, Prompt
from weft.schema.content import Image, Json, ToolResult, text_of
from weft.schema.events import AgentEvent, Completed, InputRequested, Reported, ToolEnded, ToolProgressed, TurnEnded
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import Script, ScriptedProvider, call

MODERN = Path(__file__).with_name("modern_server.py")


def npm(server: str, *arguments: str) -> Json:
    root = peer_folder("mcp-servers") / "node_modules/@modelcontextprotocol"
    return {"type": "stdio", "command": "node", "args": [str(root / server / "dist/index.js"), *arguments]}


def python(server: str, *arguments: str, peer: str = "mcp-python-servers") -> Json:
    program = peer_bin(peer).parent / server
    return {"type": "stdio", "command": str(program), "args": list(arguments)}


class Run:
    """One turn of a session: its events, and the results of its tools by tool name."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        self.events: list[AgentEvent] = []
        self.asked: list[InputRequested] = []

    def result(self, name: str) -> ToolResult:
        found = [event.result for event in self.events if isinstance(event, ToolEnded) and event.name == name]
        assert found, [event.name for event in self.events if isinstance(event, ToolEnded)]
        return found[-1]

    def text(self, name: str) -> str:
        result = self.result(name)
        assert not result.is_error, result
        return text_of(result.content)


@asynccontextmanager
async def opened(cwd: Path, servers: dict[str, Json], script: Script) -> AsyncIterator[tuple[Connection, Run]]:
    run = Run(ScriptedProvider(script))
    options = SessionOptions(
        cwd=cwd,
        mcp_configs=(json.dumps({"mcpServers": servers}),),
        strict_mcp=True,
        asks=ALL_ASKS,
        allowed_tools=tuple(f"mcp__{name}" for name in servers),
        env={"WEFT_MCP_WAIT": "60000"},
        persist=False,
    )
    with anyio.fail_after(180):
        async with connect(options, Overrides(provider=run.provider)) as connection:
            yield connection, run


async def turn(connection: Connection, run: Run, prompt: str, answer: dict[str, Any] | None = None) -> None:
    await connection.send(Prompt(prompt))
    async for event in connection.events():
        run.events.append(event)
        if isinstance(event, InputRequested):
            run.asked.append(event)
            await connection.send(InputGiven(event.request_id, "accept", answer or {}))
        if isinstance(event, TurnEnded):
            assert event.reason == "completed", event
            return


async def played(cwd: Path, servers: dict[str, Json], *calls: Any, answer: dict[str, Any] | None = None) -> Run:
    """A turn in which the model makes these calls, one after another."""
    async with opened(cwd, servers, [*calls, "done"]) as (connection, run):
        await turn(connection, run, "go", answer)
        return run


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """The folder on loopback; its port."""
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().split("port ")[1].split()[0]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


async def test_everything_offers_all_kinds_of_content(tmp_path: Path):
    run = await played(
        tmp_path,
        {"ev": npm("server-everything", "stdio")},
        call("mcp__ev__echo", message="hi"),
        call("mcp__ev__get-sum", a=2, b=3),
        call("mcp__ev__get-tiny-image"),
        call("mcp__ev__get-structured-content", location="New York"),
        call("mcp__ev__get-resource-links", count=2),
        call("mcp__ev__trigger-long-running-operation", duration=1, steps=2),
        call("ListMcpResourcesTool", server="ev"),
    )
    assert run.text("mcp__ev__echo") == "Echo: hi"
    assert "5" in run.text("mcp__ev__get-sum")
    assert any(isinstance(block, Image) for block in run.result("mcp__ev__get-tiny-image").content)
    assert "temperature" in run.text("mcp__ev__get-structured-content")
    assert "not fetched" in run.text("mcp__ev__get-resource-links")
    assert "uriTemplate" in run.text("ListMcpResourcesTool")
    assert any(type(event).__name__ == "ToolProgressed" for event in run.events)


async def test_everything_asks_the_person_the_model_and_for_folders(tmp_path: Path):
    run = await played(
        tmp_path,
        {"ev": npm("server-everything", "stdio")},
        call("mcp__ev__trigger-elicitation-request"),
        call("mcp__ev__trigger-sampling-request", prompt="Say hello", maxTokens=50),
        "hello from the model",
        call("mcp__ev__get-roots-list"),
        answer={"name": "Ada"},
    )
    assert "Ada" in run.text("mcp__ev__trigger-elicitation-request")
    assert "hello from the model" in run.text("mcp__ev__trigger-sampling-request")
    assert tmp_path.name in run.text("mcp__ev__get-roots-list")
    assert any(request.schema and "name" in json.dumps(request.schema) for request in run.asked)
    assert any("asks your model" in request.message for request in run.asked)


async def test_a_tool_of_the_older_protocol_that_runs_as_a_task_only_is_followed_to_its_end(tmp_path: Path):
    run = await played(
        tmp_path,
        {"ev": npm("server-everything", "stdio")},
        call("mcp__ev__simulate-research-query", topic="python", ambiguous=True),
        answer={"interpretation": "programming"},
    )
    assert "# Research Report: python" in run.text("mcp__ev__simulate-research-query")
    assert any("multiple interpretations" in request.message for request in run.asked)
    assert any(event.message for event in run.events if isinstance(event, ToolProgressed))


async def test_everything_sends_a_person_to_an_address_only_after_a_yes(tmp_path: Path):
    run = await played(
        tmp_path,
        {"ev": npm("server-everything", "stdio")},
        call("mcp__ev__trigger-url-elicitation", url="https://example.com/verify", message="Please verify"),
    )
    assert any(request.url == "https://example.com/verify" for request in run.asked), run.events
    assert any("Site: example.com" in request.message for request in run.asked)


async def test_prompts_are_slash_commands_and_resources_are_mentions(tmp_path: Path):
    servers = {"ev": npm("server-everything", "stdio")}
    async with opened(tmp_path, servers, ["ready", "done", "done", "done"]) as (connection, run):
        await turn(connection, run, "start")
        commands = {command.name: command for command in connection.info.commands}
        assert commands["mcp__ev__args-prompt"].argument_hint == "<city> [state]"
        await turn(connection, run, "/mcp__ev__simple-prompt")
        assert "This is a simple prompt without arguments." in run.provider.requests[-1].messages[-1].text
        await turn(connection, run, "/mcp__ev__args-prompt Paris")
        assert "Paris" in run.provider.requests[-1].messages[-1].text
        await turn(connection, run, "look at @ev:demo://resource/static/document/features.md")
        assert '<attached resource="ev:demo' in run.provider.requests[-1].messages[-1].text
        assert "Tools" in run.provider.requests[-1].messages[-1].text


async def completed(connection: Connection, text: str) -> list[str]:
    await connection.send(Complete(text, text))
    async for event in connection.events():
        if isinstance(event, Reported) and isinstance(event.report, Completed) and event.report.id == text:
            return [item.insert for item in event.report.items]
    raise AssertionError("the session ended")


async def test_what_a_server_knows_completes_arguments_resources_and_templates(tmp_path: Path):
    servers = {"ev": npm("server-everything", "stdio")}
    async with opened(tmp_path, servers, ["ready"]) as (connection, run):
        await turn(connection, run, "start")
        assert await completed(connection, "/mcp__ev__completable-prompt Eng") == ["Engineering"]
        assert "Alice" in await completed(connection, "/mcp__ev__completable-prompt Engineering ")
        assert "@ev:demo://resource/static/document/features.md " in await completed(connection, "see @features")
        assert "@ev:demo://resource/dynamic/text/" in await completed(connection, "@ev:demo://resource/dyn")
        found = await completed(connection, "@ev:demo://resource/dynamic/text/7")
        assert found == [] or found[0].startswith("@ev:demo://resource/dynamic/text/7")


async def test_filesystem_reads_and_writes_inside_the_roots(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha")
    run = await played(
        tmp_path,
        {"fs": npm("server-filesystem", str(tmp_path))},
        call("mcp__fs__read_text_file", path=str(tmp_path / "a.txt")),
        call("mcp__fs__write_file", path=str(tmp_path / "b.txt"), content="beta"),
        call("mcp__fs__read_text_file", path="/etc/passwd"),
    )
    assert (tmp_path / "b.txt").read_text() == "beta"
    outside = run.result("mcp__fs__read_text_file")
    assert outside.is_error and "denied" in text_of(outside.content).lower()


async def test_memory_and_sequential_thinking_keep_their_structure(tmp_path: Path):
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    run = await played(
        tmp_path,
        {
            "mem": {**npm("server-memory"), "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}},
            "think": npm("server-sequential-thinking"),
        },
        call("mcp__mem__create_entities", {"entities": [entity]}),
        call("mcp__mem__read_graph"),
        call(
            "mcp__think__sequentialthinking",
            {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        ),
    )
    assert "writes programs" in run.text("mcp__mem__read_graph")
    assert "thoughtNumber" in run.text("mcp__think__sequentialthinking")


async def test_git_time_and_fetch_speak_the_newer_protocol(tmp_path: Path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    run = await played(
        tmp_path,
        {
            "git": python("mcp-server-git", "--repository", str(tmp_path)),
            "time": python("mcp-server-time", "--local-timezone", "Europe/Berlin"),
            "fetch": python("mcp-server-fetch"),
        },
        call("mcp__git__git_status", repo_path=str(tmp_path)),
        call("mcp__time__get_current_time", timezone="Asia/Tokyo"),
    )
    assert "branch" in run.text("mcp__git__git_status").lower()
    assert "Asia/Tokyo" in run.text("mcp__time__get_current_time")
    tools = {tool.name for tool in run.provider.requests[0].tools}
    assert "mcp__fetch__fetch" in tools


async def test_fetch_reads_a_page_and_offers_it_as_a_prompt(tmp_path: Path):
    (tmp_path / "page.html").write_text("<title>Loom</title><p>Warp and weft.</p>")
    with pages(tmp_path) as port:
        address = f"http://127.0.0.1:{port}/page.html"
        script = [call("mcp__fetch__fetch", url=address), "done", "done"]
        async with opened(
            tmp_path, {"fetch": python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")}, script
        ) as (at, run):
            await turn(at, run, "go")
            assert "Warp and weft" in run.text("mcp__fetch__fetch")
            await turn(at, run, f"/mcp__fetch__fetch {address}")
            assert "Warp and weft" in run.provider.requests[-1].messages[-1].text


async def test_sqlite_works_although_it_does_not_know_templates(tmp_path: Path):
    run = await played(
        tmp_path,
        {"sql": python("mcp-server-sqlite", "--db-path", str(tmp_path / "t.db"), peer="mcp-sqlite")},
        call("mcp__sql__create_table", query="CREATE TABLE t (x INTEGER)"),
        call("mcp__sql__write_query", query="INSERT INTO t VALUES (42)"),
        call("mcp__sql__read_query", query="SELECT x FROM t"),
        call("ReadMcpResourceTool", server="sql", uri="memo://insights"),
    )
    assert "42" in run.text("mcp__sql__read_query")
    assert "memo://insights" in run.text("ReadMcpResourceTool")


async def test_a_modern_server_asks_in_several_rounds_and_tells_of_changes(tmp_path: Path):
    run = await played(
        tmp_path,
        {"modern": {"type": "stdio", "command": sys.executable, "args": [str(MODERN)]}},
        call("mcp__modern__add", a=20, b=22),
        call("mcp__modern__mrtr", city="Paris"),
        "sampled",
        call("mcp__modern__touch"),
        call("mcp__modern__prog"),
        answer={"name": "Ada"},
    )
    assert "42" in run.text("mcp__modern__add")
    assert "st-Paris ['llm', 'roots', 'who']" in run.text("mcp__modern__mrtr")
    assert "Ada" in run.text("mcp__modern__mrtr")
    assert run.text("mcp__modern__prog") == "done"


async def test_apps_servers_are_told_apart_by_their_ui(tmp_path: Path):
    servers = {"van": npm("server-basic-vanillajs", "--stdio"), "debug": npm("server-debug", "--stdio")}
    async with opened(tmp_path, servers, ["done"]) as (connection, run):
        await turn(connection, run, "start")
        assert {info.name for info in connection.info.servers if info.state == "ready"} == {"van", "debug"}


@pytest.mark.slow
async def test_playwright_navigates_a_real_browser_on_loopback(tmp_path: Path):
    peer_bin("chromium")
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    (tmp_path / "index.html").write_text("<title>Loom</title><h1>Weft and warp</h1>")
    script = peer_folder("mcp-servers") / "node_modules/@playwright/mcp/cli.js"
    arguments = [str(script), "--headless", "--no-sandbox", "--isolated", "--executable-path", chromium]
    with pages(tmp_path) as port:
        run = await played(
            tmp_path,
            {"web": {"type": "stdio", "command": "node", "args": arguments}},
            call("mcp__web__browser_navigate", url=f"http://127.0.0.1:{port}/"),
            call("mcp__web__browser_snapshot"),
        )
        assert "Weft and warp" in run.text("mcp__web__browser_snapshot")
