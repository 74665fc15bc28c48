"""What the log tells of a call that has ended: the files that it changed, the agent that it started."""

import msgspec

from weft.errors import ToolError
from weft.schema.display import DiffView
from weft.tools.diff import Hunk, apply_hunks


class LoggedFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of a patch, as it was and as it became."""

    file_path: str = ""
    original_file: str | None = None
    content: str | None = None


class LoggedResult(msgspec.Struct, frozen=True, rename="camel"):
    """The structured result of any tool, as far as surfaces need it again. A tool has only some of these."""

    agent_id: str = ""
    file_path: str = ""
    type: str = ""
    original_file: str | None = None
    content: object = None
    structured_patch: tuple[Hunk, ...] = ()
    files: tuple[LoggedFile, ...] = ()
    notebook_path: str = msgspec.field(default="", name="notebook_path")
    notebook_before: str | None = msgspec.field(default=None, name="original_file")
    notebook_after: str | None = msgspec.field(default=None, name="updated_file")

    def edits(self) -> tuple[DiffView, ...]:
        """The files that the call changed; one whose change cannot be told is left out."""
        if self.notebook_path:
            views = [DiffView(self.notebook_path, self.notebook_before, self.notebook_after)]
        elif self.files:
            views = [DiffView(file.file_path, file.original_file, file.content) for file in self.files]
        elif self.structured_patch or self.type in ("create", "update"):
            views = [DiffView(self.file_path, self.original_file, self._after())]
        else:
            views = []
        return tuple(view for view in views if view.path and view.before != view.after)

    def _after(self) -> str | None:
        if isinstance(self.content, str):
            return self.content
        try:
            return apply_hunks(self.original_file or "", self.structured_patch)
        except ToolError:
            return self.original_file


def read_result(data: object) -> LoggedResult:
    """Never fails: a result of another shape tells nothing."""
    try:
        return msgspec.convert(data, LoggedResult)
    except msgspec.ValidationError:
        return LoggedResult()
