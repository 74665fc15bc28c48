"""Conversations with other agents, as they are kept."""

import stat
from pathlib import Path

from weft.schema import events as e
from weft.schema.content import Base64Source, Image, Text, ToolResult, ToolUse, Unknown
from weft.schema.display import DiffView, Todo
from weft.schema.messages import Reply, Usage
from weft.surfaces.web.lines import decode_events, encode_cut, encode_event, worth_keeping
from weft.surfaces.web.ports import Talk
from weft.surfaces.web.talks import TalkFiles

USE = ToolUse("t1", "Edit", {"file_path": "a.py"})
ENDED = e.ToolEnded(
    tool_use_id="t1",
    name="Edit",
    result=ToolResult("t1", (Text("done"), Unknown(b'{"type":"new","x":1}'))),
    display=(DiffView("a.py", "a\n", "b\n"),),
    duration=0.5,
)


def lines(*events: e.AgentEvent) -> list[bytes]:
    return [encode_event(event) for event in events]


def test_what_is_kept_comes_back_as_a_replay() -> None:
    prompt = e.PromptAdded(id="p1", content=(Text("Look"), Image(Base64Source("image/png", "AAAA"))))
    reply = Reply("m1", "x", (Text("I **see**."), USE), usage=Usage(10, 5))
    events = (
        prompt,
        e.MessageDone(reply=reply),
        e.ToolCalled(use=USE, title="Edit a.py", kind="edit"),
        e.ToolCalled(use=USE, title="Edit a.py now", kind="edit", state="running"),
        ENDED,
        e.TodosChanged(todos=(Todo("One", "completed"),)),
        e.TurnEnded(turn_id="x", reason="completed", cost=0.5, duration=2.0),
    )
    assert all(map(worth_keeping, events))
    found = decode_events(lines(*events))
    assert [type(event).__name__ for event in found] == [
        "PromptAdded", "MessageDone", "ToolCalled", "ToolEnded", "TodosChanged", "TurnEnded"
    ]  # fmt: skip
    first, done, call, ended, todos, end = found
    assert isinstance(first, e.PromptAdded) and first.replay and first.content == prompt.content
    assert isinstance(done, e.MessageDone) and done.replay and done.reply == reply
    assert isinstance(call, e.ToolCalled) and call.replay and call.title == "Edit a.py now"
    assert isinstance(ended, e.ToolEnded) and ended.replay and ended.display == ENDED.display
    assert [type(block) for block in ended.result.content] == [Text, Unknown]
    assert (todos, end) == events[-2:]


def test_deltas_and_questions_are_not_kept() -> None:
    asked = e.PermissionAsked(request_id="r", use=USE)
    for event in (asked, e.QueueChanged(), e.Compacted(state="started"), e.ToolProgressed(tool_use_id="t", output="x")):
        assert not worth_keeping(event)


def test_broken_lines_are_left_out_and_an_open_call_was_cut_short() -> None:
    data = [b"", b"{", b"[]", b'{"event":"Nonsense"}', b'{"event":"ToolEnded"}', *lines(e.ToolCalled(use=USE))]
    call, end = decode_events(data)
    assert isinstance(call, e.ToolCalled)
    assert isinstance(end, e.ToolEnded)
    assert end.outcome == "cancelled"


def test_what_was_taken_back_stays_away() -> None:
    one, two = (e.PromptAdded(id=name, content=(Text(name),)) for name in ("one", "two"))
    found = decode_events([*lines(one, two, e.Notice(text="x")), encode_cut("two"), *lines(e.Notice(text="y"))])
    assert [getattr(event, "id", None) or getattr(event, "text", None) for event in found] == ["one", "y"]


def test_the_files_are_listed_searched_and_deleted(tmp_path: Path) -> None:
    folder = str(tmp_path / "work")
    keeper = TalkFiles(tmp_path / "home")
    talk = Talk(id="a", agent="gemini", folder=folder, title="Parsers", updated=2.0, sessions=("s1",))
    other = Talk(id="b", agent="codex", folder=folder, title="Lexers", updated=1.0)
    for each in (other, talk):
        keeper.save(each)
    keeper.add(talk, e.PromptAdded(id="p", content=(Text("Explain Recursive descent"),)))
    assert keeper.talks([folder]) == [talk, other]
    assert keeper.talks([str(tmp_path)]) == []
    assert list(keeper.search("recursive DESCENT", [folder])) == ["a"]
    assert list(keeper.search("recursive ascent", [folder])) == []
    assert len(keeper.events(talk)) == 1
    assert keeper.events(other) == []
    for path in (tmp_path / "home" / "web").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    keeper.delete(talk)
    deleted = next(each for each in keeper.talks([folder]) if each.id == "a")
    assert (deleted.deleted, deleted.sessions) == (True, ("s1",))
    assert keeper.events(talk) == []
    assert list(keeper.search("recursive", [folder])) == []


def test_a_file_with_another_name_or_nonsense_in_it_is_no_conversation(tmp_path: Path) -> None:
    keeper = TalkFiles(tmp_path)
    keeper.save(Talk(id="a", agent="x", folder="/f"))
    path = next((tmp_path / "web").rglob("a.json"))
    path.rename(path.with_name("..b.json"))
    path.with_name("c.json").write_text("{")
    assert keeper.talks(["/f"]) == []


def test_a_disk_that_is_read_only_does_not_stop_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "web").write_text("in the way")
    keeper = TalkFiles(tmp_path)
    talk = Talk(id="a", agent="x", folder="/f")
    keeper.save(talk)
    keeper.add(talk, e.Notice(text="x"))
    assert keeper.talks(["/f"]) == []
