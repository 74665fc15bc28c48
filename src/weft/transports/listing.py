"""The files of a tree, as ripgrep lists them: ignored ones left out."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

LIMIT: Final = 120.0
_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "target", "dist"})


def list_files(root: Path, ripgrep: str | None, options: Sequence[str] = ("--no-require-git",)) -> list[str]:
    """Paths from `root`, in order. Without ripgrep, hidden folders and the usual places of built files are left out."""
    if ripgrep is not None:
        argv = [ripgrep, "--no-config", "--files", "--null", "--no-messages", *options]
        try:
            done = subprocess.run(argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is not None and done.returncode in (0, 2):
            return sorted(os.fsdecode(name.removeprefix(b"./")) for name in done.stdout.split(b"\0") if name)
    return sorted(_walk(root))


def _walk(root: Path) -> Iterator[str]:
    for top, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(top, name), root)
