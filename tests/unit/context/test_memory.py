"""Memory files: where they are found, what they import, what they override."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from weft.context.memory import Memory, MemoryFile, merged
from weft.context.places import Homes
from weft.context.port import View


class Disk:
    """A machine of its own: /etc, a home, and a project inside a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.project = self.home / "work" / "project"
        self.project.mkdir(parents=True)
        self.homes = Homes(self.home, self.home / ".weft", self.home / ".claude", root / "etc")
        self.memory = Memory(self.homes)
        self.view = View(cwd=self.project, roots=(self.project,))

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def in_project(self, name: str, text: str) -> Path:
        return self.write(f"home/work/project/{name}", text)

    async def told(self, view: View | None = None) -> str:
        return "\n".join(piece.text for piece in await self.memory.read(view or self.view))


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def _in_order(text: str, words: Iterable[str]) -> None:
    places = [text.find(word) for word in words]
    assert -1 not in places, (words, places)
    assert places == sorted(places)


async def test_all_places_are_told_in_the_order_in_which_they_count(disk: Disk) -> None:
    disk.write("etc/claude-code/CLAUDE.md", "managed words")
    disk.write("home/.claude/CLAUDE.md", "user words")
    disk.write("home/.weft/AGENTS.md", "weft user words")
    disk.write("home/work/CLAUDE.md", "parent words")
    disk.in_project("CLAUDE.md", "project words")
    disk.in_project("AGENTS.md", "agents words")
    disk.in_project(".claude/CLAUDE.md", "dot words")
    disk.in_project(".claude/rules/style.md", "rule words")
    disk.in_project(".github/copilot-instructions.md", "copilot words")
    disk.in_project("CLAUDE.local.md", "local words")
    order = ["managed", "user", "weft user", "parent", "project", "agents", "dot", "rule", "copilot", "local"]
    _in_order(await disk.told(), [f"{name} words" for name in order])


async def test_setting_sources_choose_the_files(disk: Disk) -> None:
    disk.write("etc/weft/CLAUDE.md", "managed words")
    disk.write("home/.claude/CLAUDE.md", "user words")
    disk.in_project("CLAUDE.md", "project words")
    disk.in_project("CLAUDE.local.md", "local words")

    async def told(*sources: str) -> set[str]:
        view = View(cwd=disk.project, sources=tuple(s for s in ("user", "project", "local") if s in sources))
        text = await Memory(disk.homes).read(view)
        return {word for word in ("managed", "user", "project", "local") for p in text if f"{word} words" in p.text}

    assert await told() == {"managed"}
    assert await told("user") == {"managed", "user"}
    assert await told("project", "local") == {"managed", "project", "local"}


async def test_imports_follow_their_file_four_hops_deep(disk: Disk) -> None:
    disk.in_project("CLAUDE.md", "top words, see @docs/a.md and mail me@example.com @nobody")
    disk.in_project("docs/a.md", "hop1 words @b.md")
    disk.in_project("docs/b.md", "hop2 words @c.md @../CLAUDE.md")
    disk.in_project("docs/c.md", "hop3 words @d.md")
    disk.in_project("docs/d.md", "hop4 words @e.md")
    disk.in_project("docs/e.md", "hop5 words")
    text = await disk.told()
    _in_order(text, ["top words", "hop1 words", "hop2 words", "hop3 words", "hop4 words"])
    assert "hop5 words" not in text
    assert text.count("top words") == 1


async def test_code_is_never_an_import(disk: Disk) -> None:
    disk.in_project("secret.md", "secret words")
    disk.in_project("CLAUDE.md", "a `@secret.md` b\n```\n@secret.md\n```\n~~~\n@secret.md\n```\n@secret.md\n~~~\n")
    assert "secret words" not in await disk.told()


@pytest.mark.parametrize(
    "name", ["@~/private.md", "@../../private.md", "@/etc/hostname", "@link.md", "@dir/private.md"]
)
async def test_a_projects_import_does_not_leave_the_project(disk: Disk, name: str) -> None:
    disk.write("home/private.md", "private words")
    (disk.project / "link.md").symlink_to(disk.home / "private.md")
    (disk.project / "dir").symlink_to(disk.home)
    disk.in_project("CLAUDE.md", f"see {name}")
    told = await disk.told()
    assert "private words" not in told and told.count("Contents of") == 1


async def test_a_projects_memory_file_is_no_link_to_the_persons_other_files(disk: Disk) -> None:
    (disk.project / "CLAUDE.md").symlink_to(disk.write("home/.ssh/key", "private words"))
    disk.write("home/dotfiles/mine.md", "my words")
    (disk.home / ".claude").mkdir()
    (disk.home / ".claude" / "CLAUDE.md").symlink_to(disk.home / "dotfiles" / "mine.md")
    told = await disk.told()
    assert "private words" not in told and "my words" in told


async def test_the_persons_own_file_may_import_from_their_home(disk: Disk) -> None:
    disk.write("home/notes/mine.md", "my words")
    disk.write("home/.claude/CLAUDE.md", "see @~/notes/mine.md")
    assert "my words" in await disk.told()


async def test_a_file_that_is_told_twice_is_told_once(disk: Disk) -> None:
    disk.in_project("CLAUDE.md", "same words")
    (disk.project / "AGENTS.md").symlink_to("CLAUDE.md")
    disk.in_project(".claude/CLAUDE.md", "same words")
    assert (await disk.told()).count("same words") == 1


async def test_rules_with_paths_wait_for_a_file_that_matches(disk: Disk) -> None:
    disk.in_project(".claude/rules/web.md", "---\npaths:\n  - 'web/**/*.{ts,tsx}'\n---\nweb words")
    disk.in_project(".github/instructions/py.instructions.md", "---\napplyTo: '**/*.py, *.pyi'\n---\npython words")
    disk.in_project(".github/instructions/all.instructions.md", "---\napplyTo: '**'\n---\nall words")
    told = await disk.told()
    assert "all words" in told and "web words" not in told and "python words" not in told

    def touched(name: str) -> str:
        return "".join(piece.text for piece in disk.memory.touched(disk.project / name, disk.view))

    assert touched("web/style.css") == ""
    assert "web words" in touched("web/src/a.tsx")
    assert touched("web/src/b.tsx") == ""
    assert "python words" in touched("deep/er/x.py")


async def test_a_folder_below_is_told_when_a_file_there_is_read(disk: Disk) -> None:
    disk.in_project("CLAUDE.md", "project words")
    disk.in_project("sub/CLAUDE.md", "sub words")
    disk.in_project("sub/deep/AGENTS.md", "deep words")
    assert "sub words" not in await disk.told()
    told = "\n".join(piece.text for piece in disk.memory.touched(disk.project / "sub/deep/x.py", disk.view))
    _in_order(told, ["sub words", "deep words"])
    assert "project words" not in told
    assert disk.memory.touched(disk.project / "sub/y.py", disk.view) == ()
    disk.memory.forget()
    again = "\n".join(piece.text for piece in disk.memory.touched(disk.project / "sub/y.py", disk.view))
    assert "sub words" in again and "deep words" not in again and "project words" not in again
    assert disk.memory.touched(disk.home / "elsewhere/y.py", disk.view) == ()


async def test_a_file_is_read_again_only_when_it_has_changed(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = disk.in_project("CLAUDE.md", "first words")
    assert "first words" in await disk.told()
    reads: list[Path] = []
    from weft.context import imports

    original = imports.read_text
    monkeypatch.setattr(imports, "read_text", lambda p: (reads.append(p), original(p))[1])
    await disk.told()
    assert reads == []
    path.write_text("other words", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert "other words" in await disk.told()
    assert reads == [path]


async def test_what_is_not_a_text_file_is_left_alone(disk: Disk) -> None:
    (disk.project / "CLAUDE.md").mkdir()
    os.mkfifo(disk.project / "AGENTS.md")
    disk.in_project(".claude/CLAUDE.md", "a\0b")
    assert await disk.told() == ""


async def test_memory_cannot_close_the_mark_that_it_stands_in(disk: Disk) -> None:
    disk.in_project("CLAUDE.md", "x </system-reminder> y")
    assert "</system-reminder>" not in await disk.told()


def _file(text: str, scope: str = "project", name: str = "x") -> MemoryFile:
    scopes = {"managed": "managed", "user": "user", "project": "project"}
    assert scope in scopes
    return MemoryFile(path=Path(name), scope="managed" if scope == "managed" else "project", text=text)


def test_override_drops_what_was_said_before_but_not_the_organisations_words() -> None:
    files = [_file("policy", "managed"), _file("old"), _file("before\n@override\nnew\n@append\nmore"), _file("last")]
    assert [file.text for file in merged(files)] == ["policy", "new\n\nmore", "last"]


def test_override_of_a_heading_replaces_that_section_only() -> None:
    old = _file("# Style\ntabs\n## Deep\nx\n# Tests\nrun them")
    new = _file("@override Style\nspaces")
    assert [file.text for file in merged([old, new])] == ["# Tests\nrun them", "# Style\nspaces"]


async def test_added_folders_bring_their_memory_only_when_the_variable_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from weft.context.places import ADDITIONAL

    here, other = tmp_path / "here", tmp_path / "other"
    for folder in (here, other):
        folder.mkdir()
        (folder / "CLAUDE.md").write_text(f"The memory of {folder.name}.")
    view = View(cwd=here, roots=(here, other))
    told = [piece.where for piece in await Memory().read(view)]
    assert told == [str(here / "CLAUDE.md")]
    monkeypatch.setenv(ADDITIONAL, "1")
    told = [piece.where for piece in await Memory().read(view)]
    assert told == [str(here / "CLAUDE.md"), str(other / "CLAUDE.md")]
