"""`weft web` as a command: its help, what it refuses, and how it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "src"


def weft(*arguments: str, cwd: Path, home: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "weft", "web", *arguments]
    return subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_help_has_examples(tmp_path: Path, fresh_home: Path) -> None:
    out, _ = weft("--help", cwd=tmp_path, home=fresh_home).communicate(timeout=30)
    assert "weft web --port 8123 --no-open" in out


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, fresh_home: Path) -> None:
    process = weft("nowhere", cwd=tmp_path, home=fresh_home)
    _, err = process.communicate(timeout=30)
    assert "There is no folder nowhere" in err
    assert process.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_it_prints_one_link_and_ends_when_it_is_told_to(tmp_path: Path, fresh_home: Path, number: int) -> None:
    process = weft("--no-open", cwd=tmp_path, home=fresh_home)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line
    assert "/open/" in line
    assert "Ctrl+C" in process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert err == ""
