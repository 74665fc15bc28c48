"""Finding words in sessions. Files are searched as bytes first; only those with a hit are read as records."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from weft.schema.content import AnyBlock, Text, ToolResult, ToolUse, text_of
from weft.schema.records import AssistantRecord, Record, UserRecord
from weft.sessions import files
from weft.sessions.port import SessionStore, SessionSummary

_AROUND = 60


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the words stand. `who` is `user`, `agent` or `tool`; `excerpt` is one line around them."""

    session: SessionSummary
    who: str
    uuid: str
    timestamp: str
    excerpt: str


def search(
    store: SessionStore, words: str, cwd: Path | None = None, *, limit: int = 50, per_session: int = 3
) -> Iterator[Hit]:
    """Hits in the newest sessions first. All words must stand in the same message, in any case and order."""
    wanted = [word.casefold() for word in words.split()]
    if not wanted:
        return
    left = limit
    for summary in store.list(cwd):
        if left <= 0:
            return
        records = _candidates(store, summary, wanted)
        for hit in _hits(summary, records, wanted, min(left, per_session)):
            left -= 1
            yield hit


def _candidates(store: SessionStore, summary: SessionSummary, wanted: Sequence[str]) -> Sequence[Record]:
    if summary.path is None:
        return store.load(summary.session_id)
    data = files.read_bytes(summary.path)
    # Only plain letters are spelled the same in JSON and in a message, whatever wrote the file.
    plain = [word for word in wanted if re.fullmatch(r"[a-z0-9_.-]+", word)]
    if plain:
        low = data.lower()
        if not all(word.encode() in low for word in plain):
            return ()
    return files.decode(data)[0]


def _hits(summary: SessionSummary, records: Sequence[Record], wanted: Sequence[str], most: int) -> Iterator[Hit]:
    for record in records:
        if most <= 0:
            return
        if not isinstance(record, UserRecord | AssistantRecord):
            continue
        content = record.message.content if isinstance(record, UserRecord) else record.reply.content
        for block in content:
            who, text = _words_of(block, isinstance(record, UserRecord))
            folded = text.casefold()
            if text and all(word in folded for word in wanted):
                yield Hit(
                    session=summary,
                    who=who,
                    uuid=record.origin.uuid,
                    timestamp=record.origin.timestamp,
                    excerpt=_excerpt(text, folded.find(wanted[0])),
                )
                most -= 1
                break


def _words_of(block: AnyBlock, from_user: bool) -> tuple[str, str]:
    match block:
        case Text(text=text):
            return ("user" if from_user else "agent"), text
        case ToolResult(content=content):
            return "tool", text_of(content)
        case ToolUse(name=name, input=input):
            return "agent", f"{name} {' '.join(str(value) for value in input.values())}"
        case _:
            return "", ""


def _excerpt(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + 2 * _AROUND
    line = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"
