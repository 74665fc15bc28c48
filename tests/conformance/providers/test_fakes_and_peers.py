"""The fakes speak the real wire: the official SDKs and Claude Code cannot tell them from a provider."""

import json
import os
import subprocess
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin, peer_python
from weft.schema.content import Text, Thinking, ToolUse
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.testing.fake_server import Answer, fail

CLIENT = Path(__file__).with_name("sdk_client.py")
REPLY = Answer(
    blocks=(Thinking("hm", "sig"), Text("Héllo"), ToolUse("t1", "Read", {"path": "ä", "n": [1, {"x": None}]})),
    usage=Usage(input_tokens=9, output_tokens=5, cache_read_input_tokens=4),
    piece=2,
)


async def run(command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    with anyio.fail_after(60):
        done = await anyio.run_process(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


async def test_the_official_anthropic_sdk_reads_the_fake() -> None:
    python = str(peer_python("provider-sdks"))
    script = [
        REPLY,
        "whole",
        fail(429, "rate_limit"),
        fail(529, "overloaded"),
        fail(400, "invalid_request"),
        Answer(cut_after=3),
    ]
    async with FakeAnthropic(script) as server:
        got = json.loads(await run([python, str(CLIENT), "anthropic", server.url]))
    assert got["streamed"]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "Héllo"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "ä", "n": [1, {"x": None}]}},
    ]
    assert got["streamed"]["stop_reason"] == "tool_use"
    assert got["streamed"]["usage"]["output_tokens"] == 5
    assert got["whole"]["content"] == [{"type": "text", "text": "whole"}]
    assert {"message_start", "content_block_start", "message_delta", "message_stop"} <= set(got["events"])
    assert [error[1:] for error in got["errors"]] == [
        [429, "rate_limit_error"],
        [529, "overloaded_error"],
        [400, "invalid_request_error"],
    ]
    assert got["cut"] == "RemoteProtocolError"


async def test_the_official_openai_sdk_reads_the_fake() -> None:
    python = str(peer_python("provider-sdks"))
    async with FakeOpenAI([REPLY, "whole", fail(429, "rate_limit"), fail(401, "authentication_failed")]) as server:
        got = json.loads(await run([python, str(CLIENT), "openai", server.url]))
    assert (got["text"], got["reasoning"], got["finish"]) == ("Héllo", "hm", "tool_calls")
    assert [(name, json.loads(arguments)) for name, arguments in got["calls"]] == [
        ("Read", {"path": "ä", "n": [1, {"x": None}]})
    ]
    assert got["usage"] == [13, 5, 4] and got["whole"] == "whole" and got["models"] == ["fake-model"]
    assert got["errors"] == [["RateLimitError", 429], ["AuthenticationError", 401]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path


async def test_claude_code_works_with_the_fake(home: Path) -> None:
    claude = str(peer_bin("claude"))
    (home / "work" / "note.txt").write_text("the note says 42\n")
    script = [ToolUse("", "Read", {"file_path": str(home / "work" / "note.txt")}), "It says 42."]
    async with FakeAnthropic(script) as server:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home / "home"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
            **server.env(),
        }
        out = await run([claude, "-p", "What does the note say?"], env, home / "work")
    assert out.strip() == "It says 42."
    assert "the note says 42" in json.dumps(server.requests[1].body)
