"""Children start, speak and end; nothing of them is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from weft.errors import TransportError
from weft.transports.process import Child, spawn


async def _all(child: Child) -> bytes:
    assert child.stdout is not None
    return b"".join([data async for data in child.stdout])


async def _gone(pid: int) -> None:
    while _state(pid) not in ("", "Z"):
        await anyio.sleep(0.01)


def _state(pid: int) -> str:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1]


async def test_output_and_errors_come_in_their_order() -> None:
    with anyio.fail_after(30):
        child = await spawn(["sh", "-c", "echo one; echo two >&2; echo three; exit 4"])
        assert await _all(child) == b"one\ntwo\nthree\n"
        assert await child.wait() == 4


async def test_pipes_are_apart_when_asked_for() -> None:
    lines: list[str] = []
    with anyio.fail_after(30):
        child = await spawn(["sh", "-c", "read x; echo got $x; echo bad >&2"], stdin="pipe", on_stderr=lines.append)
        assert child.stdin is not None
        await child.stdin.send(b"it\n")
        assert await _all(child) == b"got it\n"
        await child.wait()
        while not lines:
            await anyio.sleep(0.01)
    assert lines == ["bad"]


async def test_a_slow_reader_makes_the_child_wait_and_loses_nothing() -> None:
    with anyio.fail_after(30):
        child = await spawn(["head", "-c", "3000000", "/dev/zero"])
        with anyio.move_on_after(0.05):
            await child.wait()
        assert child.returncode is None
        assert len(await _all(child)) == 3_000_000


async def test_a_process_left_in_the_background_does_not_hold_the_output() -> None:
    with anyio.fail_after(30):
        child = await spawn(["sh", "-c", "echo now; sleep 60 & echo $!"])
        now, pid = (await _all(child)).split()
        assert now == b"now"
        await child.kill()
        await _gone(int(pid))


async def test_kill_ends_the_whole_group_also_what_ignores_sigterm() -> None:
    line = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait; wait"
    with anyio.fail_after(30):
        child = await spawn(["sh", "-c", line])
        assert child.stdout is not None
        inner = int(await child.stdout.receive())
        await child.kill(grace=0.05)
        assert await child.wait() == -signal.SIGKILL
        await _gone(inner)


async def test_nothing_is_left_when_we_are_killed_ourselves(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(
        "import anyio, sys\n"
        "from weft.transports.process import spawn\n"
        "async def main():\n"
        "    child = await spawn(['sh', '-c', 'sleep 60 & echo $! $$; wait'])\n"
        "    sys.stdout.write((await child.stdout.receive()).decode())\n"
        "    sys.stdout.flush()\n"
        "    await anyio.sleep(60)\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        pids = [int(pid) for pid in agent.stdout.readline().split()]
        assert len(pids) == 2
        os.kill(agent.pid, signal.SIGKILL)
        agent.wait()
    with anyio.fail_after(30):
        for pid in pids:
            await _gone(pid)


async def test_what_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="no such program"):
        await spawn(["no-such-program-here"])
    with pytest.raises(TransportError, match="gone' does not exist"):
        await spawn(["true"], cwd=tmp_path / "gone")
    with pytest.raises(TransportError, match="cannot start"):
        await spawn(["true", "nul\0byte"])


async def test_sending_to_a_process_that_ended_is_an_error() -> None:
    with anyio.fail_after(30):
        child = await spawn(["true"], stdin="pipe")
        await child.wait()
        assert child.stdin is not None
        with pytest.raises(TransportError, match="no longer reads"):
            await child.stdin.send(b"x" * 10)
        child.close()
