"""Weft as a process, as people start it: for the suites that kill it, starve it and lie to it."""

import os
import signal
import sys
import time
from pathlib import Path

import anyio

from weft.testing.fake_anthropic import FakeAnthropic

SOURCE = Path(__file__).resolve().parents[2] / "src"


def environment(home: Path, server: FakeAnthropic | None = None, **more: str) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "OPENAI", "CLAUDE"))}
    env |= {"HOME": str(home), "PYTHONPATH": str(SOURCE), "WEFT_MAX_RETRIES": "0"}
    if server is not None:
        env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-very-secret-key-0123456789"}
    return env | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "weft", *arguments]


def alive(mark: str) -> list[int]:
    """The processes whose command line or environment has the mark; zombies do not count."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if state != "Z" and mark.encode() in told:
            found.append(int(entry.name))
    return found


async def gone(mark: str, seconds: float = 5.0) -> bool:
    limit = time.monotonic() + seconds
    while alive(mark):
        if time.monotonic() > limit:
            return False
        await anyio.sleep(0.02)
    return True


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
