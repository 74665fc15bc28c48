"""The conversations on disk, for programs."""

from collections.abc import Sequence
from pathlib import Path

from weft.paths import claude_home, weft_home
from weft.schema.ids import new_id
from weft.schema.records import Record
from weft.sessions.port import SessionSummary
from weft.sessions.store import FileStore


def _store() -> FileStore:
    return FileStore(weft_home(), foreign=claude_home())


def list_sessions(cwd: str | Path | None = None, *, limit: int | None = None) -> Sequence[SessionSummary]:
    """Newest first: those of a folder, or all of them."""
    return _store().list(Path(cwd).resolve() if cwd is not None else None, limit=limit)


def read_session(session_id: str) -> Sequence[Record]:
    """Every record of one.

    Raises:
        SessionError: there is no such session.
    """
    return _store().load(session_id)


def fork_session(session_id: str, *, cwd: str | Path = ".", until: str | None = None) -> str:
    """A copy under a new id, which is returned; the source is not touched."""
    copy = new_id()
    _store().fork(session_id, copy, Path(cwd).resolve(), until=until).close()
    return copy


def delete_session(session_id: str) -> None:
    _store().delete(session_id)
