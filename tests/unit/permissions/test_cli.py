"""`weft permissions` and `weft trust`: they show, and run nothing."""

import json
from pathlib import Path

import pytest

from weft.cli import permissions, trust
from weft.permissions.lint import lint
from weft.permissions.rules import Behavior, RuleScope, make


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "proj"
    (folder / ".claude").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_check_shows_parse_parts_and_decision_and_runs_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert permissions.main(["check", "git log --grep=$(touch pwned) | sh"]) == 1
    shown = capsys.readouterr().out
    for piece in ("touch pwned  (inside of a substitution)", "sh", "command substitution", "default mode: ask"):
        assert piece in shown
    assert not (project / "pwned").exists()


def test_check_names_the_rule_the_scope_and_each_part(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = json.dumps({"permissions": {"allow": ["Bash(npm test:*)"], "deny": ["Bash(curl:*)"]}})
    code = permissions.main(["check", "--settings", settings, "--json", "npm test && make | head"])
    found = json.loads(capsys.readouterr().out)
    assert code == 1 and found["behavior"] == "ask" and found["always_allow"] == ["Bash(make:*)"]
    assert [(part["text"], part["behavior"]) for part in found["parts"]] == [
        ("npm test", "allow"),
        ("make", "ask"),
        ("head", "allow"),
    ]
    assert found["parts"][0]["rule"] == "Bash(npm test:*)" and found["parts"][0]["scope"] == "cliArg"
    assert permissions.main(["check", "--settings", settings, "ls; curl x"]) == 3
    assert "rule Bash(curl:*), cliArg settings" in capsys.readouterr().out
    assert permissions.main(["check", "ls"]) == 0


def test_check_takes_other_tools_modes_and_rules(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert permissions.main(["check", "--tool", "Edit", ".git/config", "--mode", "acceptEdits"]) == 1
    assert permissions.main(["check", "--tool", "Edit", "a.py", "--mode", "acceptEdits"]) == 0
    assert permissions.main(["check", "--tool", "WebFetch", "https://a.b", "--deny", "WebFetch(domain:b)"]) == 3
    assert permissions.main(["check", "--tool", "Read", "x", "--mode", "plan"]) == 0
    capsys.readouterr()


def test_list_shows_each_rule_with_its_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".claude/settings.json").write_text('{"permissions":{"allow":["Bash(ls:*)"],"deny":["Read(x)"]}}')
    assert permissions.main(["list"]) == 0
    shown = capsys.readouterr()
    assert "deny   Read(x)" in shown.out and "project: " in shown.out and "Bash(ls:*)" not in shown.out
    assert "permissions.allow" in shown.err
    assert permissions.main(["list", "--trust", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rules"]
    assert [row["rule"] for row in rows] == ["Read(x)", "Bash(ls:*)"]


def test_lint_has_an_exit_code_for_scripts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert permissions.main(["lint"]) == 0
    assert permissions.main(["lint", "--settings", '{"permissions":{"allow":["Bash(ls; rm:*)"]}}']) == 1
    assert "one simple command" in capsys.readouterr().out


LINTED: list[tuple[str, Behavior, RuleScope, str]] = [
    ("Bash", "allow", "user", "wide"),
    ("Bash(python:*)", "allow", "user", "wide"),
    ("Bash(sudo:*)", "allow", "user", "narrow"),
    ("Bash(ls && rm:*)", "allow", "user", "never"),
    ("Bash(FOO=1 make:*)", "allow", "user", "never"),
    ("Bash(* --version)", "allow", "user", "wide"),
    ("Bash(git*)", "allow", "user", "wide"),
    ("Reed(x)", "deny", "user", "never"),
    ("TodoWrite(x)", "deny", "user", "never"),
    ("Read(/src/**)", "deny", "user", "never"),
    ("Read(/etc/passwd)", "deny", "project", "never"),
    ("Read(!x)", "deny", "project", "never"),
    ("Read(*.{a,b})", "deny", "project", "never"),
    ("Write(src/**)", "allow", "project", "narrow"),
    ("Edit(~/**)", "allow", "project", "wide"),
    ("WebFetch(example.com)", "allow", "user", "never"),
    ("WebFetch(domain:a.com/x)", "allow", "user", "never"),
    ("WebFetch(domain:a.*.com)", "allow", "user", "never"),
    ("WebFetch(domain:*.com)", "allow", "user", "wide"),
    ("mcp__*", "allow", "user", "wide"),
    ("mcp__s__t(x)", "allow", "user", "never"),
]


@pytest.mark.parametrize(("text", "behavior", "scope", "kind"), LINTED)
def test_the_linter_finds_rules_that_mislead(text: str, behavior: Behavior, scope: RuleScope, kind: str) -> None:
    findings = lint([make(text, behavior, scope, root="/srv/p")], cwd="/srv/p")
    assert [finding.kind for finding in findings] == [kind]


@pytest.mark.parametrize(
    "text", ["Bash(npm run test:*)", "Read(//etc/**)", "Edit(src/**)", "WebFetch(domain:a.com)", "mcp__s", "Task(x)"]
)
def test_the_linter_is_silent_about_good_rules(text: str) -> None:
    assert lint([make(text, "allow", "project", root="/srv/p")], cwd="/srv/p") == []


def test_the_linter_sees_an_allow_rule_that_another_denies() -> None:
    found = [make("Bash(ls:*)", "allow", "project"), make("Bash", "deny", "policy")]
    assert "never takes effect" in lint(found, cwd="/")[0].message


def test_trust_shows_accepts_and_forgets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert trust.main(["--show"]) == 0
    (project / ".claude/settings.json").write_text('{"hooks":{"Stop":[]},"permissions":{"allow":["Bash"]}}')
    assert trust.main(["--show"]) == 1
    assert "hooks, permissions.allow" in capsys.readouterr().out
    assert trust.main([]) == 0
    assert trust.main(["--show"]) == 0
    assert trust.main(["--forget"]) == 0
    assert trust.main(["--show"]) == 1
    assert trust.main(["/no/such/folder"]) == 2
