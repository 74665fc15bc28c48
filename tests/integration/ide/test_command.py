"""`weft ide` as people start it."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import anyio
import pytest

from weft.cli.ide import main, parser
from weft.errors import UsageError
from weft.protocols.ide.answers import decode_json
from weft.protocols.ide.values import Accepted, Rejected
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace


def start(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "weft", "ide", *arguments],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(Path.home())},
    )


async def test_it_says_how_to_attach_serves_and_leaves_nothing_behind(tmp_path: Path) -> None:
    process = start(tmp_path, "--diffs", "accept", "--name", "Desk")
    try:
        with anyio.fail_after(60):
            assert process.stdout is not None
            line = await anyio.to_thread.run_sync(process.stdout.readline)
            (found,) = find_locks()
            assert line.startswith(f"Desk listens on 127.0.0.1:{found.lock.port} for {tmp_path}")
            assert found.lock.pid == process.pid
            work = IdeWorkspace(LocalWorkspace((tmp_path,)))
            async with IdeLink(found, cwd=tmp_path) as work.link:
                assert decode_json(await work.link.call("getWorkspaceFolders", {}))["rootPath"] == str(tmp_path)
                assert await work.propose_edit(tmp_path / "new.py", "x\n") == Accepted("x\n")
            process.send_signal(signal.SIGTERM)
            rest = await anyio.to_thread.run_sync(process.stdout.read)
            assert f"CLAUDE_CODE_SSE_PORT={found.lock.port} ENABLE_IDE_INTEGRATION=true claude" in rest
            assert await anyio.to_thread.run_sync(process.wait) == 0
            assert find_locks() == ()
    finally:
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        (["y"], Accepted("A\n2\n3\n4\n5\n6\n7\n8\nI\n")),
        (["h", "n", "y"], Accepted("1\n2\n3\n4\n5\n6\n7\n8\nI\n")),
        (["h", "n", "n"], Rejected()),
        (["n"], Rejected()),
    ],
    ids=["all", "by hunk", "no hunk", "no"],
)
async def test_a_person_at_the_terminal_decides_whole_or_by_hunk(tmp_path: Path, keys: list[str], outcome) -> None:
    (tmp_path / "f.txt").write_text("".join(f"{n}\n" for n in range(1, 10)))
    person, theirs = pty.openpty()
    process = start(tmp_path, "--diffs", "ask", stdin=theirs)
    try:
        with anyio.fail_after(60):
            assert process.stdout is not None
            await anyio.to_thread.run_sync(process.stdout.readline)
            work = IdeWorkspace(LocalWorkspace((tmp_path,)))
            answers: list[object] = []

            async def propose() -> None:
                answers.append(await work.propose_edit(tmp_path / "f.txt", "A\n2\n3\n4\n5\n6\n7\n8\nI\n"))

            async with IdeLink(find_locks()[0], cwd=tmp_path) as work.link, anyio.create_task_group() as group:
                group.start_soon(propose)
                for key in keys:
                    await anyio.to_thread.run_sync(read_until, process.stdout, ": ")
                    os.write(person, f"{key}\n".encode())
            assert answers == [outcome]
    finally:
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None
        os.close(person)
        os.close(theirs)


def read_until(stream: IO[str], end: str) -> None:
    """Reads up to a question."""
    text = ""
    while not (text.endswith(end) and "]" in text):
        text += stream.read(1)


def test_run_starts_a_child_with_the_variables_and_ends_with_its_code(tmp_path: Path) -> None:
    script = 'ls "$HOME/.claude/ide"; echo "$CLAUDE_CODE_SSE_PORT $ENABLE_IDE_INTEGRATION $PWD"; exit 7'
    process = start(tmp_path, "--run", "sh", "-c", script)
    out, _ = process.communicate(timeout=20)
    lock, port, enabled, folder = out.split()
    assert (lock, enabled, folder) == (f"{port}.lock", "true", str(tmp_path)) and process.returncode == 7
    assert find_locks() == ()


def test_a_child_that_a_signal_ended_is_told_as_shells_do(tmp_path: Path) -> None:
    process = start(tmp_path, "--run", "sh", "--", "-c", "kill -9 $$")
    process.communicate(timeout=20)
    assert process.returncode == 137


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        main([str(tmp_path / "nowhere")])
    with pytest.raises(UsageError, match="need --run"):
        main([str(tmp_path), "--", "x"])
    assert "weft ide --run claude" in parser().format_help()


async def test_a_missing_command_is_a_sentence(tmp_path: Path) -> None:
    process = start(tmp_path, "--run", "no-such-command")
    process.communicate(timeout=20)
    assert process.returncode == 1 and find_locks() == ()
