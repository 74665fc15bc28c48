"""Files of the workspace, and of nowhere else: listing, searching, reading for a surface.

A path from a person is resolved, symlinks and all, and must lie in one of the folders.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from weft.errors import WorkspaceError
from weft.transports.listing import list_files

SKIPPED: Final = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".tox"}
)
MOST_FILES: Final = 50_000
MOST_BYTES: Final = 512_000
"""Bytes of one file that a surface is given."""
FRESH: Final = 5.0
"""Seconds that a listing is used again."""


class Folders:
    """The workspace's folders, resolved. The first is the main one. What git ignores in a folder is not found by
    `search`, unless `shows_ignored` says so of it."""

    def __init__(
        self, folders: Sequence[str | Path], *, shows_ignored: Callable[[str], bool] = lambda folder: False
    ) -> None:
        self._shows_ignored = shows_ignored
        self._roots = tuple(Path(os.path.realpath(folder)) for folder in folders)
        self._listed: dict[Path, tuple[float, list[str]]] = {}

    @property
    def roots(self) -> tuple[str, ...]:
        return tuple(str(root) for root in self._roots)

    def add(self, folder: str) -> str:
        """Another folder of the workspace.

        Raises:
            WorkspaceError: there is no such folder.
        """
        path = Path(os.path.realpath(os.path.expanduser(folder)))
        if not path.is_dir():
            raise WorkspaceError(f"There is no folder {folder}")
        if path not in self._roots:
            self._roots = (*self._roots, path)
        return str(path)

    def resolve(self, path: str) -> Path:
        """An absolute path, or one below the main folder, with all symlinks followed.

        Raises:
            WorkspaceError: it is outside of the workspace.
        """
        if "\0" in path:
            raise WorkspaceError("A path cannot have a zero byte")
        real = Path(os.path.realpath(self._roots[0] / path))
        if not any(real == root or root in real.parents for root in self._roots):
            raise WorkspaceError(f"{path} is outside of the workspace")
        return real

    def short(self, path: Path) -> str:
        """As a person would write it: below the main folder, else absolute."""
        root = self._roots[0]
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def read(self, path: str) -> str:
        """A text file, cut at `MOST_BYTES`.

        Raises:
            WorkspaceError: outside, missing, not a file, or not text.
        """
        real = self.resolve(path)
        if not real.is_file():
            raise WorkspaceError(f"{path} is not a file")
        try:
            with real.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from None
        if b"\0" in data[:8000]:
            raise WorkspaceError(f"{path} is not a text file")
        return data[:MOST_BYTES].decode("utf-8", "replace")

    def children(self, folder: str) -> list[tuple[str, bool]]:
        """Names in a folder with whether each is a folder: folders first."""
        real = self.resolve(folder or ".")
        if not real.is_dir():
            raise WorkspaceError(f"{folder} is not a folder")
        found: list[tuple[str, bool]] = []
        with os.scandir(real) as entries:
            for entry in entries:
                if entry.name not in SKIPPED and self._inside(entry):
                    found.append((entry.name, entry.is_dir()))
        return sorted(found, key=lambda pair: (not pair[1], pair[0].lower()))[:2000]

    def search(self, query: str, limit: int) -> list[str]:
        """The files and folders that fit best; folders end in a slash."""
        if not query:
            return [path for path in self._all() if "/" not in path.rstrip("/")][:limit]
        scored = [(score(query, path), path) for path in self._all()]
        best = sorted((-points, len(path), path) for points, path in scored if points > 0)
        return [path for _, _, path in best[:limit]]

    def _inside(self, entry: "os.DirEntry[str]") -> bool:
        if not entry.is_symlink():
            return True
        try:
            self.resolve(entry.path)
        except WorkspaceError:
            return False
        return True

    def _all(self) -> Iterator[str]:
        for number, root in enumerate(self._roots):
            at, names = self._listed.get(root, (0.0, []))
            if time.monotonic() - at > FRESH or not at:
                names = _list(root, ignored=self._shows_ignored(str(root)))
                self._listed[root] = (time.monotonic(), names)
            yield from names if number == 0 else (f"{root}/{name}" for name in names)


def _list(root: Path, *, ignored: bool) -> list[str]:
    """Files, each after the folders that it stands in. Folders with nothing to show in them are not there."""
    from weft.tools.ripgrep import BASE, find_ripgrep

    options = (*BASE, "--no-ignore") if ignored else BASE
    out: dict[str, None] = {}
    for name in list_files(root, find_ripgrep(), options):
        parts = name.split("/")
        if SKIPPED.intersection(parts[:-1]):
            continue
        for depth in range(1, len(parts)):
            out["/".join(parts[:depth]) + "/"] = None
        out[name] = None
        if len(out) >= MOST_FILES:
            break
    return list(out)[:MOST_FILES]


def score(query: str, path: str) -> float:
    """How well the letters of `query` stand in `path`, in order; 0 when they do not.

    Letters that follow each other, begin a word or are in the file's own name count more.
    """
    text, wanted = path.lower(), query.lower()
    name_at = text.rstrip("/").rfind("/") + 1
    if wanted in text[name_at:]:
        return 1000.0 + 50 * len(wanted) - len(text) + (300 if text.startswith(wanted, name_at) else 0)
    at, points, last = 0, 0.0, -2
    for letter in wanted:
        at = text.find(letter, at)
        if at < 0:
            return 0.0
        points += 1
        if at == last + 1:
            points += 3
        if at == 0 or text[at - 1] in "/_-. ":
            points += 4
        if at >= name_at:
            points += 1
        last = at
        at += 1
    return points * 100 / (100 + len(text))
