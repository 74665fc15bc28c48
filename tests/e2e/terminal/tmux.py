"""A real terminal: tmux on a socket of its own, with `weft` in it and a model on loopback behind it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers import peer_bin

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "src" / "weft" / "cli" / "demo_project"
LIMIT = 60.0
"""Seconds for anything to appear: a whole process is started, on a machine that may be busy."""


class Terminal:
    """One window. `shows` waits for texts on the screen; nothing here sleeps for a fixed time."""

    def __init__(self, socket: str, home: Path, folder: Path, env: dict[str, str]) -> None:
        self._socket = socket
        self._starts = 0
        self.home = home
        self.folder = folder
        self._env = env

    @property
    def _command(self) -> list[str]:
        """A server for each start: one that ends is not asked again."""
        return [str(peer_bin("tmux")), "-L", f"{self._socket}-{self._starts}", "-f", "/dev/null"]

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, check=True, env=self._env, timeout=LIMIT
        )
        return done.stdout

    def start(self, *arguments: str, size: tuple[int, int] = (80, 24), **env: str) -> None:
        words = " ".join(f"'{word}'" for word in ("-m", "weft", *arguments))
        pairs = " ".join(f"{name}='{value}'" for name, value in env.items())
        line = f"env {pairs} {sys.executable} {words}; echo left with $?; exec cat"
        wide, high = size
        self.close()
        self._starts += 1
        self.tmux("new-session", "-d", "-x", str(wide), "-y", str(high), "-c", str(self.folder), line)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def screen(self, *, escapes: bool = False) -> str:
        return self.tmux("capture-pane", "-p", *(["-e"] if escapes else []))

    def shows(self, *texts: str) -> str:
        end = time.monotonic() + LIMIT
        while True:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"{texts} did not come:\n{screen}")
            time.sleep(0.05)

    def resize(self, wide: int, high: int) -> None:
        self.tmux("resize-window", "-x", str(wide), "-y", str(high))

    def weft_pid(self) -> int:
        """The process that draws this window."""
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}").strip())
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
                argv = (path.parent / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == shell and b"weft" in argv:
                return int(path.parent.name)
        raise AssertionError("weft does not run")

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True, check=False, timeout=LIMIT)


@contextmanager
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A home, a project with a bug, a model, and a terminal: all gone at the end."""
    home, folder = tmp_path / "home", tmp_path / "tally"
    home.mkdir()
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("__pycache__"))
    model = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.terminal.model", str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert model.stdout is not None
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT / "src"),
        "ANTHROPIC_BASE_URL": model.stdout.readline().strip(),
        "ANTHROPIC_API_KEY": "sk-fake",
        "COLORTERM": "truecolor",
    }
    window = Terminal(f"weft-{os.getpid()}-{tmp_path.name}", home, folder, env)
    try:
        yield window
    finally:
        window.close()
        model.send_signal(signal.SIGKILL)
        model.wait()
        model.stdout.close()


def has_colour(screen: str) -> bool:
    """Whether any colour is set by an escape of the screen; weight and underline are none."""
    codes = [code for found in re.findall(r"\x1b\[([0-9;]*)m", screen) for code in found.split(";")]
    return any(code in ("38", "48") or re.fullmatch(r"(3|4|9|10)[0-7]", code) for code in codes)
