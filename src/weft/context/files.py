"""The folder worked on, two levels deep: enough to know where to look, never more than a page."""

import os
from pathlib import Path

from weft.context.port import Piece, View

_SKIPPED = frozenset(
    [
        "node_modules",
        "__pycache__",
        "venv",
        ".venv",
        "dist",
        "build",
        "target",
        ".git",
        ".hg",
        ".svn",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".idea",
        ".next",
        ".cache",
        "coverage",
        "vendor",
        ".DS_Store",
    ]
)
MOST_ROWS = 120
MOST_IN_FOLDER = 25


class Files:
    """A tree of each root. Cached by the modification times of the folders that it shows."""

    name = "files"

    def __init__(self) -> None:
        self._seen: dict[Path, tuple[tuple[tuple[str, int], ...], str]] = {}

    async def read(self, view: View) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        for folder in view.folders:
            text = self._tree(folder)
            if text:
                pieces.append(Piece(name="files", text=text, where=str(folder), priority=20))
        return tuple(pieces)

    def _tree(self, folder: Path) -> str:
        held = self._seen.get(folder)
        if held is not None and all(_mtime(path) == mtime for path, mtime in held[0]):
            return held[1]
        stamps: list[tuple[str, int]] = []
        rows = _rows(str(folder), 0, stamps)
        more = f"\n… and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
        text = f"Files in {folder}, two levels deep:\n" + "\n".join(rows[:MOST_ROWS]) + more if rows else ""
        self._seen[folder] = (tuple(stamps), text)
        return text


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def _rows(folder: str, depth: int, stamps: list[tuple[str, int]]) -> list[str]:
    stamps.append((folder, _mtime(folder)))
    try:
        with os.scandir(folder) as found:
            entries = sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.path) for entry in found)
    except OSError:
        return []
    shown = [entry for entry in entries if entry[0] not in _SKIPPED]
    rows: list[str] = []
    for name, is_folder, path in shown[:MOST_IN_FOLDER]:
        # A name is somebody else's text: it stays on its line.
        safe = name if name.isprintable() else ascii(name)
        rows.append(f"{'  ' * depth}{safe}{'/' if is_folder else ''}")
        if is_folder and depth < 1:
            rows += _rows(path, depth + 1, stamps)
    if len(shown) > MOST_IN_FOLDER:
        rows.append(f"{'  ' * depth}… {len(shown) - MOST_IN_FOLDER} more")
    return rows
