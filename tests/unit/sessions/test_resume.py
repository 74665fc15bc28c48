"""Resuming: what Claude Code wrote, what a crash left, what was rewound."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.property.test_session_log import check_valid
from tests.sessions_records import SESSION, Talk, with_tools, written
from weft import paths
from weft.errors import SessionError
from weft.schema.content import Text, ToolResult, ToolUse
from weft.schema.messages import Usage
from weft.schema.records import AssistantRecord, MarkRecord, SystemRecord, UserRecord
from weft.sessions import codec, files, resume
from weft.sessions.ledger import Ledger
from weft.sessions.listing import list_sessions
from weft.sessions.rewind import points, rewind
from weft.sessions.store import FileLog, FileStore


def _claude_lines() -> list[dict[str, object]]:
    """A session as Claude Code writes it: parallel tools are branches, and there are lines that we do not know."""

    def line(kind: str, uuid: str, parent: str | None, message: object, **more: object) -> dict[str, object]:
        base = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/p", "sessionId": SESSION}
        return {**base, "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-01-01T00:00:00Z", **more}

    def reply(*content: object) -> dict[str, object]:
        usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 7, "service_tier": "standard"}
        return {"id": "m1", "type": "message", "role": "assistant", "model": "claude-x", "content": list(content)} | {
            "usage": usage,
            "stop_reason": "tool_use",
        }

    def use(name: str) -> dict[str, object]:
        return {"type": "tool_use", "id": name, "name": "Read", "input": {}, "caller": {"type": "direct"}}

    def result(name: str) -> dict[str, object]:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": f"r-{name}"}]}

    return [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION},
        line("user", "u1", None, {"role": "user", "content": "go"}, permissionMode="acceptEdits"),
        {"parentUuid": "u1", "type": "attachment", "uuid": "at", "attachment": {"type": "date"}, "isSidechain": False},
        line("assistant", "a1", "at", reply({"type": "text", "text": "looking"})),
        line("assistant", "a2", "a1", reply(use("t1"))),
        line("user", "r1", "a2", result("t1"), toolUseResult={"x": 1}, sourceToolAssistantUUID="a2"),
        line("assistant", "a3", "a2", reply(use("t2"))),
        line("user", "r2", "a3", result("t2")),
        {**line("assistant", "side", None, reply({"type": "text", "text": "SUBAGENT"})), "isSidechain": True},
        line("assistant", "a4", "r2", {**reply({"type": "text", "text": "done"}), "id": "m2"}),
        {"type": "from-the-future", "uuid": "zz"},
        {"type": "custom-title", "customTitle": "A title", "sessionId": SESSION},
    ]


@pytest.fixture
def claude(tmp_path: Path) -> FileStore:
    path = paths.session_file(SESSION, tmp_path, tmp_path / "claude")
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in _claude_lines()), encoding="utf-8")
    return FileStore(tmp_path / "weft", tmp_path / "claude")


def test_a_session_of_claude_code_resumes_whole(claude: FileStore, tmp_path: Path) -> None:
    resumed = resume.load(claude, SESSION, tmp_path)
    check_valid(resumed.history)
    assert [m.role for m in resumed.history] == ["user", "assistant", "user", "assistant"]
    assert [use.id for use in resumed.history[1].tool_uses] == ["t1", "t2"]
    results = [block for block in resumed.history[2].content if isinstance(block, ToolResult)]
    assert [r.content for r in results] == ["r-t1", "r-t2"]
    assert resumed.history[3].text == "done" and "SUBAGENT" not in str(resumed.history)
    assert (resumed.tip, resumed.title, resumed.mode, resumed.cwd) == ("a4", "A title", "acceptEdits", "/p")
    assert resumed.model == "claude-x"
    assert resumed.ledger.usage == Usage(6, 14, 200)
    assert resumed.ledger.unknown_models == ("claude-x",)


def test_taking_over_a_foreign_session_copies_it_and_leaves_the_source(claude: FileStore, tmp_path: Path) -> None:
    source = paths.session_file(SESSION, tmp_path, tmp_path / "claude")
    before = source.read_bytes()
    log = claude.open(SESSION, tmp_path)
    log.append(MarkRecord(kind="tag", session_id=SESSION, data={"tag": "x"}))
    log.close()
    assert source.read_bytes() == before
    assert log.path is not None and log.path.read_bytes().startswith(before)
    assert log.path.stat().st_mode & 0o077 == 0


def test_a_server_that_uses_an_id_twice_does_not_join_two_replies() -> None:
    talk = Talk()
    for text in ("one", "two"):
        talk.user(f"say {text}")
        record = talk.assistant(text)
        talk.records[-1] = msgspec.structs.replace(record, reply=msgspec.structs.replace(record.reply, id="same"))
    assert [m.text for m in resume.rebuild(SESSION, talk.records).history] == ["say one", "one", "say two", "two"]


def test_a_server_that_uses_a_tool_id_twice_keeps_both_calls_and_their_results() -> None:
    talk = Talk()
    for text in ("one", "two"):
        talk.user(f"do {text}")
        talk.assistant(ToolUse("call_0", "Bash", {"command": text}))
        talk.user(ToolResult("call_0", f"result {text}"))
    history = resume.rebuild(SESSION, talk.records).history
    check_valid(history)
    results = [b.content for m in history for b in m.content if isinstance(b, ToolResult)]
    assert results == ["result one", "result two"]


def test_a_tool_that_a_crash_cut_short_has_a_result_that_says_so() -> None:
    talk = Talk()
    talk.user("go")
    talk.assistant("ok", ToolUse("t1", "Bash", {}), ToolUse("t2", "Bash", {}))
    talk.user(ToolResult("t1", "one"))
    resumed = resume.rebuild(SESSION, talk.records)
    check_valid(resumed.history)
    assert resumed.history[-1].content == (ToolResult("t1", "one"), ToolResult("t2", resume.INTERRUPTED, True))


def test_a_line_lost_in_the_middle_does_not_lose_what_stands_before_it() -> None:
    talk = with_tools()
    del talk.records[3]
    history = resume.rebuild(SESSION, talk.records).history
    check_valid(history)
    assert history[0].text == "fix the bug" and history[-1].text == "You are welcome."


def test_a_rewound_conversation_is_where_the_mark_says_and_goes_on_from_there() -> None:
    talk = with_tools()
    second = talk.records[4]
    assert isinstance(second, UserRecord)
    assert [point.text for point in points(talk.records)] == ["fix the bug", "thanks"]
    back = rewind(talk.records, second.origin.uuid, SESSION)
    assert back.prompt == "thanks" and back.history[-1].text == "Done."
    talk.records.append(back.mark)
    resumed = resume.rebuild(SESSION, talk.records)
    assert resumed.history == back.history and resumed.tip == back.tip
    talk.tip = back.tip
    talk.user("something else")
    resumed = resume.rebuild(SESSION, talk.records)
    assert [m.text for m in resumed.history if m.role == "user" and m.text] == ["fix the bug", "something else"]


def test_back_to_before_the_first_message_is_an_empty_conversation() -> None:
    talk = with_tools()
    first = talk.records[0]
    assert isinstance(first, UserRecord)
    talk.records.append(rewind(talk.records, first.origin.uuid).mark)
    assert resume.rebuild(SESSION, talk.records).history == ()
    with pytest.raises(SessionError):
        rewind(talk.records, "nowhere")


def test_a_session_rewound_over_a_compaction_is_read_whole(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "weft", tmp_path / "none")
    talk = with_tools()
    first = talk.records[3]
    assert isinstance(first, AssistantRecord)
    talk.system("compact_boundary")
    talk.user("summary", summary=True)
    path = paths.session_file(SESSION, tmp_path, tmp_path / "weft")
    written(path, talk)
    assert [m.text for m in resume.load(store, SESSION, tmp_path).history] == ["summary"]
    talk.mark("rewind", leafUuid=first.origin.uuid)
    written(path, talk)
    assert resume.load(store, SESSION, tmp_path).history[-1].text == "Done."
    talk.tip = first.origin.uuid
    talk.user("another way")
    written(path, talk)
    assert resume.load(store, SESSION, tmp_path).history[-1].text == "another way"


def test_until_is_the_conversation_as_it_was_then() -> None:
    talk = with_tools()
    reply = talk.records[3]
    assert isinstance(reply, AssistantRecord)
    assert resume.rebuild(SESSION, talk.records, until=reply.origin.uuid).history[-1].text == "Done."
    with pytest.raises(SessionError, match="no message"):
        resume.rebuild(SESSION, talk.records, until="nowhere")


def test_a_file_whose_parents_go_round_in_a_circle_is_read() -> None:
    talk = Talk()
    one, two = talk.user("a"), talk.user("b")
    looped = msgspec.structs.replace(one, origin=msgspec.structs.replace(one.origin, parent_uuid=two.origin.uuid))
    check_valid(resume.rebuild(SESSION, [looped, two]).history)


def test_todos_title_mode_and_costs_come_back() -> None:
    talk = Talk()
    talk.user("go")
    todos = [{"content": "x", "status": "in_progress", "activeForm": "doing x"}]
    talk.assistant(ToolUse("t", "TodoWrite", {"todos": todos}))
    talk.mark("mode", mode="plan")
    ledger = Ledger(lambda model, usage: 0.25 if model == "known" else None)
    assert ledger.add("known", Usage(1, 2, 3, 4, 5, 6), 1.5) == 0.25
    assert ledger.add("new", Usage(9), 0.5) is None
    ledger.add_edit("/a", added=3, removed=1)
    ledger.add_turn(4.0)
    talk.mark(ledger.to_mark()[0], **ledger.to_mark()[1])
    resumed = resume.rebuild(SESSION, talk.records)
    assert resumed.todos[0].content == "x" and resumed.todos[0].status == "in_progress"
    assert resumed.mode == "plan"
    assert resumed.ledger == ledger.state
    assert resumed.ledger.total_cost == 0.25 and resumed.ledger.unknown_models == ("new",)
    again = Ledger(None, resumed.ledger)
    assert again.check_budget(0.2) and again.check_budget(0.3) is None and again.check_budget(None) is None
    talk.records.append(resume.todos_mark(SESSION, ()))
    assert resume.rebuild(SESSION, talk.records).todos == ()


def test_two_writers_do_not_break_each_others_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    one, two = FileLog("s", path), FileLog("s", path)
    for number in range(50):
        (one if number % 2 else two).append(MarkRecord(kind="tag", session_id="s", data={"tag": str(number)}))
    with path.open("ab") as file:
        file.write(b'{"type":"tag","torn')
    one.append(MarkRecord(kind="tag", session_id="s", data={"tag": "last"}))
    records, problems = files.decode(path.read_bytes())
    assert [r.data["tag"] for r in records if isinstance(r, MarkRecord)] == [*map(str, range(50)), "last"]
    assert len(problems) == 1


_WRITER = """
import sys
from pathlib import Path
from weft.schema.records import MarkRecord
from weft.sessions.store import FileLog
log = FileLog("s", Path(sys.argv[1]))
number = 0
while True:
    log.append(MarkRecord(kind="tag", session_id="s", data={"n": number, "text": "x" * (number * 37 % 9000)}))
    number += 1
    if number == 50:
        print("going", flush=True)
"""


def test_a_session_is_readable_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    child = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"going\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    records, problems = files.decode(path.read_bytes())
    numbers = [record.data["n"] for record in records if isinstance(record, MarkRecord)]
    assert numbers == list(range(len(numbers))) and len(numbers) >= 50 and len(problems) <= 1


def test_a_full_disk_is_a_sentence_and_nothing_is_lost(tmp_path: Path) -> None:
    log = FileLog("s", Path("/dev/full"))
    with pytest.raises(SessionError, match="No space left"):
        log.append(MarkRecord(kind="tag", data={"tag": "x"}))
    log.close()


def test_a_list_reads_heads_and_tails_only(tmp_path: Path) -> None:
    talk = Talk(cwd="/p")
    talk.user("<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>1</command-args>")
    for number in range(300):
        talk.assistant("word " * 200)
        talk.user(f"prompt {number}")
    command = "<command-message>y</command-message>\n<command-name>/y</command-name>\n<command-args>2</command-args>"
    talk.mark("last-prompt", lastPrompt=command, leafUuid="x")
    path = paths.session_file(SESSION, tmp_path, tmp_path)
    written(path, talk)
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[: middle - 1000] + b"\0" * 2000 + data[middle + 1000 :])
    (row,) = list_sessions([(tmp_path, "weft")], None, None)
    assert (row.first_prompt, row.last_prompt, row.cwd, row.git_branch) == ("/x 1", "/y 2", "/p", "main")
    assert row.created == 1767225600.0


def test_a_boundary_inside_somebodys_text_is_no_boundary() -> None:
    talk = Talk()
    talk.user("before")
    talk.records.append(
        SystemRecord(
            origin=talk.assistant("x").origin, subtype="informational", data={"x": {"subtype": "compact_boundary"}}
        )
    )
    data = b"".join(codec.encode_record(r) for r in talk.records)
    assert files.decode_recent(data) == files.decode(data)[0]
    assert Text("before") in resume.rebuild(SESSION, files.decode_recent(data)).history[0].content
