"""Hooks that are no shell command, through a session: a request, a model, an agent, a server's tool."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from tests.integration.driving import ended, session, turn
from weft.schema.content import ToolResult, text_of
from weft.schema.events import AgentEvent, HookRan, Notice, Reported, ToolEnded
from weft.testing.scripted import call


def settings(event: str, hook: dict[str, Any], **more: Any) -> str:
    return json.dumps({"hooks": {event: [{"hooks": [hook]}]}, **more})


def result(events: list[AgentEvent]) -> ToolResult:
    (found,) = [event for event in events if isinstance(event, ToolEnded) and event.parent is None]
    return found.result


def notices(events: list[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder


def reading(cwd: Path) -> list[Any]:
    return [call("Read", file_path=str(cwd / "a.txt")), "Done."]


@pytest.mark.parametrize(("status", "denied"), [("200 OK", True), ("500 Broken", False)])
async def test_an_http_hook_gets_the_input_and_its_answer_counts(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, status: str, denied: bool
):
    monkeypatch.setenv("HOOK_KEY", "k1")
    monkeypatch.setenv("HOOK_OTHER", "k2")
    requests: list[bytes] = []
    events: list[AgentEvent] = []
    answer = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not now"}})

    async def serve(stream: SocketStream) -> None:
        async with stream:
            data = b""
            while b"\r\n\r\n" not in data or not data.rstrip().endswith(b"}"):
                data += await stream.receive()
            requests.append(data)
            head = f"HTTP/1.1 {status}\r\ncontent-length: {len(answer)}\r\nconnection: close\r\n\r\n"
            await stream.send((head + answer).encode())

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        hook: dict[str, Any] = {"type": "http", "url": f"http://127.0.0.1:{port}/x", "allowedEnvVars": ["HOOK_KEY"]}
        hook["headers"] = {"x-key": "Bearer $HOOK_KEY", "x-other": "[$HOOK_OTHER]"}
        async with session(cwd, reading(cwd), settings=settings("PreToolUse", hook)) as (connection, _):
            events = await turn(connection, "read")
        group.cancel_scope.cancel()
    assert ("not now" in text_of(result(events).content)) is denied
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert b"x-key: Bearer k1" in head and b"x-other: []" in head
    assert json.loads(body)["tool_name"] == "Read"
    assert any("answered 500" in text for text in notices(events)) is not denied


async def test_a_prompt_hook_asks_the_model_and_its_no_refuses_the_call(cwd: Path):
    verdict = 'I think: {"ok": false, "reason": "secret"}'
    read, done = reading(cwd)
    hook = {"type": "prompt", "prompt": "Is this fine? $ARGUMENTS"}
    async with session(cwd, [read, verdict, done], settings=settings("PreToolUse", hook)) as (connection, provider):
        events = await turn(connection, "read")
    assert "secret" in text_of(result(events).content) and result(events).is_error
    asked = text_of(provider.requests[1].messages[0].content)
    assert "Is this fine?" in asked and '"tool_name":"Read"' in asked


async def test_a_prompt_hook_whose_answer_is_no_verdict_counts_as_silence(cwd: Path):
    read, done = reading(cwd)
    hook = {"type": "prompt", "prompt": "Is this fine?"}
    async with session(cwd, [read, "Hm.", done], settings=settings("PreToolUse", hook)) as (connection, _):
        events = await turn(connection, "read")
    assert not result(events).is_error
    assert any("gave no verdict" in text for text in notices(events))


async def test_an_agent_hook_may_look_before_it_judges_and_asks_no_hook_of_its_own_kind(cwd: Path):
    script = ["All done.", call("Read", file_path=str(cwd / "a.txt")), '{"ok": false, "reason": "a.txt says hello"}']
    script += ["Really done.", '{"ok": true}']
    hook = {"type": "agent", "prompt": "Is the work complete?"}
    more = {"hooks": {name: [{"hooks": [hook]}] for name in ("Stop", "PreToolUse", "SubagentStop")}}
    async with session(cwd, script, settings=json.dumps(more)) as (connection, provider):
        events = await turn(connection, "work")
    assert ended(events).text == "Really done."
    assert any("a.txt says hello" in text_of(message.content) for message in provider.requests[-2].messages)


SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    kind = message["method"]
    if kind == "initialize":
        reply = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                 "serverInfo": {"name": "judge", "version": "1"}}
    elif kind == "tools/list":
        reply = {"tools": [{"name": "look", "description": "x", "inputSchema": {"type": "object"}}]}
    elif kind == "tools/call":
        text = json.dumps({"decision": "block", "reason": "saw " + json.dumps(message["params"]["arguments"])})
        reply = {"content": [{"type": "text", "text": text}]}
    else:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": reply}), flush=True)
"""


async def test_a_hook_may_be_a_tool_of_a_server_with_fields_of_the_input(cwd: Path, tmp_path: Path):
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    given = {"path": "${tool_input.file_path}", "words": "tool ${tool_name}!"}
    hook = {"type": "mcp_tool", "server": "judge", "tool": "look", "input": given}
    servers = {"judge": {"command": sys.executable, "args": [str(script)]}}
    async with session(cwd, ["ready", *reading(cwd)], settings=settings("PreToolUse", hook), mcp_servers=servers) as (
        connection,
        _,
    ):
        await turn(connection, "get ready")  # Servers start with the first request.
        with anyio.fail_after(60):
            while not any(server.state == "ready" for server in connection.info.servers):
                await anyio.sleep(0.01)
        events = await turn(connection, "read")
    assert f'"path": "{cwd / "a.txt"}"' in text_of(result(events).content)
    assert '"words": "tool Read!"' in text_of(result(events).content)


@pytest.mark.parametrize(
    "hook",
    [
        {"type": "command", "command": "while [ ! -e go ]; do :; done; touch went", "async": True},
        {"type": "command", "command": """echo '{"async":true}'; while [ ! -e go ]; do :; done; touch went"""},
    ],
)
async def test_a_hook_that_goes_on_by_itself_is_not_waited_for(cwd: Path, hook: dict[str, Any]):
    async with session(cwd, reading(cwd), settings=settings("PostToolUse", hook)) as (connection, _):
        events = await turn(connection, "read")
        assert ended(events).reason == "completed" and not (cwd / "went").exists()
        (cwd / "go").touch()
        with anyio.fail_after(60):
            while not (cwd / "went").exists():
                await anyio.lowlevel.checkpoint()


async def test_what_is_wrong_with_a_hook_is_told_and_the_others_run(cwd: Path, tmp_path: Path):
    hooks = [{"type": "http", "url": "ftp://x"}, {"type": "mcp_tool"}, {"type": "magic"}, {"type": "prompt"}]
    good = {"type": "command", "command": f"touch {tmp_path}/ran"}
    text = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [*hooks, good]}], "WorktreeCreate": [], "Nope": []}})
    async with session(cwd, ["hi"], settings=text) as (connection, _):
        events = await turn(connection, "hello")
    told = "\n".join(notices(events))
    for words in ("begins with http://", "needs a server and a tool", "type 'magic'", "needs a prompt"):
        assert words in told
    assert "WorktreeCreate never happens in Weft" in told and "no hook event is named 'Nope'" in told
    assert (tmp_path / "ran").exists()
    reports = [event.report for event in events if isinstance(event, Reported)]
    runs = [report for report in reports if isinstance(report, HookRan)]
    assert [ran.outcome for ran in runs if ran.outcome] == ["ok"]
