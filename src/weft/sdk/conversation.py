"""Which conversation a session is: a new one, one from the disk, or a copy of one."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.agent.options import SessionOptions
from weft.errors import SessionError, UsageError
from weft.schema.ids import new_id, parse_id
from weft.sessions.files import check_id
from weft.sessions.port import SessionLog, SessionStore, SessionSummary

if TYPE_CHECKING:
    from weft.sessions.resume import Resumed


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """An open log, and what was in it before."""

    session_id: str
    log: SessionLog | None
    resumed: "Resumed | None" = None


def open_conversation(options: SessionOptions, store: SessionStore) -> Conversation:
    """
    Raises:
        UsageError: the options contradict each other.
        SessionError: there is no such conversation, or it cannot be read.
    """
    source = _source(options, store)
    if source is None:
        return _new(options, store)
    from weft.sessions.resume import load

    if options.resume_at is not None and options.resume_drops is not None:
        _check_drop(store, source, options.cwd, options.resume_at, options.resume_drops)
    if not options.fork:
        resumed = load(store, source, options.cwd, until=options.resume_at)
        log = store.open(source, options.cwd) if options.persist else None
        return Conversation(session_id=source, log=log, resumed=resumed)
    session_id = options.session_id or new_id()
    if not options.persist:
        resumed = load(store, source, options.cwd, until=options.resume_at)
        return Conversation(session_id=session_id, log=None, resumed=resumed)
    log = store.fork(source, session_id, options.cwd, until=options.resume_at)
    return Conversation(session_id=session_id, log=log, resumed=load(store, session_id, options.cwd))


def _check_drop(store: SessionStore, source: str, cwd: Path, after: str, expected: str) -> None:
    """
    Raises:
        SessionError: the first prompt after the cut is another one.
    """
    from weft.sessions.rewind import points

    ids = [point.message_id for point in points(store.load(source, cwd))]
    kept = {message_id for message_id in ids if message_id in _chain_until(store, source, cwd, after)}
    dropped = next((message_id for message_id in ids if message_id not in kept), None)
    if dropped != expected:
        found = dropped or "no turn"
        raise SessionError(f"Resume rejected by --resume-drops-turn: {found} would be dropped, not {expected}.")


def _chain_until(store: SessionStore, source: str, cwd: Path, after: str) -> set[str]:
    from weft.sessions.resume import load

    return {record.origin.uuid for record in load(store, source, cwd, until=after).records}


def _new(options: SessionOptions, store: SessionStore) -> Conversation:
    session_id = check_id(options.session_id or new_id())
    if not options.persist:
        return Conversation(session_id=session_id, log=None)
    try:
        return Conversation(session_id=session_id, log=store.create(session_id, options.cwd))
    except SessionError:
        hint = "Use --resume to go on with it."
        raise UsageError(f"Session ID {session_id} is already in use.", hint=hint) from None


def _source(options: SessionOptions, store: SessionStore) -> str | None:
    if options.resume:
        return _find(options.resume, options.cwd, store)
    if options.continue_latest:
        newest = store.list(options.cwd, limit=1)
        if not newest:
            raise SessionError(
                "There is no conversation to continue in this folder.", hint="weft sessions list shows all of them."
            )
        return newest[0].session_id
    return None


def _find(wanted: str, cwd: Path, store: SessionStore) -> str:
    """An id, or the title of one of this folder's conversations."""
    if (session_id := parse_id(wanted)) is not None:
        return session_id
    matches = [row for row in store.list(cwd) if row.title == wanted] or [
        row for row in store.list(None) if row.title == wanted or row.session_id.startswith(wanted)
    ]
    if len(matches) == 1:
        return matches[0].session_id
    if not matches:
        raise SessionError(f"No conversation found with session ID: {wanted}", hint="weft sessions list shows them.")
    raise SessionError(f"{len(matches)} conversations are called {wanted!r}.", hint=_choices(matches))


def _choices(rows: list[SessionSummary]) -> str:
    return "Name one by its id: " + ", ".join(row.session_id for row in rows[:5])
