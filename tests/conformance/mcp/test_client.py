"""Our host against every client scenario of the official harness, in both of its versions."""

from pathlib import Path

import pytest

from tests.conformance.mcp.harness import run_client
from tests.conformance.mcp.scenarios import REFUSED, SCENARIOS

ALL = [(version, name) for version, names in SCENARIOS.items() for name in names]


@pytest.mark.parametrize(("version", "scenario"), [case for case in ALL if case not in REFUSED])
def test_the_client_scenario_passes(version: str, scenario: str, tmp_path: Path):
    code, text = run_client(version, scenario, tmp_path)
    assert code == 0, text
    assert "Passed: 0/0" not in text, text


@pytest.mark.parametrize(("version", "scenario"), list(REFUSED))
def test_what_the_newer_specification_forbids_is_still_refused(version: str, scenario: str, tmp_path: Path):
    code, text = run_client(version, scenario, tmp_path)
    assert code != 0 and "issuer mismatch" in text + (tmp_path / "out").as_posix() + _stderr(tmp_path)


def _stderr(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("stderr.txt"))
