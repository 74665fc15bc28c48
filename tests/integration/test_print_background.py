"""`weft -p` and what it left running: the answer comes at once, the end when the work has ended, or patience has."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
from anyio.streams.text import TextReceiveStream

from tests.integration.test_cli import environment
from weft.schema.content import ToolUse
from weft.testing.fake_anthropic import FakeAnthropic


def in_background(command: str) -> list[ToolUse]:
    return [ToolUse("t1", "Bash", {"command": command, "run_in_background": True, "description": "work"})]


def line(*more: str) -> list[str]:
    return [sys.executable, "-m", "weft", "-p", "go", "--allowedTools", "Bash", *more]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_command_in_the_background_is_waited_for_and_its_end_is_a_turn(tmp_path: Path, fresh_home: Path):
    work = in_background("until [ -e go ]; do sleep 0.05; done; echo made > made")
    async with FakeAnthropic([work, "It runs.", "It has ended."]) as server:
        with anyio.fail_after(120):
            env = environment(server, fresh_home)
            child = await anyio.open_process(line(), cwd=tmp_path, env=env, stdin=subprocess.DEVNULL)
            async with child:
                assert child.stdout is not None
                said = ""
                async for text in TextReceiveStream(child.stdout):
                    said += text
                    if "It runs." in said:
                        (tmp_path / "go").touch()
    assert said == "It runs.\nIt has ended.\n"
    assert (child.returncode, (tmp_path / "made").read_text()) == (0, "made\n")
    told = str(server.requests[-1].body["messages"])
    assert "has completed" in told


async def test_work_that_does_not_end_is_ended_when_patience_has(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([in_background("echo $$ > pid; exec sleep 600"), "It runs."]) as server:
        env = environment(server, fresh_home, CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS="500")
        with anyio.fail_after(120):
            done = await anyio.run_process(line(), cwd=tmp_path, env=env, check=False)
            while (tmp_path / "pid").exists() and alive(int((tmp_path / "pid").read_text())):
                await anyio.sleep(0.05)
    assert (done.stdout, done.returncode) == (b"It runs.\n", 0), done.stderr
    assert b"Background work still ran" in done.stderr


async def test_a_turn_that_failed_waits_for_nothing(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([in_background("sleep 600"), "never asked for"]) as server:
        with anyio.fail_after(120):
            env = environment(server, fresh_home)
            done = await anyio.run_process(line("--max-turns", "1"), cwd=tmp_path, env=env, check=False)
    assert (done.stdout, done.returncode) == (b"Error: Reached max turns (1)\n", 1), done.stderr
