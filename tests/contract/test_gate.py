"""What every gate promises, whoever made it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.permissions.table import bash, call, gate_for
from weft.permissions.ceiling import CeilingGate
from weft.permissions.port import Gate
from weft.schema.events import RuleSuggestion

Make = Callable[[Path], Gate]


def plain(folder: Path) -> Gate:
    return gate_for(folder, deny=("Read(secret)", "Bash(rm:*)"))


def below(folder: Path) -> Gate:
    return CeilingGate(plain(folder), gate_for(folder))


@pytest.fixture(params=[plain, below])
def gate(request: pytest.FixtureRequest, tmp_path: Path) -> Gate:
    make: Make = request.param
    return make(tmp_path)


def test_a_deny_rule_wins_over_what_is_added_later(gate: Gate) -> None:
    gate.add_rules((RuleSuggestion("Read(secret)", "session"), RuleSuggestion("Bash", "session")))
    assert gate.decide(call("Read", file_path="secret")).behavior == "deny"
    assert bash(gate, "rm x").behavior == "deny"  # type: ignore[arg-type]
    assert gate.hides("Read", {"file_path": "secret"})


def test_an_added_rule_takes_effect_at_once(gate: Gate) -> None:
    asked = call("WebSearch", query="x")
    assert gate.decide(asked).behavior == "ask"
    gate.add_rules((RuleSuggestion("WebSearch", "session"),))
    assert gate.decide(asked).behavior == "allow"


def test_an_added_folder_can_be_read(gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    asked = call("Read", file_path=str(other / "x"))
    assert gate.decide(asked).behavior == "ask"
    gate.add_directories((str(other),))
    assert gate.decide(asked).behavior == "allow"


def test_every_decision_says_why(gate: Gate) -> None:
    for asked in (
        call("Read", file_path="a"),
        call("Write", file_path="/etc/x"),
        call("WebFetch", url="x"),
        call("Odd"),
    ):
        assert gate.decide(asked).reason


def test_deciding_changes_nothing(gate: Gate) -> None:
    asked = call("Write", file_path="/etc/x")
    assert gate.decide(asked) == gate.decide(asked)
