"""`weft completion` in the shells themselves: what Tab offers."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.peers import peer_bin
from weft.cli.completion import ACTIONS, bash, fish, zsh

LIMIT = 60.0
ASKED = {
    "weft doc": {"doctor"},
    "weft plugin fo": {"forget"},
    "weft mcp add": {"add", "add-json"},
    "weft --permission-mode pl": {"plan"},
    "weft --output-format stream": {"stream-json"},
    "weft --outp": {"--output-format"},
}


@pytest.mark.parametrize("line", ASKED)
def test_bash_offers_what_fits(line: str, tmp_path: Path) -> None:
    script = tmp_path / "weft.bash"
    script.write_text(bash())
    words = line.split()
    ask = (
        f'source {script}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _weft; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], capture_output=True, text=True, timeout=LIMIT, check=True, cwd=tmp_path
    )
    assert set(done.stdout.split()) == ASKED[line], done.stderr


@pytest.mark.parametrize("line", ASKED)
def test_fish_offers_what_fits(line: str, tmp_path: Path) -> None:
    script = tmp_path / "weft.fish"
    script.write_text(fish())
    done = subprocess.run(
        [str(peer_bin("fish")), "--no-config", "-c", f'source {script}; complete -C "{line}"'],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert {row.split("\t")[0] for row in done.stdout.splitlines()} == ASKED[line], done.stderr


@pytest.mark.parametrize("line", ASKED)
def test_zsh_completes_what_fits(line: str, tmp_path: Path) -> None:
    """In a terminal of its own, with the Tab key: zsh completes nowhere else. The line that is left is then run."""
    (tmp_path / "weft.zsh").write_text(zsh())
    begin = 'autoload -Uz compinit; compinit -u -D; source ./weft.zsh; weft() { print -r -- "ran<$*>" }; PS1=\'now\'">"'
    command = str(peer_bin("zsh"))
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(command, [command, "-f", "-i"], {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"})
    try:
        os.write(fd, f"{begin}\n".encode())
        read_until(fd, "now>")
        os.write(fd, f"{line}\t\n".encode())
        wanted = min(ASKED[line], key=len)
        before = line.removeprefix("weft").rpartition(" ")[0].strip()
        read_until(fd, rf"ran<{re.escape(f'{before} {wanted}'.strip())} ?>")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(fd)


def read_until(fd: int, wanted: str) -> None:
    seen = ""
    end = time.monotonic() + LIMIT
    while not re.search(wanted, seen):
        assert time.monotonic() < end, f"{wanted!r} did not come: {seen!r}"
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536).decode("utf-8", "replace").replace("\x08", "")


@pytest.mark.parametrize("name", list(ACTIONS))
def test_the_actions_are_those_of_the_subcommand(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weft", name, "--help"], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert all(re.search(rf"(?<![\w-]){re.escape(action)}(?![\w-])", done.stdout) for action in ACTIONS[name])
    shown = re.findall(r"^    ([a-z][a-z-]*)(?: |$)", done.stdout, re.MULTILINE)
    assert not shown or set(shown) == set(ACTIONS[name])
