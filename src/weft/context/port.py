"""What a model is told besides the conversation: where it comes from, and the words for it."""

from collections.abc import Hashable
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from weft.schema.events import Mode
from weft.sessions import tokens

SettingSource = Literal["user", "project", "local"]
ALL_SOURCES: tuple[SettingSource, ...] = ("user", "project", "local")


class Listing(msgspec.Struct, frozen=True):
    """Things that the model may ask for by name: agents, skills, tools that are looked up first."""

    title: str
    rows: tuple[tuple[str, str], ...]
    """(name, what it is for)"""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the sources see of a session. `sources` are the settings that count; `date` is empty for today."""

    cwd: Path
    roots: tuple[Path, ...] = ()
    model: str = ""
    tools: tuple[str, ...] = ()
    date: str = ""
    mode: Mode = "default"
    sources: tuple[SettingSource, ...] = ALL_SOURCES
    listings: tuple[Listing, ...] = ()
    interactive: bool = True
    window: int = 0
    """Tokens that the model takes at once; 0 when that is not known."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders worked on, the main one first."""
        return self.roots or (self.cwd,)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what the model is told. `where` is its file or source; a higher `priority` is kept longer when all
    does not fit. `shortened` is what stays of it then: empty leaves it out."""

    name: str
    text: str
    where: str = ""
    priority: int = 50
    shortened: str = ""

    @property
    def tokens(self) -> int:
        return tokens.of_text(self.text)


class Source(Protocol):
    """One source of the system prompt, read without waiting."""

    name: str

    def key(self, view: View) -> Hashable:
        """What the text depends on: the same key, the same text."""
        ...

    def read(self, view: View) -> tuple[Piece, ...]: ...


class LiveSource(Protocol):
    """One source of what is put before the first prompt. May wait for files and child processes, within a limit;
    never raises for what it finds on disk."""

    name: str

    async def read(self, view: View) -> tuple[Piece, ...]: ...
