"""Rows of a list of sessions, from the head and the tail of each file: never from all of it."""

import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from weft import paths
from weft.schema.content import Text, ToolResult
from weft.schema.records import UserRecord
from weft.sessions import codec
from weft.sessions.port import SessionSummary

_NEAR: Final = 4096
_FAR: Final = 65536
_STRING: Final = rb'"\s*:\s*("(?:[^"\\]|\\.)*")'
_CWD: Final = re.compile(rb'"cwd' + _STRING)
_BRANCH: Final = re.compile(rb'"gitBranch' + _STRING)
_TIME: Final = re.compile(rb'"timestamp' + _STRING)
_TITLES: Final = (
    (b'"customTitle"', re.compile(b'"customTitle' + _STRING)),
    (b'"aiTitle"', re.compile(b'"aiTitle' + _STRING)),
    (b'"type":"summary"', re.compile(rb'"type":"summary"[^\n]*?"summary' + _STRING)),
)
_LAST: Final = re.compile(rb'"lastPrompt' + _STRING)
_NOT_TYPED: Final = ("<system-reminder>", "<attached ", "<pasted ", "<ide_")
_COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)


def list_sessions(homes: Iterable[tuple[Path, str]], cwd: Path | None, limit: int | None) -> Sequence[SessionSummary]:
    """Newest first. A session that is in two homes is shown once, from the first of them."""
    found: dict[str, tuple[os.stat_result, str, str]] = {}
    for home, source in homes:
        for folder in _folders(home, cwd):
            for name, path, stat in _session_files(folder):
                found.setdefault(name, (stat, path, source))
    rows = sorted(found.items(), key=lambda item: item[1][0].st_mtime_ns, reverse=True)
    summaries: list[SessionSummary] = []
    for session_id, (stat, path, source) in rows:
        if limit is not None and len(summaries) >= limit:
            break
        summary = summarise(session_id, path, stat, source)
        if summary is not None:
            summaries.append(summary)
    return summaries


def _folders(home: Path, cwd: Path | None) -> list[str]:
    projects = paths.projects_dir(home)
    if cwd is not None:
        return [str(projects / paths.project_slug(cwd))]
    try:
        with os.scandir(projects) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        return []


def _session_files(folder: str) -> Iterable[tuple[str, str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl"):
                    stat = entry.stat()
                    if stat.st_size:
                        yield entry.name[:-6], entry.path, stat
    except OSError:
        return


def summarise(session_id: str, path: str, stat: os.stat_result, source: str) -> SessionSummary | None:
    """A row; None for a file that is no conversation (a subagent's, unreadable, or one in which nothing was said)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        head = os.pread(fd, _NEAR, 0)
        if b'"isSidechain":true' in head.split(b"\n", 1)[0]:
            return None
        first, whole = _first_prompt(head, complete=stat.st_size <= _NEAR)
        if first is None and not whole:
            head = os.pread(fd, _FAR, 0)
            first, _ = _first_prompt(head, complete=True)
        tail = head if stat.st_size <= len(head) else os.pread(fd, _NEAR, max(0, stat.st_size - _NEAR))
        if stat.st_size > _NEAR and b'"lastPrompt"' not in tail:
            tail = os.pread(fd, _FAR, max(0, stat.st_size - _FAR))
    finally:
        os.close(fd)
    if first is None and len(head) >= stat.st_size and b'"uuid"' not in head:
        return None
    title = _title(tail) or _title(head)
    last = _as_typed(_last_of(_LAST, tail)) or _last_prompt(tail) or first or ""
    return SessionSummary(
        session_id=session_id,
        cwd=_first_of(_CWD, head),
        title=title,
        first_prompt=first or "",
        last_prompt=last,
        updated=stat.st_mtime,
        created=_time(_first_of(_TIME, head)) or stat.st_mtime,
        size=stat.st_size,
        git_branch=_last_of(_BRANCH, tail) or _first_of(_BRANCH, head),
        path=Path(path),
        source=source,
    )


def _title(data: bytes) -> str:
    for key, pattern in _TITLES:
        if key in data and (title := _last_of(pattern, data)):
            return title
    return ""


def _first_prompt(head: bytes, *, complete: bool) -> tuple[str | None, bool]:
    """The first prompt in `head`, and whether all of its lines were whole."""
    lines = head.split(b"\n")
    for line in lines if complete else lines[:-1]:
        if b'"type":"user"' in line or b'"type": "user"' in line:
            text = _prompt_of(line)
            if text:
                return text, True
    return None, complete


def _last_prompt(tail: bytes) -> str:
    for line in reversed(tail.split(b"\n")):
        if (b'"type":"user"' in line or b'"type": "user"' in line) and (text := _prompt_of(line)):
            return text
    return ""


def _prompt_of(line: bytes) -> str:
    try:
        record = codec.decode_line(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return prompt_text(record) if isinstance(record, UserRecord) and is_prompt(record) else ""


def is_prompt(record: UserRecord) -> bool:
    """Whether a person wrote this, as against tool results and what an agent wrote itself."""
    if record.meta or record.summary or record.transcript_only or record.origin.is_sidechain:
        return False
    return not any(isinstance(block, ToolResult) for block in record.message.content)


def prompt_text(record: UserRecord) -> str:
    """What the person typed: a slash command as typed, without the marks around it; what was attached left out."""
    texts = [block.text for block in record.message.content if isinstance(block, Text)]
    command = next((text for text in texts if _COMMAND.search(text)), None)
    if command is not None:
        return _as_typed(command)
    typed = [text for text in texts if not text.startswith(_NOT_TYPED)]
    text = "\n".join(typed or texts)
    return (text.rpartition("</system-reminder>")[2] or text).strip() if not typed else text.strip()


def _as_typed(text: str) -> str:
    """A slash command without the marks around it; other text as it is."""
    name = _COMMAND.search(text)
    if name is None:
        return text
    arguments = _ARGUMENTS.search(text)
    return f"{name[1]} {arguments[1] if arguments else ''}".strip()


def _first_of(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    return _string(found[1]) if found else ""


def _last_of(pattern: re.Pattern[bytes], data: bytes) -> str:
    last = b""
    for found in pattern.finditer(data):
        last = found[1]
    return _string(last) if last else ""


def _string(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=str)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0
