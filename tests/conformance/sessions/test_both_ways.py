"""Sessions cross over: Weft goes on with what Claude Code wrote, Claude Code and its SDK read what Weft wrote."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin, peer_python
from tests.property.test_session_log import check_valid
from weft.schema.content import Text, ToolUse
from weft.sessions import resume
from weft.sessions.store import FileStore
from weft.testing.fake_anthropic import FakeAnthropic

SDK = """
import json, sys
from claude_agent_sdk import get_session_messages, list_sessions
rows = list_sessions(directory=sys.argv[1])
messages = [[m.type, m.message["content"]] for m in get_session_messages(sys.argv[2], directory=sys.argv[1])]
print(json.dumps([[[r.session_id, r.first_prompt, r.custom_title, r.cwd] for r in rows], messages]))
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def _env(server: FakeAnthropic, work: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(work.parent / "home"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        **server.env(),
        **more,
    }


async def _run(command: list[str], env: dict[str, str], cwd: Path) -> str:
    with anyio.fail_after(60):
        done = await anyio.run_process(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, (done.stdout.decode()[-1000:], done.stderr.decode()[-1000:])
    return done.stdout.decode()


def _script(work: Path) -> list[object]:
    uses = (Text("I look."), ToolUse("t1", "Read", {"file_path": str(work / "a.txt")}))
    return [uses, "It says alpha."]


def _weft(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "weft", *arguments]


def _sent(body: object) -> str:
    return json.dumps(body)


async def test_weft_goes_on_with_a_session_of_claude_code(work: Path) -> None:
    claude = [str(peer_bin("claude")), "-p", "--output-format", "json", "--model", "claude-sonnet-4-5"]
    async with FakeAnthropic(_script(work)) as server:
        out = json.loads(await _run([*claude, "what is in a.txt?"], _env(server, work), work))
    session_id = out["session_id"]
    source = next((work.parent / "home" / ".claude" / "projects").glob(f"*/{session_id}.jsonl"))
    before = source.read_bytes()
    async with FakeAnthropic(["And now I know more."]) as server:
        text = await _run(_weft("-p", "--resume", session_id, "and?"), _env(server, work), work)
        messages = server.requests[0].body["messages"]
    assert text == "And now I know more.\n"
    sent = _sent(messages)
    for words in ("what is in a.txt?", "I look.", "alpha", "It says alpha.", "and?"):
        assert words in sent
    assert source.read_bytes() == before
    store = FileStore(work.parent / "home" / ".weft", work.parent / "home" / ".claude")
    history = resume.load(store, session_id, work).history
    check_valid(history)
    assert history[-1].text == "And now I know more."


async def test_what_claude_code_compacted_keeps_its_summary_and_its_last_words_in_weft(work: Path) -> None:
    claude = [str(peer_bin("claude")), "-p", "--output-format", "json", "--model", "claude-sonnet-4-5"]
    async with FakeAnthropic(["One.", "Two is the last.", "<summary>THE-SUMMARY</summary>"]) as server:
        env = _env(server, work)
        session_id = json.loads(await _run([*claude, "first"], env, work))["session_id"]
        await _run([*claude, "--resume", session_id, "second"], env, work)
        await _run([*claude, "--resume", session_id, "/compact"], env, work)
    async with FakeAnthropic(["And now."]) as server:
        await _run(_weft("-p", "--resume", session_id, "and?"), _env(server, work), work)
        sent = _sent(server.requests[0].body["messages"])
    assert 0 < sent.index("THE-SUMMARY") < sent.index("Two is the last.") < sent.index("and?")
    assert '"first"' not in sent


async def test_what_weft_compacted_keeps_its_summary_and_its_first_words_in_claude_code(work: Path) -> None:
    config = str(work.parent / "home" / ".claude")
    async with FakeAnthropic(["One.", "THE-SUMMARY"]) as server:
        env = _env(server, work, CLAUDE_CONFIG_DIR=config)
        out = json.loads(await _run(_weft("-p", "--output-format", "json", "always be brief"), env, work))
        said = await _run(_weft("-p", "--resume", out["session_id"], "/compact"), env, work)
    assert "tokens before" in said and "the first request" in said
    async with FakeAnthropic(["I am another."]) as server:
        command = [str(peer_bin("claude")), "-p", "--resume", out["session_id"], "--model", "claude-sonnet-4-5", "you?"]
        await _run(command, _env(server, work, CLAUDE_CONFIG_DIR=config), work)
        sent = _sent(server.requests[-1].body["messages"])
    assert 0 < sent.index("always be brief") < sent.index("THE-SUMMARY") < sent.index("you?")


async def test_claude_code_goes_on_with_a_session_of_weft(work: Path) -> None:
    config = str(work.parent / "home" / ".claude")
    async with FakeAnthropic(_script(work)) as server:
        env = _env(server, work, CLAUDE_CONFIG_DIR=config)
        out = json.loads(await _run(_weft("-p", "--output-format", "json", "what is in a.txt?"), env, work))
    session_id = out["session_id"]
    async with FakeAnthropic(["I am another."]) as server:
        command = [str(peer_bin("claude")), "-p", "--resume", session_id, "--model", "claude-sonnet-4-5", "and you?"]
        text = await _run(command, _env(server, work, CLAUDE_CONFIG_DIR=config), work)
        messages = server.requests[-1].body["messages"]
    assert text == "I am another.\n"
    sent = _sent(messages)
    for words in ("what is in a.txt?", "I look.", "t1", "alpha", "It says alpha.", "and you?"):
        assert words in sent


async def test_the_agent_sdk_lists_and_reads_what_weft_wrote(work: Path) -> None:
    config = str(work.parent / "home" / ".claude")
    async with FakeAnthropic(_script(work)) as server:
        env = _env(server, work, CLAUDE_CONFIG_DIR=config)
        out = json.loads(await _run(_weft("-p", "--output-format", "json", "what is in a.txt?"), env, work))
        session_id = out["session_id"]
        await _run(_weft("sessions", "rename", session_id, "Alpha"), env, work)
        command = [str(peer_python("claude-agent-sdk")), "-c", SDK, str(work), session_id]
        rows, messages = json.loads(await _run(command, env, work))
    assert rows == [[session_id, "what is in a.txt?", "Alpha", str(work)]]
    kinds = [kind for kind, _ in messages]
    assert kinds[0] == "user" and kinds[-1] == "assistant"
    text = _sent(messages)
    for words in ("what is in a.txt?", "I look.", "tool_use", "tool_result", "It says alpha."):
        assert words in text
