"""The port to an editor: what the twelve tools of the IDE protocol need of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import (
    Accepted,
    Document,
    FileDiagnostics,
    Mention,
    Output,
    Rejected,
    Selection,
    Tab,
)


class SelectionMoved(msgspec.Struct, frozen=True):
    """The person marked something, moved the cursor or went to another file; None when no file is looked at."""

    selection: Selection | None


class Mentioned(msgspec.Struct, frozen=True):
    """The person points agents at a file."""

    mention: Mention


class ToolsChanged(msgspec.Struct, frozen=True):
    """`tools` is another set than before."""


EditorEvent: TypeAlias = SelectionMoved | Mentioned | ToolsChanged
Listener: TypeAlias = Callable[[EditorEvent], None]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed change of one file. `before` is None for a file that does not exist yet.

    `id` is unique among all agents; `title` is what a person sees, `agent` who asks.
    """

    id: str
    path: str
    before: str | None
    after: str
    title: str
    agent: str = ""


class Editor(Protocol):
    """Something that holds documents and shows them to a person.

    Paths are absolute. Methods may be called by several agents at once.

    Raises:
        WorkspaceError: a file is missing or cannot be used; the message is a sentence for the agent.
    """

    @property
    def name(self) -> str:
        """What people call it: the lock file's `ideName`."""
        ...

    @property
    def folders(self) -> tuple[Path, ...]: ...

    @property
    def tools(self) -> frozenset[str]:
        """The names of the IDE tools that work here now; the others are neither listed nor run."""
        ...

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` for each event from now on, until the returned function is called. It must not wait."""
        ...

    async def open_file(self, request: OpenFile) -> Document: ...

    async def document(self, path: str) -> Document | None:
        """None when the file is not open."""
        ...

    async def save(self, path: str) -> bool | None:
        """Whether the file is saved now; None when it is not open."""
        ...

    async def selection(self) -> Selection | None:
        """What is marked in the active document, or its cursor; None without an active document."""
        ...

    async def latest_selection(self) -> Selection | None:
        """The last selection that was not empty."""
        ...

    async def tabs(self) -> Sequence[Tab]: ...

    async def close_tab(self, name: str) -> bool:
        """Closes the document with this label or path. Unsaved changes are never thrown away: then it stays."""
        ...

    async def show_diff(self, diff: Diff) -> Accepted | Rejected:
        """Shows the change and waits for the person, for as long as it takes. Nothing is written to the file.

        A view that the person closes is `Rejected`. When the call is cancelled the view closes.
        """
        ...

    async def diagnostics(self, path: str | None) -> Sequence[FileDiagnostics]:
        """Of one file, or of all open ones. Current: edits made before the call are taken into account."""
        ...

    async def execute(self, code: str) -> Sequence[Output]:
        """Runs code in the active notebook's kernel."""
        ...
