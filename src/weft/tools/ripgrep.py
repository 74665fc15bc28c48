"""Ripgrep as a child: the system's, or the one that came with us."""

import os
import shutil
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anyio

from weft.errors import ToolError, WorkspaceError
from weft.tools.port import ToolContext
from weft.workspace.port import RunSpec

TIMEOUT = 60.0
MANY = 2000
MAX_BYTES = 64 * 1024 * 1024
PAUSE = 0.01
PAUSE_BELOW = 16_384
"""Ripgrep writes once for each file that matches. Waking up for each of these costs more than the search of the file,
so after a small piece more is left to gather in the pipe, until the pause or the process ends."""

BASE = ("--no-config", "--color=never", "--no-messages", "--hidden", "--glob=!.git", "--glob=!.hg", "--glob=!.svn")
"""`--no-config`: a configuration file named in the environment could make ripgrep run programs."""


@cache
def find_ripgrep() -> str | None:
    if found := shutil.which("rg"):
        return found
    ours = os.path.join(sysconfig.get_path("scripts"), "rg")
    return ours if os.access(ours, os.X_OK) else None


async def run_lines(
    context: ToolContext, argv: tuple[str, ...], cwd: Path, take: Callable[[bytes], bool], end: bytes | None = b"\n"
) -> tuple[int, bytes]:
    """Gives each record of the output to `take` until it answers False; the exit code and the first bytes.
    Without `end`, the output is given as it comes.

    Raises:
        ToolError: it cannot start, or takes too long.
    """
    try:
        process = await context.workspace.start(RunSpec(argv=argv, cwd=cwd, sandbox=False))
    except WorkspaceError as error:
        raise ToolError(str(error)) from error
    code: int | None = None
    tail = first = b""
    total = 0
    try:
        with anyio.move_on_after(TIMEOUT) as limit:
            async for data in process.output():
                first = first or data[:4000]
                total += len(data)
                if end is None:
                    records = [data]
                else:
                    *records, tail = (tail + data).split(end) if tail else data.split(end)
                if not all(map(take, records)) or total > MAX_BYTES:
                    return 0, first
                if len(data) < PAUSE_BELOW:
                    with anyio.move_on_after(PAUSE):
                        await process.wait()
            if tail:
                take(tail)
            code = await process.wait()
    finally:
        if code is None:
            await process.kill()
    if limit.cancelled_caught:
        raise ToolError(f"the search took longer than {TIMEOUT:g} seconds. Narrow it to a folder or a kind of file.")
    return code or 0, first


async def run_whole(context: ToolContext, argv: tuple[str, ...], cwd: Path) -> tuple[int, bytes]:
    """The exit code and all of the output, as far as it is kept."""
    chunks: list[bytes] = []
    code, _ = await run_lines(context, argv, cwd, lambda data: chunks.append(data) is None, end=None)
    return code, b"".join(chunks)


class Shown:
    """Which files may be shown: those that a rule keeps from being read are left out of every search."""

    def __init__(self, context: ToolContext, base: Path) -> None:
        self._allowed = context.allowed
        self._base = str(base)
        self._known: dict[str, bool] = {}

    def __call__(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._allowed("Read", {"file_path": os.path.join(self._base, path)})
        return known


def newest_first(names: list[str], base: Path) -> list[str]:
    """By change time. Very many come by name: looking at each of them would cost more than the search."""
    if len(names) > MANY:
        return sorted(names)
    times: dict[str, int] = {}
    prefix = str(base)
    for name in names:
        try:
            times[name] = os.stat(os.path.join(prefix, name)).st_mtime_ns
        except OSError:
            times[name] = 0
    return sorted(names, key=lambda name: (-times[name], name))
