"""Where commands, skills and agents are looked for. The first of two with the same name is the one that counts:
the organisation's, then the project's, then the person's own."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from weft.context.imports import read_text
from weft.context.places import Homes
from weft.context.port import ALL_SOURCES, SettingSource
from weft.protocols import frontmatter
from weft.schema.content import Json
from weft.schema.wire import decode_object

Origin = Literal["managed", "project", "user"]
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(?::[A-Za-z0-9][A-Za-z0-9_.-]{0,63}){0,6}"
MOST: Final = 1000


def is_name(text: str) -> bool:
    """Whether a text can be the name of a command, skill or agent: names become part of rules and listings, where a
    comma or a bracket would be read as another rule."""
    return re.fullmatch(_NAME, text) is not None


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """What decides where to look. `extra` are plug-ins' folders, laid out as `.claude` is: what is in one has the
    plug-in's name in front of its own."""

    cwd: Path
    homes: Homes
    sources: tuple[SettingSource, ...] = ALL_SOURCES
    extra: tuple[Path, ...] = ()

    @staticmethod
    def of_this_machine(
        cwd: Path, sources: tuple[SettingSource, ...] = ALL_SOURCES, extra: tuple[Path, ...] = ()
    ) -> "Where":
        return Where(cwd=cwd, homes=Homes.of_this_machine(), sources=sources, extra=extra)

    def prefix(self, root: Path) -> str:
        """What stands in front of the names that are found below a root."""
        return f"{plugin_name(root)}:" if root in self.extra else ""


def manifest(folder: Path) -> Json:
    """What a plug-in says about itself; empty where it says nothing that can be read."""
    try:
        return decode_object((folder / ".claude-plugin" / "plugin.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}


def plugin_name(folder: Path) -> str:
    name = manifest(folder).get("name")
    return name if isinstance(name, str) and is_name(name) else folder.resolve().name


def roots(where: Where) -> Iterator[tuple[Path, Origin]]:
    """Folders laid out as `.claude` is, the first to count first."""
    yield where.homes.etc / "weft", "managed"
    yield where.homes.etc / "claude-code", "managed"
    if "project" in where.sources:
        for folder in project_folders(where):
            yield folder / ".claude", "project"
    for folder in where.extra:
        yield folder, "user"
    if "user" in where.sources:
        for folder in dict.fromkeys((where.homes.weft, where.homes.claude)):
            yield folder, "user"


def project_folders(where: Where) -> Iterator[Path]:
    """The working folder and those above it, up to the repository's top; a home is not a project."""
    for folder in (where.cwd, *where.cwd.parents):
        if folder == where.homes.user and folder != where.cwd:
            return
        yield folder
        if os.path.lexists(folder / ".git"):
            return
        if folder == where.cwd and not _in_repository(where.cwd, where.homes.user):
            return


def _in_repository(folder: Path, home: Path) -> bool:
    return any(os.path.lexists(parent / ".git") for parent in folder.parents if parent != home)


def markdown(folder: Path, ending: str = ".md", *, within: Path | None = None) -> Iterator[Path]:
    """Files below a folder, in order. Links to folders are not followed, nor links to files outside `within`."""
    if not os.path.isdir(folder):
        return
    count = 0
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "node_modules" and not name.startswith("."))
        for name in sorted(names):
            path = Path(top, name)
            if name.endswith(ending) and count < MOST and contained(path, within):
                count += 1
                yield path


def contained(path: Path, folder: Path | None) -> bool:
    """Whether a file is really below a folder: a repository's link does not lead to the person's other files."""
    if folder is None:
        return True
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def top(where: Where) -> Path:
    """The project's outermost folder: what its own files may lead to."""
    return list(project_folders(where))[-1]


def parse(path: Path) -> tuple[Json, str] | None:
    """Fields and body of a file; None for one that cannot be read as text."""
    text = read_text(path)
    return None if text is None else frontmatter.split(text)
