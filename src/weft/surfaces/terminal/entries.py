"""What stands in a conversation, from top to bottom. `Model` changes entries in place and counts `version` up.

`parent` is the tool use of the subagent that an entry belongs to.
"""

from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Json
from weft.schema.display import DiffView, Display
from weft.schema.events import ToolKind
from weft.surfaces.terminal.pieces import Pieces

ToolState: TypeAlias = Literal["pending", "running", "ok", "error", "denied", "cancelled"]
KEPT_OUTPUT = 200_000
"""Characters of a tool's output that are kept for the screen; the agent keeps the rest."""


class PromptEntry(msgspec.Struct, eq=False, kw_only=True):
    """What the person said. `shell` holds the output of a `!` line, whose command is `text`."""

    id: str
    text: str
    attached: tuple[str, ...] = ()
    shell: str | None = None
    parent: str | None = None
    version: int = 0
    open: bool = False


class ReplyEntry(msgspec.Struct, eq=False, kw_only=True):
    """Words of the agent, as Markdown."""

    pieces: Pieces = msgspec.field(default_factory=Pieces)
    done: bool = False
    parent: str | None = None
    version: int = 0
    open: bool = False


class ThinkingEntry(msgspec.Struct, eq=False, kw_only=True):
    """Folded unless it is opened. `seconds` is None while it goes on, and for what is shown again."""

    parts: list[str] = []
    began: float = 0.0
    seconds: float | None = None
    done: bool = False
    parent: str | None = None
    version: int = 0
    open: bool = False

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class ToolEntry(msgspec.Struct, eq=False, kw_only=True):
    """A call, from the moment that its input is whole. `children` are what a subagent does for it."""

    id: str
    name: str
    input: Json
    title: str = ""
    kind: ToolKind = "other"
    state: ToolState = "pending"
    asked: bool = False
    began: float = 0.0
    output: list[str] = []
    output_size: int = 0
    message: str = ""
    fraction: float | None = None
    result: str = ""
    display: tuple[Display, ...] = ()
    edits: tuple[DiffView, ...] = ()
    duration: float = 0.0
    children: list["Entry"] = []
    parent: str | None = None
    version: int = 0
    open: bool = False

    @property
    def over(self) -> bool:
        return self.state not in ("pending", "running")

    def add_output(self, text: str) -> None:
        """Keeps the end of a long output."""
        self.output.append(text)
        self.output_size += len(text)
        while self.output_size > KEPT_OUTPUT and len(self.output) > 1:
            self.output_size -= len(self.output.pop(0))


class NoticeEntry(msgspec.Struct, eq=False, kw_only=True):
    """A sentence of Weft's own, or what a command of the session said (`block`)."""

    text: str
    level: Literal["info", "notice", "warning", "error"] = "info"
    block: bool = False
    parent: str | None = None
    version: int = 0
    open: bool = False


Entry: TypeAlias = PromptEntry | ReplyEntry | ThinkingEntry | ToolEntry | NoticeEntry
