"""The port to where conversations are kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from weft.schema.records import Record


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list: made from the head and the tail of a log, never from all of it."""

    session_id: str
    cwd: str
    title: str = ""
    first_prompt: str = ""
    last_prompt: str = ""
    updated: float = 0.0
    created: float = 0.0
    size: int = 0
    git_branch: str = ""
    path: Path | None = None
    source: str = "weft"
    """`weft`, or `claude` for one that Claude Code wrote."""


class SessionLog(Protocol):
    """One session, open for appending. A record survives our death when `append` returns, a power cut after `sync`."""

    session_id: str
    path: Path | None

    def append(self, record: Record) -> None: ...

    def sync(self) -> None: ...

    def spill(self, name: str, data: bytes) -> Path:
        """Keeps a file beside the log (`<session>/tool-results/<name>`)."""
        ...

    def close(self) -> None: ...


class SessionStore(Protocol):
    """Append-only: nothing that was appended is ever rewritten, and forking or resuming never touches the source.

    Raises:
        SessionError: no such session, or it cannot be read or written.
    """

    def create(self, session_id: str, cwd: Path) -> SessionLog: ...

    def open(self, session_id: str, cwd: Path) -> SessionLog:
        """For appending to a session that exists, in its own file."""
        ...

    def load(self, session_id: str, cwd: Path | None = None) -> Sequence[Record]:
        """Every record in order of the file. Broken lines are left out and reported by `problems`."""
        ...

    def problems(self, session_id: str) -> Sequence[str]: ...

    def list(self, cwd: Path | None = None, *, limit: int | None = None) -> Sequence[SessionSummary]:
        """Newest first; of one folder, or of all."""
        ...

    def fork(self, session_id: str, new_id: str, cwd: Path, *, until: str | None = None) -> SessionLog:
        """A copy under a new id, cut after the record `until`."""
        ...

    def delete(self, session_id: str) -> None: ...
