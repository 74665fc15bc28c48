"""`weft sessions` and `weft context` as they are typed."""

import json
from pathlib import Path

import pytest

from tests.sessions_records import SESSION, Talk, with_tools, written
from weft import paths
from weft.cli import context, sessions
from weft.sessions import resume
from weft.sessions.store import FileStore

OTHER = "1f0e7f0a-6a33-4f0e-9d61-0c4f5d1f6a02"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions here: one of Weft's, one of Claude Code's."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    written(paths.session_file(SESSION, project, home / ".weft"), with_tools())
    talk = Talk(OTHER, str(project))
    talk.user("a foreign question about zebras")
    talk.assistant("An answer.")
    written(paths.session_file(OTHER, project, home / ".claude"), talk)
    return home


def _run(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert sessions.main(list(argv)) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_list_shows_both_and_says_whose_they_are(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _run(capsys, "list")
    assert "thanks" in text and "zebras [claude]" in text
    rows = json.loads(_run(capsys, "list", "--json", "--all"))
    assert {row["session_id"]: row["source"] for row in rows} == {SESSION: "weft", OTHER: "claude"}


def test_show_and_export_and_search(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "fix the bug" in _run(capsys, "show", SESSION[:4])
    lines = _run(capsys, "show", SESSION, "--json").splitlines()
    assert [json.loads(line)["type"] for line in lines][:2] == ["user", "assistant"]
    _run(capsys, "export", SESSION, "x.html")
    assert "<article>" in Path("x.html").read_text()
    assert "exists already" in _run(capsys, "export", SESSION, "x.html", code=1)
    assert OTHER in _run(capsys, "search", "ZEBRAS", "foreign")
    assert "Nothing" in _run(capsys, "search", "zebras", "nowhere", code=1)
    assert json.loads(_run(capsys, "search", "Read", "--json"))[0]["who"] == "agent"


def test_rename_fork_rewind_and_delete(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(capsys, "rename", SESSION, "My bug")
    assert "My bug" in _run(capsys, "list")
    new_id = _run(capsys, "fork", "my bug").strip()
    assert "  2  " in _run(capsys, "rewind", SESSION)
    assert "thanks" in _run(capsys, "rewind", SESSION, "2")
    store = FileStore(home / ".weft")
    assert resume.load(store, SESSION, None).history[-1].text == "Done."
    assert len(resume.load(store, new_id, None).history) == 6
    _run(capsys, "delete", new_id, "--yes")
    assert new_id not in _run(capsys, "list", "--all")


def test_a_foreign_session_is_copied_before_it_is_changed_and_never_deleted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = paths.session_file(OTHER, Path.cwd(), home / ".claude")
    before = source.read_bytes()
    assert "Weft does not delete it" in _run(capsys, "delete", OTHER, "--yes", code=1)
    _run(capsys, "rename", OTHER, "Zebras")
    assert source.read_bytes() == before
    assert paths.session_file(OTHER, Path.cwd(), home / ".weft").exists()
    rows = json.loads(_run(capsys, "list", "--json"))
    assert [row["source"] for row in rows] == ["weft", "weft"]


def test_what_is_not_there_is_a_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "There is no session 'nope'" in _run(capsys, "show", "nope", code=1)
    assert "There is no message" in _run(capsys, "rewind", SESSION, "77", code=1)
    assert "add --yes" in _run(capsys, "delete", SESSION, code=2)


def test_context_says_what_is_told_and_what_it_costs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("CLAUDE.md").write_text("Use tabs.", encoding="utf-8")
    assert context.main(["--model", "qwen3"]) == 0
    text = capsys.readouterr().out
    for word in ("base", "model", "environment", "memory", "files", "tools", "CLAUDE.md", "in all"):
        assert word in text
    assert context.main(["--json", "--bare", "--system-prompt", "Hi."]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["text"] == "Hi." and all(row["name"] != "memory" for row in rows)
    assert context.main(["--cwd", "/nowhere"]) == 1
