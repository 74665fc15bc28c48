import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "peers.py"


def run(cache: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {"WEFT_PEERS": str(cache), "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, str(SCRIPT), *args], env=env, capture_output=True, text=True, timeout=30)


def test_an_unknown_peer_is_named_with_those_that_exist(tmp_path: Path) -> None:
    done = run(tmp_path, "install", "nobody")
    assert done.returncode == 1
    assert "nobody: no such peer" in done.stderr and "claude" in done.stderr


def test_a_peer_that_is_not_installed_has_no_path_and_says_how_to_get_one(tmp_path: Path) -> None:
    done = run(tmp_path, "path", "claude")
    assert done.returncode == 1 and done.stdout == ""
    assert "peers.py install claude" in done.stderr


@pytest.mark.parametrize("args", [("path",), ("remove", "claude")])
def test_a_wrong_command_line_ends_with_2(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert run(tmp_path, *args).returncode == 2


def test_the_list_shows_every_peer_with_its_pinned_packages(tmp_path: Path) -> None:
    done = run(tmp_path, "list")
    assert done.returncode == 0
    assert "@anthropic-ai/claude-code@2.1.325" in done.stdout and "absent" in done.stdout
