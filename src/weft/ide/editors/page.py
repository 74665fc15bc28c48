"""The web page as an editor: the headless one, with its diffs and files shown on a page.

The page needs two things. It hands in `publish`, which is called with each `PageEvent`; and it calls `accept`,
`reject`, `select`, `mention` and `edit` for what the person does. A page that connects later starts from `shown`.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeAlias

import anyio
import msgspec

from weft.errors import ToolError, WorkspaceError
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import ServerSpec
from weft.ide.port import Diff
from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import Accepted, Document, Rejected, Selection
from weft.tools.diff import Hunk, accept, hunks
from weft.transports.kernel import kernel_is_installed


class DiffShown(msgspec.Struct, frozen=True, tag_field="type", tag="diff_shown"):
    """A change waits for the person. `hunks` can be taken one by one, by their index."""

    diff: Diff
    hunks: tuple[Hunk, ...]


class DiffClosed(msgspec.Struct, frozen=True, tag_field="type", tag="diff_closed"):
    """Decided here, elsewhere, or withdrawn: the page takes it away."""

    id: str


class FileShown(msgspec.Struct, frozen=True, tag_field="type", tag="file_shown"):
    """An agent wants the person to see a file, and a part of it when `selection` is not empty."""

    document: Document
    text: str
    selection: Selection | None


PageEvent: TypeAlias = DiffShown | DiffClosed | FileShown


class _Pending(msgspec.Struct):
    shown: DiffShown
    decided: anyio.Event
    answer: Accepted | Rejected | None = None


class PageEditor(HeadlessEditor):
    """`publish` must not wait; it is called in the order of what happens."""

    def __init__(
        self,
        folders: Sequence[Path],
        publish: Callable[[PageEvent], None],
        *,
        name: str = "Weft page",
        trusted: bool = False,
        servers: tuple[ServerSpec, ...] | None = None,
        kernel: bool = True,
        jupyter: Callable[[], bool] = kernel_is_installed,
    ) -> None:
        super().__init__(folders, name=name, trusted=trusted, servers=servers, kernel=kernel, jupyter=jupyter)
        self._publish = publish
        self._pending: dict[str, _Pending] = {}

    @property
    def shown(self) -> tuple[DiffShown, ...]:
        """The changes that wait, oldest first."""
        return tuple(pending.shown for pending in self._pending.values())

    async def open_file(self, request: OpenFile) -> Document:
        document = await super().open_file(request)
        if request.make_frontmost:
            self._publish(FileShown(document, self.text(document.path), await self.selection()))
        return document

    async def show_diff(self, diff: Diff) -> Accepted | Rejected:
        shown = DiffShown(diff, hunks(diff.before or "", diff.after))
        pending = self._pending[diff.id] = _Pending(shown, anyio.Event())
        self._publish(shown)
        try:
            await pending.decided.wait()
        finally:
            del self._pending[diff.id]
            self._publish(DiffClosed(diff.id))
        return pending.answer or Rejected()

    def accept(self, id: str, *, text: str | None = None, chosen: Collection[int] | None = None) -> bool:
        """The person takes a change: as it is, with their own `text`, or only the `chosen` hunks (none is a no).

        False when it is not open any more: the first answer counts.

        Raises:
            WorkspaceError: the hunks do not fit.
        """
        pending = self._pending.get(id)
        if pending is None:
            return False
        diff = pending.shown.diff
        if text is not None:
            return self._settle(id, Accepted(text))
        if chosen is None:
            return self._settle(id, Accepted(diff.after))
        if not chosen:
            return self._settle(id, Rejected())
        try:
            return self._settle(id, Accepted(accept(diff.before or "", diff.after, chosen)))
        except ToolError as error:
            raise WorkspaceError(str(error)) from error

    def reject(self, id: str) -> bool:
        """The person says no, or closes the view."""
        return self._settle(id, Rejected())

    def _settle(self, id: str, answer: Accepted | Rejected) -> bool:
        pending = self._pending.get(id)
        if pending is None or pending.answer is not None:
            return False
        pending.answer = answer
        pending.decided.set()
        return True
