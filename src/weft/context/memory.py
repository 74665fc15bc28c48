"""Memory files: what the person, the project and the organisation want every session to know.

They are told in the order of `places`; the later one counts more. A line `@override` drops what all files before it
said (the organisation's stay), `@override Heading` only their sections of that heading; `@append` goes back to
adding, which is the default. A file that is the same as one before, by link or by content, is told once.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from weft.context import imports
from weft.context.places import Homes, Place, Scope, of_folder, places
from weft.context.port import Piece, View
from weft.protocols import frontmatter

_DIRECTIVE: Final = r"(?m)^@(override|append)\b[ \t]*(.*?)[ \t]*$"
_HEADING: Final = r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$"
_PRIORITY: Final[dict[Scope, int]] = {"managed": 99, "user": 70, "project": 75, "local": 78}
_WORDS: Final[dict[Scope, str]] = {
    "managed": "the organisation's instructions",
    "user": "the person's own instructions, for all projects",
    "project": "the project's instructions",
    "local": "the person's own instructions, for this project",
}
OPENING: Final = (
    "Instructions that the person, the project and the organisation keep in files. Follow them where they apply to "
    "what you are doing; where two differ, the later one counts, and what the person says in the conversation counts "
    "more than either."
)


class MemoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it is told. `patterns` limit it to files that match; `imported_by` is set for an import."""

    path: Path
    scope: Scope
    text: str
    patterns: tuple[str, ...] = ()
    imported_by: Path | None = None


class _Held(msgspec.Struct, frozen=True):
    stamp: tuple[int, int, int]
    text: str | None


class Memory:
    """Reads memory files, each again only when it has changed. Remembers which ones a session was told."""

    name = "memory"

    def __init__(self, homes: Homes | None = None) -> None:
        self._homes = homes or Homes.of_this_machine()
        self._cache: dict[Path, _Held] = {}
        self._told: set[Path] = set()
        self._opening: set[Path] = set()
        self.loaded: Callable[[Path, str, str], None] = lambda _path, _scope, _reason: None
        """Told of each file that `touched` brings in, with why."""

    async def read(self, view: View) -> tuple[Piece, ...]:
        """What holds from the start. Files for certain paths only wait for `touched`."""
        found = [file for file in self.files(view) if not file.patterns]
        self._opening = {file.path for file in found}
        self._told |= self._opening
        return tuple(to_piece(file) for file in merged(found))

    def files(self, view: View) -> list[MemoryFile]:
        """All that are there, in order, imports after the file that asked for them."""
        seen: set[Path] = set()
        return [file for place in places(view, self._homes) for file in self._load(place, view, seen)]

    def touched(self, path: Path, view: View) -> tuple[Piece, ...]:
        """What is to be told now that this file was read or written: the memory of folders between the working one
        and the file, and rules whose patterns match. Each once in a session."""
        from weft.context.patterns import matches

        told: list[MemoryFile] = []
        seen: set[Path] = set()
        for folder in _between(path, view.folders):
            for place in of_folder(folder, view.sources, view.folders):
                told += [file for file in self._load(place, view, seen) if not file.patterns]
        for file in self.files(view):
            if file.patterns and any(matches(name, file.patterns) for name in _relative(path, view)):
                told.append(file)
        fresh = [file for file in told if file.path not in self._told]
        self._told.update(file.path for file in fresh)
        for file in fresh:
            self.loaded(file.path, file.scope, "path_glob_match" if file.patterns else "nested_traversal")
        return tuple(to_piece(file) for file in fresh)

    def forget(self) -> None:
        """What `touched` told may be told again; what was told at the start stays with the conversation."""
        self._told = set(self._opening)

    def _load(self, place: Place, view: View, seen: set[Path]) -> Iterator[MemoryFile]:
        text = self._read(place.path)
        if text is None:
            return
        real = Path(os.path.realpath(place.path))
        if real in seen or not _reaches(place, real) or not _owned(place, real, view):
            return
        seen.add(real)
        fields, body = frontmatter.split(text)
        patterns = frontmatter.words(fields, "paths", "applyTo", "globs") or ()
        if any(pattern in ("**", "**/*", "*") for pattern in patterns):
            patterns = ()
        if body.strip():
            yield MemoryFile(path=place.path, scope=place.scope, text=body.strip(), patterns=patterns)
        yield from self._imported(body, real, place, patterns, seen, 1)

    def _imported(
        self, text: str, path: Path, place: Place, patterns: tuple[str, ...], seen: set[Path], hop: int
    ) -> Iterator[MemoryFile]:
        if hop > imports.MAX_HOPS or "@" not in text:
            return
        for name in imports.imports_in(text):
            target = imports.resolve(name, path.parent, self._homes.user, place.trusted)
            if target is None or target in seen:
                continue
            body = self._read(target)
            if body is None:
                continue
            seen.add(target)
            yield MemoryFile(
                path=target, scope=place.scope, text=body.strip(), patterns=patterns, imported_by=place.path
            )
            yield from self._imported(body, target, place, patterns, seen, hop + 1)

    def _read(self, path: Path) -> str | None:
        try:
            stat = os.stat(path)
        except OSError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        held = self._cache.get(path)
        if held is None or held.stamp != stamp:
            held = self._cache[path] = _Held(stamp, imports.read_text(path))
        return held.text


def _reaches(place: Place, real: Path) -> bool:
    """A memory file may be a link, but not to somewhere that its imports could not reach."""
    return any(folder == real or folder in real.parents for folder in place.trusted)


def _owned(place: Place, real: Path, view: View) -> bool:
    """A file above the folders worked on may be anybody's (`/tmp`): it must be ours, or the system's."""
    if place.scope in ("managed", "user") or any(root in (real, *real.parents) for root in view.folders):
        return True
    try:
        return os.stat(real).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _between(path: Path, roots: Iterable[Path]) -> list[Path]:
    """The folders below a root that lead to the path, the outermost first."""
    for root in roots:
        if root in path.parents:
            return [folder for folder in reversed(path.parents) if root in folder.parents]
    return []


def _relative(path: Path, view: View) -> Iterator[str]:
    for root in view.folders:
        if root in path.parents:
            yield str(path.relative_to(root))


def to_piece(file: MemoryFile) -> Piece:
    by = f", imported by {file.imported_by}" if file.imported_by else ""
    only = f", for {', '.join(file.patterns)}" if file.patterns else ""
    head = f"Contents of {file.path} ({_WORDS[file.scope]}{by}{only}):"
    # The text is not ours: it cannot close the mark that it stands in.
    text = file.text.replace("</system-reminder", "<\u200b/system-reminder")
    return Piece(
        name="memory",
        text=f"{head}\n\n{text}",
        shortened=f"{head}\n\n(Left out for its length. Read the file before you begin.)",
        where=str(file.path),
        priority=_PRIORITY[file.scope] - (5 if file.imported_by else 0),
    )


# --- directives ---------------------------------------------------------------------------------------------


def merged(files: Iterable[MemoryFile]) -> list[MemoryFile]:
    """The files with their directives carried out, duplicates and empty ones left out."""
    result: list[MemoryFile] = []
    for file in files:
        own: list[str] = []
        for word, heading, text in _parts(file.text):
            if word == "override":
                result = [_without(old, heading) for old in result]
                own = [_without_section(part, heading) if heading else "" for part in own]
                text = f"# {heading}\n{text.strip()}" if heading else text
            own.append(text)
        body = "\n\n".join(part.strip() for part in own if part.strip())
        result.append(msgspec.structs.replace(file, text=body))
    seen: set[str] = set()
    unique: list[MemoryFile] = []
    for file in result:
        if file.text and file.text not in seen:
            seen.add(file.text)
            unique.append(file)
    return unique


def _parts(text: str) -> Iterator[tuple[str, str, str]]:
    """(directive, its heading, the text that follows); the first part has no directive."""
    at, word, heading = 0, "", ""
    for found in re.finditer(_DIRECTIVE, text):
        yield word, heading, text[at : found.start()]
        word, heading, at = found[1], found[2].lstrip("# "), found.end()
    yield word, heading, text[at:]


def _without(file: MemoryFile, heading: str) -> MemoryFile:
    if file.scope == "managed":
        return file
    return msgspec.structs.replace(file, text=_without_section(file.text, heading) if heading else "")


def _without_section(text: str, heading: str) -> str:
    """The text without the sections of that heading, the deeper ones in them included."""
    kept: list[str] = []
    level = 0
    for line in text.split("\n"):
        found = re.match(_HEADING, line)
        if found:
            depth = len(found[1])
            if found[2].casefold() == heading.casefold():
                level = depth
                continue
            if depth <= level:
                level = 0
        if not level:
            kept.append(line)
    return "\n".join(kept).strip()
