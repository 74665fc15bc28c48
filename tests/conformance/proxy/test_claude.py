"""The real `claude` command on a model that speaks OpenAI's dialect, through `weft proxy --run`."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin
from weft.connect.agents import AgentRequest, open_agent
from weft.proxy.calls import CallLog
from weft.schema.commands import PermissionAnswered, Prompt
from weft.schema.content import Text, ToolUse
from weft.schema.events import PermissionAsked, TurnEnded
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import Answer, FakeOpenAI
from weft.transports.process import spawn

KEY = "sk-real-fedcba9876543210"
USAGE = Usage(input_tokens=500, output_tokens=40)


def _answer(body: dict[str, object]) -> Answer:
    """Calls the tool once, then says what it gave."""
    texts = json.dumps(body["messages"])
    if "Bash" not in json.dumps(body.get("tools", [])):
        return Answer(blocks=(Text("A title"),), usage=USAGE)
    if "blue-42" in texts.rsplit("tool", 1)[-1] or '"tool_call_id"' in texts or '"tool_result"' in texts:
        return Answer(blocks=(Text("The word is blue-42."),), usage=USAGE)
    call = ToolUse("call_1", "Bash", {"command": "cat secret.txt", "description": "look"})
    return Answer(blocks=(Text("I look."), call), usage=USAGE)


async def _run(folder: Path, environ: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    home = Path(os.environ["HOME"])
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environ}
    claude = ["--run", str(peer_bin("claude")), "-p", "what is the word?", "--allowedTools", "Bash", "--verbose"]
    argv = [sys.executable, "-m", "weft", "proxy", *arguments, *claude, "--output-format", "stream-json"]
    errors: list[str] = []
    child = await spawn(argv, cwd=folder, env=env, on_stderr=errors.append)
    out = b""
    try:
        with anyio.fail_after(180):
            assert child.stdout is not None
            async for data in child.stdout:
                out += data
            code = await child.wait()
    finally:
        await child.kill()
        child.close()
    return code, out.decode(), "\n".join(errors)


@pytest.mark.slow
async def test_claude_code_works_a_whole_turn_with_a_tool_on_an_openai_server(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("blue-42\n")
    async with FakeOpenAI(_answer, key=KEY) as server:
        environ = {"MY_KEY": KEY}
        upstream = ["--upstream", f"{server.url}/v1", "--credential", "env:MY_KEY", "--model", "local-model"]
        code, out, errors = await _run(tmp_path, environ, *upstream, "--log-bodies")
    assert code == 0, (out, errors)
    result = json.loads(out.strip().splitlines()[-1])
    assert result["type"] == "result" and result["result"] == "The word is blue-42." and not result["is_error"]
    sent = [request.body for request in server.requests]
    assert {body["model"] for body in sent} == {"local-model"}
    tool = [message for message in sent[-1]["messages"] if message["role"] == "tool"]
    assert "blue-42" in json.dumps(tool)
    lines = (next((Path(os.environ["HOME"]) / ".weft" / "proxy").iterdir())).read_text().splitlines()
    calls = [json.loads(line) for line in lines]
    assert {call["who"] for call in calls} == {"claude"} and all(call["status"] == 200 for call in calls)
    assert KEY not in out + errors + "\n".join(lines)


@pytest.mark.slow
async def test_claude_code_gets_its_own_dialect_byte_for_byte_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("blue-42\n")
    async with FakeAnthropic(_answer, key=KEY) as server:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
        code, out, errors = await _run(tmp_path, environ)
        assert code == 0, (out, errors)
        assert json.loads(out.strip().splitlines()[-1])["result"] == "The word is blue-42."
        assert all(request.headers["x-api-key"] == KEY for request in server.requests)
        code, out, errors = await _run(tmp_path, environ, "--allow", "no-such-model")
        assert code != 0 and "not allowed" in out
    assert KEY not in out + errors


@pytest.mark.slow
async def test_a_hosted_claude_code_asks_with_a_nonce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text("blue-42\n")
    monkeypatch.setenv("PATH", f"{peer_bin('claude').parent}{os.pathsep}{os.environ['PATH']}")
    async with FakeAnthropic(_answer, key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        async with await open_agent("claude-code", AgentRequest(cwd=tmp_path)) as agent:
            await agent.send(Prompt(content=(Text("what is the word?"),)))
            with anyio.fail_after(180):
                async for event in agent.events():
                    if isinstance(event, PermissionAsked):
                        await agent.send(PermissionAnswered(request_id=event.request_id, behavior="allow"))
                    if isinstance(event, TurnEnded):
                        break
        assert event.text == "The word is blue-42."
        calls = list(CallLog().read())
        assert {call.who for call in calls} == {"claude-code"} and len(calls) == len(server.requests) + len(
            [other for other in server.others if other.path.endswith("count_tokens")]
        )
        assert all(request.headers["x-api-key"] == KEY for request in server.requests)
