"""A git worktree for one piece of work: a folder and a branch of its own, beside the checkout that it came from.

They lie in a `.weft/worktrees` inside the folder worked on; the repository's local exclude file names it. Hooks and
file-system monitors of the repository are not run.
"""

import os
from pathlib import Path
from typing import Final

import anyio
import msgspec

from weft.errors import TransportError, WorkspaceError

FOLDER: Final = ".weft/worktrees"
LIMIT: Final = 120.0
"""Seconds for one git command: a large checkout takes its time."""
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class Worktree(msgspec.Struct, frozen=True):
    """`root` is the repository's own folder; `base` the commit that the work began at."""

    root: Path
    path: Path
    branch: str
    base: str = ""


class Left(msgspec.Struct, frozen=True):
    """What was done in a worktree since it was made."""

    files: int = 0
    commits: int = 0

    def __bool__(self) -> bool:
        return bool(self.files or self.commits)


def planned(root: Path, within: Path, name: str) -> Worktree:
    """Where the worktree of that name will be: below `within`. Nothing is done yet."""
    return Worktree(root, within / FOLDER / name, f"weft/{name}")


async def make(plan: Worktree) -> Worktree:
    """
    Raises:
        WorkspaceError: git cannot do it; the sentence says why.
    """
    base = (await git(plan.root, "rev-parse", "--verify", "HEAD^{commit}", why="it has no commit yet")).strip()
    await _hide(plan.root)
    await git(plan.root, "worktree", "add", "-q", "-b", plan.branch, str(plan.path), base)
    return msgspec.structs.replace(plan, base=base)


async def _hide(root: Path) -> None:
    """The checkout's own status does not show them. Only the repository's local exclude file is written."""
    common = (await git(root, "rev-parse", "--git-common-dir")).strip()
    exclude = root / common / "info" / "exclude"
    line = f"{FOLDER}/"
    try:
        text = exclude.read_text(encoding="utf-8", errors="replace") if exclude.exists() else ""
        if line not in text.splitlines():
            exclude.parent.mkdir(parents=True, exist_ok=True)
            with exclude.open("a", encoding="utf-8") as file:
                file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    except OSError as error:
        raise WorkspaceError(f"{exclude} cannot be written: {error.strerror or error}") from error


async def left_in(tree: Worktree) -> Left:
    """
    Raises:
        WorkspaceError: the worktree cannot be looked at.
    """
    status = await git(tree.path, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all")
    commits = await git(tree.path, "rev-list", "--count", f"{tree.base}..HEAD")
    return Left(files=len(status.splitlines()), commits=int(commits.strip() or 0))


async def remove(tree: Worktree) -> None:
    """The folder and the branch, with all that is in them.

    Raises:
        WorkspaceError: git cannot do it.
    """
    await git(tree.root, "worktree", "remove", "--force", str(tree.path))
    await git(tree.root, "branch", "-q", "-D", tree.branch)


async def git(folder: Path, *arguments: str, why: str = "") -> str:
    """What a git command prints.

    Raises:
        WorkspaceError: it fails, or takes too long. `why` is what a failure means, where that is known.
    """
    from weft.transports.process import spawn

    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        env.pop(name, None)
    errors: list[str] = []
    try:
        child = await spawn(("git", *_SAFE, "-C", str(folder), *arguments), env=env, on_stderr=errors.append)
    except TransportError as error:
        raise WorkspaceError(str(error)) from error
    output = bytearray()
    try:
        with anyio.move_on_after(LIMIT):
            assert child.stdout is not None
            async for data in child.stdout:
                output += data
            if await child.wait() == 0:
                return output.decode("utf-8", "replace")
    finally:
        if child.returncode is None:
            await child.kill(grace=0.2)
        child.close()
    said = why or " ".join(errors)[-300:].strip() or f"git {arguments[0]} did not end well"
    raise WorkspaceError(f"git cannot be used in {folder}: {said}")
