"""The table of what passes in each mode when nobody can be asked: ask and deny are both a refusal."""

from pathlib import Path

import pytest

from tests.unit.permissions.table import call, gate_for
from weft.errors import UsageError
from weft.permissions.modes import to_mode
from weft.permissions.port import Call
from weft.schema.events import MODES, Mode

ORDER: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")


def bash(command: str) -> Call:
    return Call(name="Bash", input={"command": command}, group="execution")


TABLE: list[tuple[str, Call, str]] = [
    ("read inside", call("Read", file_path="a.py"), "+++++"),
    ("read outside", call("Read", file_path="/etc/hostname"), "--+-+"),
    ("write inside", call("Write", file_path="a.py", content=""), "-+--+"),
    ("edit inside", call("Edit", file_path="a.py"), "-+--+"),
    ("write outside", call("Write", file_path="/etc/x", content=""), "----+"),
    ("write settings", call("Write", file_path=".claude/settings.json", content=""), "----+"),
    ("write a git hook", call("Write", file_path=".git/hooks/pre-commit", content=""), "----+"),
    ("fetch", call("WebFetch", url="https://example.com/"), "----+"),
    ("agent", call("Agent", subagent_type="x"), "++-++"),
    ("todo", call("TodoWrite", todos=[]), "+++++"),
    ("mcp tool", call("mcp__s__t"), "----+"),
]


@pytest.mark.parametrize(("name", "asked", "passes"), TABLE, ids=[row[0] for row in TABLE])
def test_each_mode_lets_pass_exactly_what_the_table_says(name: str, asked: Call, passes: str, tmp_path: Path) -> None:
    project = tmp_path / "proj"
    project.mkdir()
    got = "".join("+" if gate_for(project, mode=mode).decide(asked).behavior == "allow" else "-" for mode in ORDER)
    assert got == passes


@pytest.mark.parametrize("mode", MODES)
def test_a_deny_rule_holds_in_every_mode(mode: Mode, tmp_path: Path) -> None:
    gate = gate_for(tmp_path, mode=mode, deny=("Read(secret.txt)", "Edit(secret.txt)"), allow=("Read", "Edit", "Write"))
    assert gate.decide(call("Read", file_path="secret.txt")).behavior == "deny"
    assert gate.decide(call("Write", file_path="secret.txt")).behavior == "deny"
    assert gate.hides("Read", {"file_path": "secret.txt"})
    assert not gate.hides("Read", {"file_path": "other.txt"})


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("dontAsk", "plan")])
def test_an_ask_rule_holds_in_every_mode_that_asks(mode: Mode, tmp_path: Path) -> None:
    gate = gate_for(tmp_path, mode=mode, ask=("Edit(src/**)",), allow=("Edit",))
    assert gate.decide(call("Edit", file_path="src/a.py")).behavior == "ask"


def test_plan_mode_never_writes_whatever_a_rule_says(tmp_path: Path) -> None:
    gate = gate_for(tmp_path, mode="plan", allow=("Edit", "Write", "Bash", "mcp__s__t", "Edit(**)"))
    for asked in (call("Edit", file_path="a"), call("Write", file_path="a"), bash("touch a"), call("mcp__s__t")):
        assert gate.decide(asked).behavior == "deny", asked


def test_plan_mode_refuses_writes_even_where_a_rule_wants_them_asked(tmp_path: Path) -> None:
    gate = gate_for(tmp_path, mode="plan", ask=("Write", "Bash(touch:*)", "Bash(ls:*)", "mcp__s__t", "Edit(a)"))
    for asked in (call("Write", file_path="a"), bash("touch a"), call("mcp__s__t"), call("Edit", file_path="a")):
        assert gate.decide(asked).behavior == "deny", asked
    assert gate.decide(bash("ls")).behavior == "ask"
    assert gate.decide(bash("pwd")).behavior == "allow"


def test_smart_mode_passes_reversible_edits_and_says_why(tmp_path: Path) -> None:
    decision = gate_for(tmp_path, mode="smart").decide(call("Edit", file_path="a.py"))
    assert decision.behavior == "allow" and "rewound" in decision.reason
    assert gate_for(tmp_path, mode="smart").decide(call("Edit", file_path="/etc/passwd")).behavior == "ask"


def test_bypass_must_be_unlocked_at_launch_and_not_be_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gate_for(tmp_path)
    with pytest.raises(UsageError, match="unlocked"):
        gate.set_mode("bypassPermissions")
    gate.start_in("bypassPermissions")
    gate.set_mode("default")
    gate.set_mode("bypassPermissions")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    rooted = gate_for(tmp_path, env={"IS_SANDBOX": "0"})
    with pytest.raises(UsageError, match="root"):
        rooted.set_mode("bypassPermissions")


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("autoEdit", "acceptEdits"),
        ("auto_edit", "acceptEdits"),
        ("yolo", "bypassPermissions"),
        ("smart", "smart"),
        ("auto", "smart"),
        ("manual", "default"),
        ("PLAN", "plan"),
    ],
)
def test_other_agents_names_of_modes_are_understood(name: str, mode: Mode) -> None:
    assert to_mode(name) == mode


def test_an_unknown_mode_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError, match="unknown permission mode"):
        to_mode("nope")
