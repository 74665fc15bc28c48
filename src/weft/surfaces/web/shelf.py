"""The conversations on disk, for the page: Weft's own sessions, and those that Claude Code left in these folders."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from weft.agent.replay import to_events
from weft.errors import SessionError
from weft.schema.events import AgentEvent
from weft.schema.records import MarkRecord
from weft.sessions.port import SessionStore, SessionSummary
from weft.sessions.resume import chain_of
from weft.sessions.rewind import rewind
from weft.sessions.search import search
from weft.surfaces.web.frames import Row

MOST_ROWS = 500
"""Conversations of one folder that are listed."""


class SessionShelf:
    """Implements `Shelf` over a `SessionStore`. Only conversations of the folders asked for are ever touched."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._folders: dict[str, str] = {}

    def rows(self, folders: Sequence[str]) -> Sequence[Row]:
        found: list[Row] = []
        for folder in folders:
            for summary in self._store.list(Path(folder), limit=MOST_ROWS):
                self._folders[summary.session_id] = folder
                found.append(_row(summary, folder))
        return sorted(found, key=lambda row: -row.updated)

    def events(self, session_id: str) -> Sequence[AgentEvent]:
        return to_events(chain_of(self._store.load(session_id, self._folder(session_id))))

    def search(self, query: str, folders: Sequence[str]) -> Sequence[str]:
        found: dict[str, None] = {}
        for folder in folders:
            for hit in search(self._store, query, Path(folder), per_session=1):
                found[hit.session.session_id] = None
        return list(found)

    def rename(self, session_id: str, title: str) -> None:
        log = self._store.open(session_id, self._folder(session_id))
        log.append(MarkRecord(kind="custom-title", session_id=session_id, data={"customTitle": title}))
        log.close()

    def delete(self, session_id: str) -> None:
        self._folder(session_id)
        self._store.delete(session_id)

    def fork(self, session_id: str, folder: str, until: str | None) -> str:
        records = self._store.load(session_id, Path(folder))
        tip = rewind(records, until).tip if until is not None else None
        if until is not None and tip is None:
            raise SessionError("There is nothing before the first message", hint="Start a new conversation.")
        new_id = str(uuid.uuid4())
        self._store.fork(session_id, new_id, Path(folder), until=tip).close()
        self._folders[new_id] = folder
        return new_id

    def _folder(self, session_id: str) -> Path:
        if session_id not in self._folders:
            raise SessionError("This conversation is not of these folders")
        return Path(self._folders[session_id])


def _row(summary: SessionSummary, folder: str) -> Row:
    title = summary.title or " ".join(summary.first_prompt.split())[:80] or summary.session_id[:8]
    return Row(id=summary.session_id, title=title, folder=folder, updated=summary.updated)
