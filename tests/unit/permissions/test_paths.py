"""Security cases 17 to 22 and 25: the names that a file can have."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.permissions.table import bash, call, gate_for
from weft.permissions.paths import fold, is_within, odd_spelling, resolve


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def test_a_sibling_with_the_same_beginning_is_outside(project: Path) -> None:
    evil = project.parent / "proj-evil"
    evil.mkdir()
    gate = gate_for(project, mode="acceptEdits")
    assert gate.decide(call("Write", file_path=str(evil / "x"))).behavior == "ask"
    assert gate.decide(call("Read", file_path=str(evil / "x"))).behavior == "ask"
    assert not is_within("/proj-evil", "/proj") and is_within("/proj/x", "/proj")


def test_symlinks_are_resolved_whatever_part_of_the_path_they_are(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("x")
    (project / "file").symlink_to(outside / "f")
    (project / "folder").symlink_to(outside)
    (project / "dangling").symlink_to(outside / "new")
    (project / "chain").symlink_to("file")
    (project / "loop").symlink_to("loop")
    gate = gate_for(project, mode="acceptEdits", allow=("Edit(/**)",))
    for name in ("file", "folder/f", "folder/new", "dangling", "chain", "folder/../outside/f"):
        assert gate.decide(call("Write", file_path=name)).behavior == "ask", name
        assert gate.decide(call("Read", file_path=name)).behavior == "ask", name
    assert gate.decide(call("Write", file_path="loop")).behavior in ("ask", "allow")


def test_a_deny_rule_holds_for_each_name_of_the_file(project: Path) -> None:
    (project / "real").mkdir()
    (project / "real/secret").write_text("x")
    (project / "alias").symlink_to("real")
    (project / "secret-link").symlink_to("real/secret")
    os.link(project / "real/secret", project / "hard")
    gate = gate_for(project, deny=("Read(/real/secret)", "Read(/secret-by-link)"))
    (project / "secret-by-link").symlink_to("plain")
    (project / "plain").write_text("x")
    names = (
        "real/secret",
        "alias/secret",
        "secret-link",
        "hard",
        "./real/../real/secret",
        "REAL/SECRET",
        "secret-by-link",
    )
    for name in (*names, f"{project}/real/secret", f"/proc/self/root{project}/real/secret", f"/{project}/real//secret"):
        assert gate.decide(call("Read", file_path=name)).behavior == "deny", name
        assert gate.decide(call("Edit", file_path=name)).behavior == "deny", name


def test_an_allow_rule_must_match_where_the_path_really_leads(project: Path) -> None:
    target = project.parent / "target"
    target.mkdir()
    (project / "src").symlink_to(target)
    gate = gate_for(project, allow=("Edit(/src/**)",))
    assert gate.decide(call("Edit", file_path="src/a")).behavior == "ask"
    assert gate_for(project, allow=(f"Edit(/{target}/**)",)).decide(call("Edit", file_path="src/a")).behavior == "allow"


def test_a_project_that_is_reached_through_a_link_works(project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    gate = gate_for(link, mode="acceptEdits", deny=("Read(/secret)",))
    assert gate.decide(call("Write", file_path=str(link / "a"))).behavior == "allow"
    assert gate.decide(call("Write", file_path=str(project / "a"))).behavior == "allow"
    assert gate.decide(call("Read", file_path=str(project / "secret"))).behavior == "deny"


def test_a_hard_link_is_edited_only_after_asking(project: Path) -> None:
    (project.parent / "other").write_text("x")
    os.link(project.parent / "other", project / "hard")
    assert gate_for(project, mode="acceptEdits").decide(call("Edit", file_path="hard")).behavior == "ask"


@pytest.mark.parametrize("spelling", ["Café.txt", "Cafe\u0301.txt", "CAFÉ.TXT", "cafe\u0301.txt", "ca\u200dfé.txt"])
def test_case_and_normal_form_do_not_get_around_a_deny_rule(spelling: str, project: Path) -> None:
    gate = gate_for(project, deny=("Read(café.txt)",))
    assert gate.decide(call("Read", file_path=spelling)).behavior == "deny"


def test_case_and_normal_form_do_not_widen_an_allow_rule(project: Path) -> None:
    gate = gate_for(project, allow=("Edit(/café.txt)",))
    assert gate.decide(call("Edit", file_path="café.txt")).behavior == "allow"
    assert gate.decide(call("Edit", file_path="CAFÉ.txt")).behavior == "ask"


def test_pipes_and_devices_are_asked_about(project: Path) -> None:
    os.mkfifo(project / "pipe")
    gate = gate_for(project, mode="acceptEdits", allow=("Read",))
    assert gate.decide(call("Read", file_path="pipe")).behavior == "ask"
    assert gate.decide(call("Read", file_path="/dev/zero")).behavior == "ask"


@pytest.mark.parametrize(
    "path",
    [
        "\\\\server\\share\\x",
        "\\??\\C:\\x",
        "//?/C:/x",
        "x:stream",
        "CON",
        "a/nul.txt",
        "COM1",
        "dir./x",
        "x ",
        "PROGRA~1/x",
    ],
)
def test_windows_spellings_are_not_judged_by_their_text(path: str) -> None:
    assert odd_spelling(path, windows=True)
    assert not odd_spelling("C:\\src\\main.py", windows=True)
    assert not odd_spelling("src/main.py", windows=True)


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/commands/x.md",
        ".weft/settings.json",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        "sub/.git/config",
        ".GIT/config",
        ".vscode/settings.json",
        ".vscode/tasks.json",
        "x.code-workspace",
        ".envrc",
        ".mcp.json",
        ".husky/pre-commit",
        ".devcontainer/devcontainer.json",
        "~/.bashrc",
        "~/.zshenv",
        "~/.profile",
        "~/.config/fish/config.fish",
        "~/.ssh/authorized_keys",
        "~/.weft/settings.json",
        "~/.gitconfig",
        ".g\u200bit/config",
    ],
)
def test_files_that_steer_other_programs_are_never_written_by_a_mode_or_a_wide_rule(path: str, project: Path) -> None:
    for mode in ("acceptEdits", "smart", "default"):
        gate = gate_for(project, mode=mode, allow=("Edit", "Write", "Edit(**)", "Edit(~/**)"))
        decision = gate.decide(call("Write", file_path=path))
        assert decision.behavior == "ask", decision
        assert not any(suggestion.rule.startswith("Edit") for suggestion in decision.suggestions)
    assert bash(gate_for(project, mode="acceptEdits"), f"echo x > '{path}'").behavior == "ask"


def test_a_rule_that_names_a_protected_file_exactly_covers_it(project: Path) -> None:
    gate = gate_for(project, allow=("Edit(/.vscode/settings.json)",))
    assert gate.decide(call("Edit", file_path=".vscode/settings.json")).behavior == "allow"
    assert gate.decide(call("Edit", file_path=".vscode/tasks.json")).behavior == "ask"


def test_a_worktree_below_a_protected_folder_can_be_worked_on(tmp_path: Path) -> None:
    root = tmp_path / ".weft" / "worktrees" / "w"
    root.mkdir(parents=True)
    gate = gate_for(root, mode="acceptEdits")
    assert gate.decide(call("Edit", file_path="src/a.py")).behavior == "allow"
    assert gate.decide(call("Edit", file_path=".git/config")).behavior == "ask"


def test_a_link_swapped_after_the_decision_is_refused_at_the_last_look(project: Path) -> None:
    gate = gate_for(project, mode="acceptEdits", deny=("Read(/secret)",))
    assert gate.decide(call("Write", file_path="a")).behavior == "allow"
    assert gate.refuses(project / "a", "write") is None
    assert gate.refuses(Path("/etc/passwd"), "write")
    assert gate.refuses(project / "secret", "read")
    assert gate.decide(call("Write", file_path="/srv/x")).behavior == "ask"
    assert gate.refuses(Path("/srv/x"), "write") is None


RULES = [
    ("Read(secret.txt)", "secret.txt", True),
    ("Read(secret.txt)", "a/b/secret.txt", True),
    ("Read(*.pem)", "a/b/key.pem", True),
    ("Read(*.pem)", "/elsewhere/key.pem", True),
    ("Read(/a/*.pem)", "a/key.pem", True),
    ("Read(/a/*.pem)", "a/b/key.pem", False),
    ("Read(a/**)", "a/b/c", True),
    ("Read(a/**)", "b/a/c", False),
    ("Read(a/)", "a/b", True),
    ("Read(**/x/y)", "q/x/y", True),
    ("Read(./x)", "x", True),
    ("Read(./x)", "a/x", False),
    ("Read(~/.ssh/**)", "~/.ssh/id", True),
    ("Read(//etc/**)", "/etc/passwd", True),
    ("Read(/etc/**)", "/etc/passwd", False),
    ("Read(a?c)", "abc", True),
    ("Read(a[bx]c)", "abc", True),
    ("Read(a[!b]c)", "abc", False),
    ("Read(a.c)", "abc", False),
    ("Read(/)", "anything", True),
]


@pytest.mark.parametrize(("rule", "path", "hit"), RULES)
def test_path_patterns(rule: str, path: str, hit: bool, project: Path) -> None:
    gate = gate_for(project, deny=(rule,))
    assert gate.hides("Read", {"file_path": path}) is hit
    assert gate.hides("Grep", {"path": path}) is hit


names = st.text(alphabet="ab.é~ *[]", min_size=1, max_size=6).filter(lambda text: text not in (".", ".."))


@given(st.lists(st.one_of(st.just(".."), st.just("."), st.just(""), names), max_size=8))
def test_resolving_agrees_with_the_kernel_on_plain_paths(parts: list[str]) -> None:
    path = "/nowhere/" + "/".join(parts)
    assert resolve(path).real == os.path.realpath(path)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
