"""The real `claude-agent-sdk`, with `weft` in the place of its command: every check of the acceptance drivers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers import peer_python

DRIVERS = Path(__file__).parent / "drivers"
SOURCE = Path(__file__).resolve().parents[3] / "src"
CHECKS = re.findall(r"^@check\nasync def (\w+)", (DRIVERS / "sdk_features.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All checks in one run, as they come: a row for each."""
    out = tmp_path_factory.mktemp("wire")
    command = out / "weft"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={SOURCE} exec {sys.executable} -m weft "$@"\n')
    command.chmod(0o755)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE"))}
    subprocess.run(
        [
            peer_python("claude-agent-sdk"),
            DRIVERS / "sdk_features.py",
            "--cmd",
            command,
            "--out",
            out,
            "--timeout",
            "60",
        ],
        env={**env, "HOME": str(out)},
        timeout=900,
        check=False,
        capture_output=True,
    )
    rows = json.loads((out / "_summary.json").read_text())
    return {row["check"]: row for row in rows}


def test_no_check_was_left_out(results: dict[str, dict[str, Any]]) -> None:
    assert sorted(results) == sorted(CHECKS)
    assert len(CHECKS) == 51


@pytest.mark.parametrize("check", CHECKS)
def test_the_sdk_cannot_tell_the_difference(check: str, results: dict[str, dict[str, Any]]) -> None:
    assert results[check]["status"] == "PASS", results[check]
