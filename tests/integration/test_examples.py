"""The examples run, each on a model that plays its part."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from weft.schema.content import Json, ToolUse
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Cue

ROOT = Path(__file__).resolve().parents[2]


def writes_then_deletes(request: Json) -> Cue:
    count = str(request["messages"]).count("tool_result")
    if count == 0:
        return ToolUse("t1", "Write", {"file_path": "hello.txt", "content": "hello"})
    return ToolUse("t2", "Bash", {"command": "rm hello.txt"}) if count == 1 else "I wrote it, but could not delete it."


SCRIPTS: dict[str, tuple[Sequence[Cue] | object, str]] = {
    "ask": (["It is a small project."], "It is a small project."),
    "stream": (["Hello, hola, bonjour."], "Hello, hola, bonjour."),
    "own_tool": ([ToolUse("t", "stock", {"item": "apples"}), "Yes, 12."], "Yes, 12."),
    "structured": (
        [ToolUse("t", "StructuredOutput", {"good": False, "reasons": ["says nothing"]}), ""],
        "not good ['says nothing']",
    ),
    "permission": (writes_then_deletes, "refused: ['Bash']"),
    "in_a_child": ([ToolUse("t", "my_process", {}), "In this one."], "In this one."),
    "iflow_messages": (
        [ToolUse("t", "Write", {"file_path": "hello.txt", "content": "hello"}), "There it is."],
        "There it is.\n(end_turn)",
    ),
    "many_sessions": (lambda _request: "a number", "10 answers"),
}


def test_every_example_has_a_script():
    assert sorted(path.stem for path in (ROOT / "examples").glob("*.py")) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_example_runs(name: str, tmp_path: Path, fresh_home: Path):
    script, expected = SCRIPTS[name]
    async with FakeAnthropic(script) as server:  # type: ignore[arg-type]
        env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "OPENAI", "CLAUDE"))}
        env |= {"HOME": str(fresh_home), "PYTHONPATH": str(ROOT / "src"), **server.env()}
        with anyio.fail_after(60):
            done = await anyio.run_process(
                [sys.executable, str(ROOT / "examples" / f"{name}.py")],
                cwd=tmp_path,
                env=env,
                stderr=subprocess.STDOUT,
                check=False,
            )
    assert done.returncode == 0, done.stdout.decode()
    assert expected in done.stdout.decode()
