"""Where memory files are looked for, in the order in which they are told: the later one counts more."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from weft import paths
from weft.context.port import SettingSource, View

Scope = Literal["managed", "user", "project", "local"]
NAMES = ("CLAUDE.md", "AGENTS.md")
ETC = Path("/etc")
ADDITIONAL = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"
"""Set to 1, it adds the memory files of `--add-dir` folders."""


class Place(msgspec.Struct, frozen=True):
    """A file that may be there. `trusted` is what its imports may reach."""

    path: Path
    scope: Scope
    trusted: tuple[Path, ...]


class Homes(msgspec.Struct, frozen=True):
    """The folders that do not depend on the project; tests have their own."""

    user: Path
    weft: Path
    claude: Path
    etc: Path = ETC

    @staticmethod
    def of_this_machine() -> "Homes":
        return Homes(paths.user_home(), paths.weft_home(), paths.claude_home())


def places(view: View, homes: Homes) -> Iterator[Place]:
    """Every file that may be there for this session, folders below the working one left out."""
    anywhere = (Path("/"),)
    for folder in (homes.etc / "claude-code", homes.etc / "weft"):
        for name in NAMES:
            yield Place(folder / name, "managed", anywhere)
    if "user" in view.sources:
        for folder in dict.fromkeys((homes.claude, homes.weft)):
            yield from _in(folder, (*NAMES, "rules"), "user", (_real(homes.user), _real(folder)))
        yield from _in(homes.user / ".copilot", ("instructions",), "user", (_real(homes.user),))
    own = (f"{homes.claude}{os.sep}", f"{homes.weft}{os.sep}")
    for folder in _downwards(view.cwd):
        # A home's `.claude` is the person's, not that of a project which happens to be their home.
        yield from (p for p in of_folder(folder, view.sources, view.folders) if not _inside(p.path, own))
    if os.environ.get(ADDITIONAL, "").lower() in ("1", "true"):
        for folder in view.folders[1:]:
            yield from of_folder(folder, view.sources, view.folders)


def of_folder(folder: Path, sources: tuple[SettingSource, ...], roots: tuple[Path, ...]) -> Iterator[Place]:
    """The memory files of one folder of a project."""
    trusted = _trust(folder, roots)
    if "project" in sources:
        yield from _in(folder, NAMES, "project", trusted)
        yield from _in(folder / ".claude", (*NAMES, "rules"), "project", trusted)
        yield from _in(folder / ".github", ("copilot-instructions.md", "instructions"), "project", trusted)
    if "local" in sources:
        yield from _in(folder, ("CLAUDE.local.md", "AGENTS.local.md"), "local", trusted)


def _trust(folder: Path, roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """A file above the roots reaches only its own folder and below; one inside a root reaches the whole root."""
    real = _real(folder)
    inside = tuple(root for root in map(_real, roots) if root == real or root in real.parents)
    return inside or (real,)


def _in(folder: Path, names: tuple[str, ...], scope: Scope, trusted: tuple[Path, ...]) -> Iterator[Place]:
    for name in names:
        if name in ("rules", "instructions"):
            ending = ".md" if name == "rules" else ".instructions.md"
            yield from (Place(path, scope, trusted) for path in _below(folder / name, ending))
        else:
            yield Place(folder / name, scope, trusted)


def _below(folder: Path, ending: str) -> list[Path]:
    if not os.path.isdir(folder):
        return []
    found: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders.sort()
        found += [Path(top, name) for name in sorted(names) if name.endswith(ending)]
        if len(found) > 500:
            break
    return found


def _downwards(cwd: Path) -> list[Path]:
    return [*reversed(cwd.parents), cwd]


def _inside(path: Path, folders: tuple[str, ...]) -> bool:
    return str(path).startswith(folders)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
