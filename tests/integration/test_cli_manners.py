"""The command's manners: what its flags send, how it takes signals, closed pipes and strange places."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio.abc import Process

from tests.integration.test_cli import environment, weft
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.testing.scripted import call

SLEEP = "echo $$ > pid; sleep 1000"


async def started(cwd: Path, env: dict[str, str], *arguments: str) -> Process:
    return await anyio.open_process(
        [sys.executable, "-m", "weft", *arguments], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


async def pid_in(path: Path) -> int:
    while not (path.exists() and path.read_text().strip()):
        await anyio.sleep(0.01)
    return int(path.read_text())


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--max-thinking-tokens 2048", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("--effort high", {"output_config": {"effort": "high"}}),
        ("--task-budget 50000", {"output_config": {"task_budget": {"type": "tokens", "total": 50000}}}),
    ],
)
async def test_what_a_flag_says_of_the_model_is_in_the_request(
    flags: str, expected: dict[str, Any], tmp_path: Path, fresh_home: Path
):
    async with FakeAnthropic(["ok"]) as server:
        model = ["--model", "claude-opus-4-5"]
        done = await weft("-p", "hi", *model, *shlex.split(flags), cwd=tmp_path, env=environment(server, fresh_home))
        assert done.returncode == 0, done.stderr
        body = server.requests[0].body
        for key, value in expected.items():
            found = cast("dict[str, Any]", body.get(key) or {})
            assert {name: found.get(name) for name in value} == value


async def test_betas_are_sent_as_they_were_given(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["ok"]) as server:
        await weft("-p", "hi", "--betas", "one-2026,two-2026", cwd=tmp_path, env=environment(server, fresh_home))
        sent = server.requests[0].headers["anthropic-beta"].split(",")
        assert {"one-2026", "two-2026"} <= set(sent)


async def test_a_budget_holds_for_agents_before_they_are_asked(tmp_path: Path, fresh_home: Path):
    dear = Usage(input_tokens=1_000_000, output_tokens=1000)
    task = call("Task", description="d", prompt="p")
    async with FakeAnthropic([Answer(blocks=(task,)), Answer(blocks=(task,), usage=dear), "never"]) as server:
        flags = ["--max-budget-usd", "0.50", "--model", "claude-sonnet-4-5", "--output-format", "json"]
        done = await weft("-p", "hi", *flags, cwd=tmp_path, env=environment(server, fresh_home))
        assert json.loads(done.stdout)["subtype"] == "error_max_budget_usd"
        assert (len(server.requests), done.returncode) == (2, 1)


async def test_json_with_verbose_is_an_array_that_ends_with_the_result(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "hi", "--output-format", "json", "--verbose", cwd=tmp_path, env=env)
        rows = json.loads(done.stdout)
        assert [row["type"] for row in rows] == ["system", "assistant", "result"]


async def test_verbose_text_tells_of_tools_beside_the_answer(tmp_path: Path, fresh_home: Path):
    (tmp_path / "a.txt").write_text("a")
    async with FakeAnthropic([call("Read", file_path=str(tmp_path / "a.txt")), "Read it."]) as server:
        done = await weft("-p", "hi", "--verbose", cwd=tmp_path, env=environment(server, fresh_home))
        assert done.stdout == b"Read it.\n"
        assert b"a.txt" in done.stderr


async def test_a_terminated_run_says_143_and_leaves_no_child(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([call("Bash", command=SLEEP), "never"]) as server:
        with anyio.fail_after(60):
            env = environment(server, fresh_home)
            process = await started(tmp_path, env, "-p", "hi", "--allowedTools", "Bash")
            child = await pid_in(tmp_path / "pid")
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 143
            assert not alive(child)


@pytest.mark.parametrize("times", [1, 2])
async def test_an_interrupt_ends_the_turn_and_a_second_one_the_process(times: int, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([call("Bash", command=SLEEP), "never"]) as server:
        with anyio.fail_after(60):
            env = environment(server, fresh_home)
            hook = {"hooks": [{"type": "command", "command": "sleep 1", "timeout": 5}]}
            settings = json.dumps({"hooks": {"SessionEnd": [hook]} if times == 2 else {}})
            flags = ("-p", "hi", "--allowedTools", "Bash", "--settings", settings)
            process = await started(tmp_path, env, *flags)
            child = await pid_in(tmp_path / "pid")
            for _ in range(times):
                process.send_signal(signal.SIGINT)
            assert await process.wait() == 130
            assert not alive(child)


async def test_a_reader_that_leaves_is_no_failure(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([Answer(blocks=(call("Read", file_path="/etc/hostname"),)), "x" * 200_000]) as server:
        line = f"{shlex.quote(sys.executable)} -m weft -p hi --output-format stream-json --verbose | head -c 10"
        with anyio.fail_after(60):
            done = await anyio.run_process(
                ["bash", "-c", f"set -o pipefail; {line}"],
                cwd=tmp_path,
                env=environment(server, fresh_home),
                check=False,
            )
        assert b"Traceback" not in done.stderr and b"went wrong" not in done.stderr


async def test_too_much_standard_input_is_refused_with_a_way_out(tmp_path: Path, fresh_home: Path):
    done = await weft("-p", "hi", cwd=tmp_path, env=environment(None, fresh_home), stdin=b"x" * 10_000_001)
    assert done.returncode == 1 and b"Name a file" in done.stderr


async def test_a_folder_that_is_gone_is_said_to_be_gone(tmp_path: Path, fresh_home: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"rmdir {gone}; {shlex.quote(sys.executable)} -m weft -p hi </dev/null"
    done = await anyio.run_process(["bash", "-c", line], cwd=gone, env=environment(None, fresh_home), check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"weft: The current folder no longer exists.")


@pytest.mark.parametrize(
    ("line", "words"),
    [("sesions list", "weft sessions"), ("docter", "weft doctor"), ("permisions", "weft permissions")],
)
async def test_a_mistyped_subcommand_is_asked_back(line: str, words: str, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["never"]) as server:
        done = await weft(*line.split(), cwd=tmp_path, env=environment(server, fresh_home))
        assert done.returncode == 1 and words.encode() in done.stderr
        assert server.requests == []


@pytest.mark.parametrize("prompt", ["explain", "modal", "what is a doctor", "sessions?"])
async def test_a_prompt_that_is_no_subcommand_is_a_prompt(prompt: str, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["ok"]) as server:
        done = await weft(prompt, cwd=tmp_path, env=environment(server, fresh_home))
        assert (done.stdout, done.returncode) == (b"ok\n", 0), done.stderr


async def test_help_has_examples_and_the_common_flags(tmp_path: Path, fresh_home: Path):
    done = await weft("--help", cwd=tmp_path, env={**environment(None, fresh_home), "COLUMNS": "100"})
    text = done.stdout.decode()
    flags = "--print --output-format --model --continue --resume --max-turns --max-budget-usd --permission-mode"
    flags += " --allowedTools --disallowedTools --add-dir --verbose --debug --system-prompt --append-system-prompt"
    flags += " --agent --mcp-config --settings --json-schema --effort --betas --trust"
    for flag in flags.split():
        assert flag in text, flag
    assert "examples:" in text and "exit codes" in text and os.linesep in text
