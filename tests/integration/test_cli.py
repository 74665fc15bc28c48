"""The command, as a process, against a server that speaks the real wire: answers, exit codes, bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from weft.schema.content import ToolUse
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import fail, web_page

HERE = Path(__file__).resolve().parents[2] / "src"


def environment(server: FakeAnthropic | None, home: Path, **more: str) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "OPENAI", "CLAUDE"))}
    env |= {"HOME": str(home), "PYTHONPATH": str(HERE), "WEFT_MAX_RETRIES": "0", **more}
    if server is not None:
        env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
    return env


async def weft(
    *arguments: str, cwd: Path, env: dict[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    with anyio.fail_after(30):
        return await anyio.run_process(
            [sys.executable, "-m", "weft", *arguments], cwd=cwd, env=env, input=stdin, check=False
        )


async def test_the_answer_is_printed(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        done = await weft("-p", "hi", cwd=tmp_path, env=environment(server, fresh_home))
        assert (done.stdout, done.returncode) == (b"Hello.\n", 0)
        headers = server.requests[0].headers
        assert headers["user-agent"].startswith("weft/")
        assert headers["x-api-key"] == "test-key"


async def test_standard_input_follows_the_prompt(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["ok"]) as server:
        await weft("-p", "review this", cwd=tmp_path, env=environment(server, fresh_home), stdin=b"the diff")
        assert "review this\nthe diff" in json.dumps(server.requests[0].body).replace("\\n", "\n")


async def test_json_is_one_object_with_the_answer_and_the_cost(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello."]) as server:
        done = await weft("-p", "hi", "--output-format", "json", cwd=tmp_path, env=environment(server, fresh_home))
        result = json.loads(done.stdout)
        assert (result["type"], result["result"], result["is_error"], result["num_turns"]) == (
            "result",
            "Hello.",
            False,
            1,
        )
        assert result["total_cost_usd"] > 0


@pytest.mark.parametrize(("form", "code"), [("text", 3), ("json", 3), ("stream-json", 0)])
async def test_refused_work_has_an_exit_code_of_its_own(form: str, code: int, tmp_path: Path, fresh_home: Path):
    write = ToolUse("t1", "Write", {"file_path": str(tmp_path / "x"), "content": "x"})
    async with FakeAnthropic([[write], "I could not."]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "go", "--output-format", form, "--verbose", cwd=tmp_path, env=env)
    assert done.returncode == code, done.stderr
    assert not (tmp_path / "x").exists()


async def test_a_call_that_a_hook_defers_ends_the_run_and_is_named_in_the_result(tmp_path: Path, fresh_home: Path):
    answer = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}'
    hook = {"matcher": "Write", "hooks": [{"type": "command", "command": f"echo '{answer}'"}]}
    settings = json.dumps({"hooks": {"PreToolUse": [hook]}})
    write = ToolUse("t1", "Write", {"file_path": str(tmp_path / "x"), "content": "x"})
    async with FakeAnthropic([[write]]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "go", "--output-format", "json", "--settings", settings, cwd=tmp_path, env=env)
    result = json.loads(done.stdout)
    assert (result["subtype"], result["is_error"], done.returncode) == ("success", False, 0)
    assert (result["stop_reason"], result["terminal_reason"]) == ("tool_deferred", "tool_deferred")
    assert result["deferred_tool_use"] == {"id": "t1", "name": "Write", "input": write.input}
    assert result["permission_denials"] == [] and not (tmp_path / "x").exists()


async def test_continue_goes_on_with_the_last_conversation(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["one", "two"]) as server:
        env = environment(server, fresh_home)
        await weft("-p", "first", cwd=tmp_path, env=env)
        await weft("-p", "--continue", "second", cwd=tmp_path, env=env)
        texts = json.dumps(server.requests[1].body["messages"])
        assert "first" in texts
        assert "one" in texts
        assert len(list((fresh_home / ".weft" / "projects").glob("*/*.jsonl"))) == 1


async def test_a_turn_limit_is_an_error_with_a_sentence(tmp_path: Path, fresh_home: Path):
    (tmp_path / "a").write_text("a")
    read = ToolUse("t1", "Read", {"file_path": str(tmp_path / "a")})
    async with FakeAnthropic([[read], "never"]) as server:
        done = await weft("-p", "go", "--max-turns", "1", cwd=tmp_path, env=environment(server, fresh_home))
        assert (done.stdout, done.returncode) == (b"Error: Reached max turns (1)\n", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--no-such-flag",), "no-such-flag"),
        (("-p",), "There is no prompt"),
        (("-p", "hi", "--output-format", "yaml"), "yaml"),
        (("-p", "hi", "--output-format", "stream-json"), "--verbose"),
        (("-p", "hi", "--input-format", "stream-json"), "--output-format"),
        (("-p", "hi", "--add-dir", "/no/such/folder"), "/no/such/folder"),
        (("-p", "hi", "--session-id", "seven"), "UUID"),
        (("-p", "hi", "--resume", "99999999-2222-4333-8444-555555555555"), "99999999"),
        (("-p", "hi", "--continue"), "no conversation"),
        (("-p", "hi", "--settings", "/no/such.json"), "/no/such.json"),
        (("-p", "hi", "--permission-mode", "maybe"), "maybe"),
        (("-p", "hi", "--max-turns", "0"), "at least 1"),
        (("-p", "hi", "--json-schema", "{"), "JSON"),
    ],
)
async def test_bad_input_gets_one_sentence_and_exit_1(
    arguments: tuple[str, ...], words: str, tmp_path: Path, fresh_home: Path
):
    env = environment(None, fresh_home, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    done = await weft(*arguments, cwd=tmp_path, env=env)
    error = done.stderr.decode()
    assert done.returncode == 1
    assert done.stdout == b""
    assert words in error
    assert error.startswith("weft: ")
    assert "Traceback" not in error


async def test_no_key_says_what_to_do(tmp_path: Path, fresh_home: Path):
    done = await weft("-p", "hi", cwd=tmp_path, env=environment(None, fresh_home))
    assert done.returncode == 1
    assert b"ANTHROPIC_API_KEY" in done.stderr
    assert b"Traceback" not in done.stderr


async def test_a_server_that_answers_with_html_is_named(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([web_page()]) as server:
        done = await weft("-p", "hi", cwd=tmp_path, env=environment(server, fresh_home))
        assert done.returncode == 1
        assert b"web page" in done.stdout
        assert b"Traceback" not in done.stderr + done.stdout


async def test_a_model_that_the_server_does_not_have_is_named_with_what_to_do(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([fail(404, "model_not_found", "model: claude-nope")]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "hi", "--model", "claude-nope", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert done.stdout == b"model: claude-nope. Check the model's name, and that this server has it.\n"
    assert done.stderr == b""


async def test_a_corrupt_line_in_a_session_is_left_out_and_the_rest_resumes(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["one", "two"]) as server:
        env = environment(server, fresh_home)
        await weft("-p", "first", cwd=tmp_path, env=env)
        log = next((fresh_home / ".weft" / "projects").glob("*/*.jsonl"))
        log.write_bytes(log.read_bytes() + b'{"type":"user","message":{"ro\n')
        done = await weft("-p", "--continue", "second", cwd=tmp_path, env=env)
        assert done.stdout == b"two\n"
        assert "first" in json.dumps(server.requests[1].body["messages"])
        examined = await weft("doctor", "--repair", cwd=tmp_path, env=env)
        assert b"mended" in examined.stdout
        assert (await weft("doctor", cwd=tmp_path, env=env)).returncode == 0


async def test_debug_shows_where(tmp_path: Path, fresh_home: Path):
    done = await weft("-p", "hi", "--debug", cwd=tmp_path, env=environment(None, fresh_home))
    assert b"Traceback" in done.stderr


async def test_the_version_is_told_without_loading_the_agent(tmp_path: Path, fresh_home: Path):
    env = environment(None, fresh_home)
    done = await weft("--version", cwd=tmp_path, env=env)
    assert done.stdout.endswith(b"(Weft)\n")


async def test_the_demo_mends_the_bundled_project(tmp_path: Path, fresh_home: Path):
    done = await weft("demo", "--scripted", cwd=tmp_path, env=environment(None, fresh_home))
    assert done.returncode == 0, done.stdout
    assert b"the project's tests pass" in done.stdout
    assert b"a script plays the model's part" in done.stdout
