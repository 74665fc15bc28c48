"""What the two ends tell each other, in our words. Lines and characters count from zero, as in LSP."""

from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["Error", "Warning", "Information", "Hint"]
SEVERITIES: tuple[Severity, ...] = ("Error", "Warning", "Information", "Hint")


class Position(msgspec.Struct, frozen=True, order=True):
    line: int = 0
    character: int = 0


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What is marked in a file; an empty text is a cursor, which still says which file is looked at."""

    path: str
    text: str = ""
    start: Position = Position()
    end: Position = Position()

    @property
    def is_empty(self) -> bool:
        return self.start == self.end


class Mention(msgspec.Struct, frozen=True, kw_only=True):
    """The person points the agent at a file, or at some of its lines (both ends included)."""

    path: str
    first_line: int | None = None
    last_line: int | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the editor holds it."""

    path: str
    language: str = "plaintext"
    line_count: int = 0
    dirty: bool = False
    untitled: bool = False


class Tab(msgspec.Struct, frozen=True, kw_only=True):
    """An open document and where it is shown."""

    document: Document
    label: str
    active: bool = False
    pinned: bool = False
    preview: bool = False
    selection: Selection | None = None


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    severity: Severity = "Error"
    start: Position = Position()
    end: Position = Position()
    code: str | None = None
    source: str | None = None


class FileDiagnostics(msgspec.Struct, frozen=True):
    path: str
    diagnostics: tuple[Diagnostic, ...] = ()


class Output(msgspec.Struct, frozen=True):
    """A piece of what executed code gave: text, or base64 of an image of type `media_type`."""

    data: str
    media_type: str = "text/plain"


class Accepted(msgspec.Struct, frozen=True):
    """The person takes the change; `text` is what to write, which may differ from what was proposed."""

    text: str


class Rejected(msgspec.Struct, frozen=True):
    """The person says no, or closed the view: closing is never a yes."""


class Undecided(msgspec.Struct, frozen=True):
    """The editor gave no usable answer; whoever else was asked decides."""

    reason: str = ""


Decision: TypeAlias = Accepted | Rejected | Undecided
