"""Where conversations are kept: `FileStore`, one JSONL file each, and `MemoryStore`, which writes nothing.

A session file is only ever appended to, on one descriptor opened with O_APPEND, one write for a record. Two
processes that append to the same file interleave whole records. A line that a kill tore stays torn; the next
append begins on a line of its own.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from weft import paths
from weft.errors import SessionError
from weft.schema import wire
from weft.schema.records import MarkRecord, Record, UserRecord
from weft.sessions import codec, files
from weft.sessions.port import SessionLog, SessionSummary


class FileLog:
    """One session file, open for appending. The file appears with the first record."""

    def __init__(self, session_id: str, path: Path) -> None:
        self.session_id = session_id
        self.path: Path | None = path
        self._file = path
        self._fd: int | None = None
        self._end = -1
        self._safe = True
        """Nothing was written since the last `sync`."""

    def append(self, record: Record) -> None:
        data = codec.encode_record(record)
        try:
            fd = self._opened()
            size = os.fstat(fd).st_size
            if size and size != self._end and os.pread(fd, 1, size - 1) != b"\n":
                data = b"\n" + data
            self._end = -1
            self._safe = False
            _write_all(fd, data)
            self._end = size + len(data)
        except OSError as error:
            raise SessionError(
                f"The session file {self._file} cannot be written: {error.strerror or error}.",
                hint="Free some space or choose another home with WEFT_HOME.",
            ) from error

    def _opened(self) -> int:
        if self._fd is None:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._fd

    def sync(self) -> None:
        if self._fd is not None and not self._safe:
            os.fsync(self._fd)
            self._safe = True

    def spill(self, name: str, data: bytes) -> Path:
        folder = self._file.with_suffix("") / "tool-results"
        return _spill(folder, name, data)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _write_all(fd: int, data: bytes) -> None:
    """One write, unless the disk takes only a part of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _spill(folder: Path, name: str, data: bytes) -> Path:
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name).lstrip(".") or "output"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / safe
        path.write_bytes(data)
    except OSError as error:
        raise SessionError(f"{folder / safe} cannot be written: {error.strerror or error}.") from error
    return path


class FileStore:
    """Sessions under `home/projects`. Those of Claude Code, under `foreign`, are found too and never written:
    opening one copies it into our home first."""

    def __init__(self, home: Path, foreign: Path | None = None) -> None:
        self.home = home
        foreign = foreign or paths.claude_home()
        self.foreign = None if _same(foreign, home) else foreign

    def create(self, session_id: str, cwd: Path) -> SessionLog:
        files.check_id(session_id)
        path = paths.session_file(session_id, cwd, self.home)
        taken = [path] if self.foreign is None else [path, paths.session_file(session_id, cwd, self.foreign)]
        if any(file.exists() for file in taken):
            raise SessionError(f"The session {session_id} already exists.", hint="Resume it with --resume.")
        return FileLog(session_id, path)

    def open(self, session_id: str, cwd: Path) -> SessionLog:
        own = files.find(self.home, session_id, cwd)
        if own is not None:
            return FileLog(session_id, own)
        source = self._find(session_id, cwd)
        target = paths.session_file(session_id, cwd, self.home)
        files.write_whole(target, files.read_bytes(source))
        files.copy_beside(source, target)
        return FileLog(session_id, target)

    def load(self, session_id: str, cwd: Path | None = None) -> Sequence[Record]:
        return files.decode(files.read_bytes(self._find(session_id, cwd)))[0]

    def recent(self, session_id: str, cwd: Path | None = None) -> Sequence[Record]:
        """As `load`, without the messages before the last compaction."""
        return files.decode_recent(files.read_bytes(self._find(session_id, cwd)))

    def problems(self, session_id: str) -> Sequence[str]:
        return files.decode(files.read_bytes(self._find(session_id, None)))[1]

    def list(self, cwd: Path | None = None, *, limit: int | None = None) -> Sequence[SessionSummary]:
        from weft.sessions import listing

        homes = [(self.home, "weft")] + ([(self.foreign, "claude")] if self.foreign else [])
        return listing.list_sessions(homes, cwd, limit)

    def fork(self, session_id: str, new_id: str, cwd: Path, *, until: str | None = None) -> SessionLog:
        source = self._find(session_id, cwd)
        target = paths.session_file(files.check_id(new_id), cwd, self.home)
        files.write_whole(target, _forked(files.read_bytes(source), new_id, until))
        files.copy_beside(source, target)
        files.copy_folder(self.home / "file-history" / session_id, self.home / "file-history" / new_id)
        return FileLog(new_id, target)

    def delete(self, session_id: str) -> None:
        path = files.find(self.home, session_id, None)
        if path is None:
            foreign = self.foreign and files.find(self.foreign, session_id, None)
            hint = (
                "Claude Code wrote it; Weft does not delete it." if foreign else "`weft sessions list` shows the ids."
            )
            raise SessionError(f"There is no session {session_id} of Weft's to delete.", hint=hint)
        try:
            path.unlink()
        except OSError as error:
            raise SessionError(f"The session file {path} cannot be deleted: {error.strerror or error}.") from error
        import shutil

        for folder in (path.with_suffix(""), self.home / "file-history" / session_id):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)

    def path_of(self, session_id: str, cwd: Path | None = None) -> Path:
        """The file that `load` reads."""
        return self._find(session_id, cwd)

    def _find(self, session_id: str, cwd: Path | None) -> Path:
        for home in (self.home, self.foreign):
            if home is not None and (path := files.find(home, session_id, cwd)) is not None:
                return path
        raise SessionError(
            f"No conversation found with session ID: {session_id}", hint="`weft sessions list` shows what there is."
        )


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _forked(data: bytes, new_id: str, until: str | None) -> bytes:
    """The lines with the new id in them, everything else as it was, cut after the record `until`."""
    copied: list[bytes] = []
    found = until is None
    for line in files.lines(data):
        try:
            fields = wire.decode_object(line)
        except ValueError:
            continue
        if "sessionId" in fields:
            fields["sessionId"] = new_id
        copied.append(wire.encode(fields) + b"\n")
        if until is not None and fields.get("uuid") == until:
            found = True
            break
    if not found:
        raise SessionError(f"The session has no message {until}.", hint="`weft sessions show ID --json` has the ids.")
    return b"".join(copied)


class MemoryLog:
    """A session that is gone with the process (`--no-session-persistence`)."""

    def __init__(self, session_id: str, records: "list[Record]") -> None:
        self.session_id = session_id
        self.path: Path | None = None
        self._records = records
        self._folder: Path | None = None

    def append(self, record: Record) -> None:
        self._records.extend(files.decode(codec.encode_record(record))[0])

    def sync(self) -> None: ...

    def spill(self, name: str, data: bytes) -> Path:
        if self._folder is None:
            import tempfile

            self._folder = Path(tempfile.mkdtemp(prefix="weft-"))
        return _spill(self._folder, name, data)

    def close(self) -> None:
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


class MemoryStore:
    """No persistence; otherwise the same contract."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[Path, list[Record]]] = {}

    def create(self, session_id: str, cwd: Path) -> SessionLog:
        files.check_id(session_id)
        if self._sessions.get(session_id, (cwd, []))[1]:
            raise SessionError(f"The session {session_id} already exists.")
        self._sessions[session_id] = (cwd, [])
        return MemoryLog(session_id, self._sessions[session_id][1])

    def open(self, session_id: str, cwd: Path) -> SessionLog:
        return MemoryLog(session_id, self._records(session_id))

    def load(self, session_id: str, cwd: Path | None = None) -> Sequence[Record]:
        return tuple(self._records(session_id))

    def problems(self, session_id: str) -> Sequence[str]:
        self._records(session_id)
        return ()

    def list(self, cwd: Path | None = None, *, limit: int | None = None) -> Sequence[SessionSummary]:
        rows = [
            _summary_of(session_id, folder, records)
            for session_id, (folder, records) in reversed(self._sessions.items())
            if any(isinstance(record, UserRecord) for record in records) and (cwd is None or _same(folder, cwd))
        ]
        return rows if limit is None else rows[:limit]

    def fork(self, session_id: str, new_id: str, cwd: Path, *, until: str | None = None) -> SessionLog:
        log = self.create(new_id, cwd)
        data = b"".join(codec.encode_record(record) for record in self._records(session_id))
        try:
            self._sessions[new_id][1].extend(files.decode(_forked(data, new_id, until))[0])
        except SessionError:
            del self._sessions[new_id]
            raise
        return log

    def delete(self, session_id: str) -> None:
        self._records(session_id)
        del self._sessions[session_id]

    def _records(self, session_id: str) -> "list[Record]":
        files.check_id(session_id)
        if session_id not in self._sessions or not self._sessions[session_id][1]:
            raise SessionError(f"No conversation found with session ID: {session_id}")
        return self._sessions[session_id][1]


def _summary_of(session_id: str, cwd: Path, records: Sequence[Record]) -> SessionSummary:
    from weft.sessions import listing

    prompts = [
        record.message.text
        for record in records
        if isinstance(record, UserRecord) and listing.is_prompt(record) and record.message.text
    ]
    titles = [str(r.data.get("customTitle", "")) for r in records if isinstance(r, MarkRecord)]
    return SessionSummary(
        session_id=session_id,
        cwd=str(cwd),
        title=next((title for title in reversed(titles) if title), ""),
        first_prompt=prompts[0] if prompts else "",
        last_prompt=prompts[-1] if prompts else "",
    )
