"""The system prompt and the reminders: order, stability, budget, options."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from weft.context.assemble import Assembler, PromptOptions, fitted
from weft.context.git import Git, branch_of
from weft.context.memory import Memory
from weft.context.places import Homes
from weft.context.port import Listing, Piece, View
from weft.schema.content import Text
from weft.schema.wire import encode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("Use tabs.", encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "src" / "main.py").write_text("", encoding="utf-8")
    return folder


def _assembler(project: Path, options: PromptOptions | None = None) -> Assembler:
    home = project.parent / "home"
    return Assembler(options, memory=Memory(Homes(home, home / ".weft", home / ".claude", project.parent / "etc")))


def _view(project: Path, **changes: object) -> View:
    return msgspec.structs.replace(View(cwd=project, model="claude-x", date="2026-01-02"), **changes)


def _git(folder: Path, *arguments: str) -> None:
    env = {**os.environ, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "A"}
    env["GIT_COMMITTER_EMAIL"] = "a@x"
    subprocess.run(("git", "-C", str(folder), *arguments), check=True, env=env, capture_output=True)


async def test_the_parts_come_in_order_and_each_source_is_a_block(project: Path) -> None:
    _git(project, "init", "-q", "-b", "trunk")
    assembler = _assembler(project)
    view = _view(project, listings=(Listing("Agents", (("Explore", "looks around"),)),))
    system = assembler.system(view)
    assert system[0].text.startswith("You are Weft")
    assert "2026-01-02" in system[1].text and "2026" not in system[0].text
    names = [piece.name for piece in await assembler.reminder_pieces(view)]
    assert list(dict.fromkeys(names)) == ["memory", "git", "files", "tools"]
    blocks = await assembler.reminders(view)
    assert len(blocks) == 4
    assert all(isinstance(b, Text) and b.text.startswith("<system-reminder>") for b in blocks)


async def test_two_turns_in_a_row_share_every_byte_up_to_the_last_changed_source(project: Path) -> None:
    assembler = _assembler(project)
    one = encode(assembler.system(_view(project)))
    assert encode(assembler.system(_view(project))) == one
    # Another day: everything before the environment is the same.
    other = assembler.system(_view(project, date="2026-01-03"))
    assert encode(other[0]) == encode(assembler.system(_view(project))[0])
    # Plan mode is last: it moves nothing that stands before it.
    plan = assembler.system(_view(project, mode="plan"))
    before = assembler.system(_view(project))
    assert plan[0] == before[0]
    assert plan[1].text.startswith(before[1].text)
    (project / "CLAUDE.md").write_text("Use spaces.", encoding="utf-8")
    assert encode(assembler.system(_view(project))) == one


async def test_a_given_prompt_replaces_ours_and_keeps_the_memory(project: Path) -> None:
    assembler = _assembler(project, PromptOptions(replace="You are Bob.", append="Be kind."))
    text = "\n".join(part.text for part in assembler.system(_view(project)))
    assert text.startswith("You are Bob.\n\nBe kind.") and "Weft" not in text
    assert any("Use tabs." in piece.text for piece in await assembler.reminder_pieces(_view(project)))


async def test_bare_tells_nothing_of_the_folder(project: Path) -> None:
    assembler = _assembler(project, PromptOptions(bare=True))
    assert await assembler.reminders(_view(project)) == ()
    assert assembler.touched(project / "src/main.py", _view(project)) == ()


@pytest.mark.parametrize(
    ("model", "word"), [("claude-x", None), ("gpt-9", "Finish"), ("qwen4:8b", "One step"), ("zork", "One step")]
)
def test_models_are_told_what_their_family_needs(project: Path, model: str, word: str | None) -> None:
    text = _assembler(project).system(_view(project, model=model))[0].text
    assert (word in text) if word else "# One step" not in text and "# Finish" not in text


def test_what_does_not_fit_is_shortened_by_priority() -> None:
    long = "word " * 1000
    pieces = [
        Piece(name="a", text=long, shortened="short a", priority=10),
        Piece(name="b", text=long, shortened="short b", priority=90),
        Piece(name="c", text=long, priority=20),
    ]
    assert [p.text for p in fitted(pieces, 10_000)] == [long, long, long]
    assert [p.text for p in fitted(pieces, 2_500)] == ["short a", long, long]
    assert [p.text for p in fitted(pieces, 1_500)] == ["short a", long]
    assert [p.text for p in fitted(pieces, 10)] == ["short a", "short b"]
    assert fitted(pieces, 0) == ()


async def test_git_tells_branch_changes_and_commits(project: Path) -> None:
    _git(project, "init", "-q", "-b", "trunk")
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "The first <b>")
    (project / "new.txt").write_text("x", encoding="utf-8")
    (piece,) = await Git().read(_view(project / "src"))
    assert "Branch: trunk" in piece.text and "?? new.txt" in piece.text and "The first ‹b›" in piece.text
    assert branch_of(project / "src") == "trunk"


async def test_nothing_that_a_repository_configures_is_run(project: Path) -> None:
    _git(project, "init", "-q", "-b", "trunk")
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "first")
    (project / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    mark = project.parent / "ran"
    (project / "CLAUDE.md").write_text("Use tabS.", encoding="utf-8")
    for key in ("core.fsmonitor", "filter.evil.clean", "gpg.program"):
        _git(project, "config", key, f"touch {mark}; false")
    _git(project, "config", "log.showSignature", "true")
    await Git().read(_view(project))
    assert not mark.exists()


async def test_outside_a_repository_git_says_nothing(tmp_path: Path) -> None:
    assert await Git().read(View(cwd=tmp_path)) == ()
    assert branch_of(tmp_path) == ""


async def test_the_tree_is_a_page_at_most_and_skips_what_nobody_wrote(project: Path) -> None:
    (project / "node_modules" / "x").mkdir(parents=True)
    for number in range(60):
        (project / f"file{number:02}.txt").write_text("", encoding="utf-8")
    pieces = [p for p in await _assembler(project).reminder_pieces(_view(project)) if p.name == "files"]
    assert "node_modules" not in pieces[0].text and "main.py" not in pieces[0].text
    assert "… 37 more" in pieces[0].text
