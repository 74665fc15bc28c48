"""Session files on disk: where they are, how they are read, and what a torn write looks like."""

import os
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec

from weft import paths
from weft.errors import SessionError
from weft.schema.content import Unknown
from weft.schema.records import Record, SystemRecord
from weft.sessions import codec

_SAFE = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
_BOUNDARY = b'"compact_boundary"'


def check_id(session_id: str) -> str:
    """The id, if it can be a file's name.

    Raises:
        SessionError: it cannot: a path, or another kind of text.
    """
    if not re.fullmatch(_SAFE, session_id):
        raise SessionError(f"{session_id!r} is not a session id.", hint="`weft sessions list` shows the ids.")
    return session_id


def find(home: Path, session_id: str, cwd: Path | None) -> Path | None:
    """The session's file: in the folder of `cwd` if it is there, else in whichever folder has it."""
    name = f"{check_id(session_id)}.jsonl"
    if cwd is not None:
        path = paths.session_file(session_id, cwd, home)
        if path.is_file():
            return path
    try:
        with os.scandir(paths.projects_dir(home)) as folders:
            names = sorted(folder.path for folder in folders if folder.is_dir())
    except OSError:
        return None
    return next((path for path in (Path(folder, name) for folder in names) if path.is_file()), None)


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SessionError(f"The session file {path} cannot be read: {error.strerror or error}.") from error


def lines(data: bytes) -> Iterator[bytes]:
    """Only LF ends a line: other line breaks are legal inside a JSON string."""
    return (line for line in data.split(b"\n") if line.strip())


def decode(data: bytes) -> tuple[list[Record], list[str]]:
    """The records in order, and a sentence for each line that cannot be read."""
    from weft.sessions.decoding import decode_line

    records: list[Record] = []
    problems: list[str] = []
    for number, line in enumerate(BytesIO(data), 1):
        if line.isspace():
            continue
        try:
            records.append(decode_line(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(f"line {number} cannot be read and was left out ({error})")
    return records, problems


def decode_recent(data: bytes) -> list[Record]:
    """What resuming needs: everything after the last compaction, and before it only the marks."""
    start = _last_boundary(data)
    if start == 0:
        return decode(data)[0]
    head = data[:start]
    marks = [line for line in head.split(b"\n") if line.startswith(b'{"type":"') and b'"parentUuid"' not in line[:200]]
    return decode(b"\n".join(marks))[0] + decode(data[start:])[0]


def _last_boundary(data: bytes) -> int:
    """Where the line of the last compaction begins; 0 without one."""
    end = len(data)
    while True:
        found = data.rfind(_BOUNDARY, 0, end)
        if found < 0:
            return 0
        start = data.rfind(b"\n", 0, found) + 1
        stop = data.find(b"\n", found)
        try:
            record = codec.decode_line(data[start : stop if stop >= 0 else len(data)])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            record = Unknown(b"")
        # The words may also stand deep inside somebody's tool result; then the search goes on before it.
        if isinstance(record, SystemRecord) and record.subtype == "compact_boundary" and not record.origin.is_sidechain:
            return start
        end = found


def write_whole(path: Path, data: bytes) -> None:
    """A new file at once or not at all, readable by its owner only.

    Raises:
        SessionError: it exists already, or cannot be written.
    """
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(name, path)
        finally:
            os.unlink(name)
    except FileExistsError:
        raise SessionError(f"A session already exists at {path}.", hint="Choose another id.") from None
    except OSError as error:
        raise SessionError(f"The session file {path} cannot be written: {error.strerror or error}.") from error


def copy_beside(source: Path, target: Path) -> None:
    """The files that a session keeps beside its log, for a copy of it."""
    copy_folder(source.with_suffix(""), target.with_suffix(""))


def copy_folder(source: Path, target: Path) -> None:
    """A folder with all that is in it; a missing one is none."""
    if source.is_dir():
        import shutil

        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
