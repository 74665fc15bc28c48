"""Files that hooks want to hear of, looked at now and then: a handful of names needs no watch of the whole tree."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from weft.settings.layers import Scope
from weft.settings.load import POLICY_FILES, settings_files

Seen = Literal["change", "add", "unlink"]
EVERY = 1.0
SOURCES: dict[Scope, str] = {
    "user": "user_settings",
    "project": "project_settings",
    "local": "local_settings",
    "policy": "policy_settings",
}


class FileWatch:
    """Tells what changed since the last look. The first look at a path tells nothing."""

    def __init__(self) -> None:
        self._stamps: dict[Path, tuple[int, int, int] | None] = {}

    def look(self, paths: Iterable[Path]) -> list[tuple[Path, Seen]]:
        found: list[tuple[Path, Seen]] = []
        for path in paths:
            now, known = _stamp(path), path in self._stamps
            before = self._stamps.get(path)
            self._stamps[path] = now
            if known and now != before:
                found.append((path, "add" if before is None else "unlink" if now is None else "change"))
        return found


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def named_files(matchers: Iterable[str], cwd: Path) -> list[Path]:
    """The files of the folder that matchers name: `.env|.envrc`. An expression names none."""
    names = (name.strip() for matcher in matchers for name in matcher.split("|"))
    return [cwd / name for name in names if name and not re.search(r"[*?+()\[\]{}^$\\]", name)]


def config_files(cwd: Path, env: Mapping[str, str] | None) -> dict[Path, str]:
    """The settings files of a session, with the name of their source."""
    found = {path: SOURCES[scope] for scope, path, _ in settings_files(str(cwd), env)}
    return {**found, **{Path(path): SOURCES["policy"] for path in POLICY_FILES}}
