"""The conversations on disk, for programs."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from weft.paths import claude_home, weft_home
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
    new_id = str(uuid.uuid4())
    _store().fork(session_id, new_id, Path(cwd).resolve(), until=until).close()
    return new_id


def delete_session(session_id: str) -> None:
    _store().delete(session_id)
