"""The environment variables that hosts of such agents set (seed 000, section 10, and the Agent SDK) take effect."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import weft
from weft.schema.content import ToolUse
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Recorded

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
LIMIT = 120
LONG = ToolUse("toolu_1", "Bash", {"command": "seq 1 2000"})


async def run(
    tmp_path: Path, fresh_home: Path, env: dict[str, str], *flags: str
) -> tuple[list[dict[str, Any]], list[Recorded]]:
    """The messages of one prompt to the command, and what the model was asked."""
    project = tmp_path / "project"
    project.mkdir()
    base = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", *flags]
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE", "WEFT"))}
    line = {"type": "user", "message": {"role": "user", "content": "go"}}
    async with FakeAnthropic([LONG, "done"]) as server:
        given = {**ours, **server.env(), "HOME": str(fresh_home), "PYTHONPATH": SOURCE, "IS_SANDBOX": "1", **env}
        given = {key: value for key, value in given.items() if value}
        with anyio.fail_after(LIMIT):
            done = await anyio.run_process(
                [sys.executable, "-m", "weft", *base], input=json.dumps(line).encode() + b"\n", cwd=project, env=given
            )
        return [json.loads(text) for text in done.stdout.splitlines()], list(server.requests)


async def test_each_variable_does_what_it_says(tmp_path: Path, fresh_home: Path):
    config, logs = tmp_path / "config", tmp_path / "logs"
    env = {
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_DEBUG_LOGS_DIR": str(logs),
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "1234",
        "BASH_MAX_OUTPUT_LENGTH": "1000",
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
        "ANTHROPIC_API_KEY": "",
        "ANTHROPIC_AUTH_TOKEN": "nonce",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: weft",
    }
    messages, asked = await run(tmp_path, fresh_home, env, "--dangerously-skip-permissions")
    assert messages[-2]["type"] == "result"
    assert (messages[-1]["state"], "sdk_host_only" in messages[-1]) == ("idle", False)
    assert asked[0].headers["authorization"] == "Bearer nonce"
    assert asked[0].headers["x-team"] == "weft"
    assert asked[0].body["max_tokens"] == 1234
    result = asked[1].body["messages"][-1]["content"][0]["content"]
    assert len(str(result)) < 2000
    assert list((config / "projects").glob("*/*.jsonl"))
    assert not (fresh_home / ".weft" / "projects").exists()
    assert [path for path in logs.iterdir() if path.stat().st_size]


async def test_a_claude_sdk_finds_the_sessions_where_it_looks(tmp_path: Path, fresh_home: Path):
    env = {"CLAUDE_AGENT_SDK_VERSION": "0.2.5", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
    messages, asked = await run(tmp_path, fresh_home, env)
    assert asked[0].headers["x-api-key"] == "sk-fake"
    assert messages[-1]["sdk_host_only"] is True
    assert list((fresh_home / ".claude" / "projects").glob("*/*.jsonl"))


@pytest.mark.parametrize("process", [False, True])
async def test_a_variable_of_the_options_counts_either_way(process: bool, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["ok"]) as server:
        env = {**server.env(), "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "777"}
        with anyio.fail_after(LIMIT):
            await weft.query("hi", cwd=tmp_path, env=env, process=process)
        assert server.requests[0].body["max_tokens"] == 777
