"""The conversations on disk, for programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from weft.paths import claude_home, weft_home
from weft.schema.ids import new_id
from weft.schema.records import MarkRecord, Record
from weft.sessions.port import SessionSummary
from weft.sessions.search import Hit
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


def rename_session(session_id: str, title: str) -> None:
    """
    Raises:
        SessionError: there is no such session.
    """
    name = " ".join(title.split())[:200]
    _append(session_id, MarkRecord(kind="custom-title", session_id=session_id, data={"customTitle": name}))


def rewind_session(session_id: str, message_id: str) -> str:
    """Takes the conversation back to before one of its prompts, and returns that prompt; files stay as they are.

    Raises:
        SessionError: there is no such session, or no such message in it.
    """
    from weft.sessions.rewind import rewind

    back = rewind(_store().load(session_id), message_id, session_id)
    _append(session_id, back.mark)
    return back.prompt


def search_sessions(words: str, cwd: str | Path | None = None, *, limit: int = 50) -> list[Hit]:
    """Messages that have all these words, the newest conversations first: those of a folder, or all."""
    from weft.sessions.search import search

    return list(search(_store(), words, Path(cwd).resolve() if cwd is not None else None, limit=limit))


def export_session(session_id: str, format: Literal["markdown", "html"] = "markdown") -> str:
    """The conversation as a text to read.

    Raises:
        SessionError: there is no such session.
    """
    from weft.sessions import export
    from weft.sessions.resume import load

    store = _store()
    to_text = export.to_html if format == "html" else export.to_markdown
    return to_text(store.load(session_id), title=load(store, session_id, None).title)


def _append(session_id: str, record: Record) -> None:
    store = _store()
    log = store.open(session_id, Path.cwd())
    try:
        log.append(record)
    finally:
        log.close()
