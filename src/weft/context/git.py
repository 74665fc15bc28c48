"""The state of the repository when the session begins: branch, what is changed, the last commits.

Nothing that the repository says is run: no file-system monitor, no hooks, no signature check, no submodules, and no
status at all where its own configuration has filters, because git would start those to compare files.
"""

import os
import re
from pathlib import Path

import anyio

from weft.context.port import Piece, View

LIMIT = 1.5
MOST_CHANGED = 40
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")
_RISKY = rb"(?im)^\s*\[\s*(?:filter|include)"


def repository(folder: Path) -> Path | None:
    """The folder that has `.git`: this one or one above. A few stats, no child process."""
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return None


def branch_of(folder: Path) -> str:
    """The branch's name, read from the files; empty outside a repository or on no branch."""
    root = repository(folder)
    if root is None:
        return ""
    try:
        git = root / ".git"
        if git.is_file():
            pointer = git.read_text(encoding="utf-8", errors="replace").strip().removeprefix("gitdir:").strip()
            git = root / pointer
        head = (git / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


class Git:
    """A snapshot: it says when it was taken, and is not kept up to date in the conversation."""

    name = "git"

    async def read(self, view: View) -> tuple[Piece, ...]:
        root = repository(view.cwd)
        if root is None:
            return ()
        status: list[str] = []
        log: list[str] = []

        async def read_status() -> None:
            status.extend(await _git(root, "status", "--porcelain", "--untracked-files=normal", *_STATUS))

        async def read_log() -> None:
            log.extend(await _git(root, "log", "-5", "--no-show-signature", "--format=%h %an %as %s", "--no-color"))

        async with anyio.create_task_group() as group:
            if may_compare(root):
                group.start_soon(read_status)
            group.start_soon(read_log)
        branch = branch_of(view.cwd)
        head = f"Git, as it was when this conversation began.\nRepository: {root}\nBranch: {branch or '(none)'}"
        changed = _changed(status)
        commits = "\nLast commits:\n" + "\n".join(_tame(line) for line in log) if log else ""
        return (Piece(name="git", text=head + changed + commits, shortened=head, where=str(root), priority=30),)


_STATUS = ("--ignore-submodules=all", "--no-renames", "--no-column")


def may_compare(root: Path) -> bool:
    """Whether git can look at files without starting a program that the repository's own configuration names."""
    try:
        return not re.search(_RISKY, (root / ".git" / "config").read_bytes())
    except OSError:
        return (root / ".git").is_file()


def _changed(rows: list[str]) -> str:
    if not rows:
        return ""
    more = f"\n… and {len(rows) - MOST_CHANGED} more" if len(rows) > MOST_CHANGED else ""
    return "\nChanged files:\n" + "\n".join(_tame(row) for row in rows[:MOST_CHANGED]) + more


def _tame(line: str) -> str:
    """Names and subjects are somebody else's text: one line each, and no marks of ours inside."""
    line = line.replace("<", "‹").replace(">", "›")
    return line[:200] if line.isprintable() else ascii(line[:200])


async def _git(root: Path, *arguments: str) -> list[str]:
    """The lines of a git command's output; none when it fails or takes too long."""
    from weft.errors import TransportError
    from weft.transports.process import spawn

    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    try:
        child = await spawn(("git", *_SAFE, "-C", str(root), *arguments), env=env, stderr="null")
    except TransportError:
        return []
    output = bytearray()
    finished = False
    try:
        with anyio.move_on_after(LIMIT):
            assert child.stdout is not None
            async for data in child.stdout:
                output += data
                if len(output) > 200_000:
                    break
            else:
                finished = await child.wait() == 0
    finally:
        if child.returncode is None:
            await child.kill(grace=0.2)
        child.close()
    return output.decode("utf-8", "replace").splitlines() if finished or len(output) > 200_000 else []
