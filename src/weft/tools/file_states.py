"""What was read and how it looked then (seed 002's `readFileState`), in bounded memory."""

import os
from collections import OrderedDict
from pathlib import Path

import msgspec

MAX_FILES = 4096


class Seen(msgspec.Struct, frozen=True):
    """A file as it was last seen. The hash is this process's own: it tells a change, it is never stored."""

    size: int
    digest: int
    mtime_ns: int
    partial: bool


class FileStateStore:
    """`FileStates` of the port: size, hash and mtime of the last few thousand files. Contents are not held: nothing
    needs more than whether they changed."""

    def __init__(self, *, max_files: int = MAX_FILES) -> None:
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._max_files = max_files

    def note(self, path: Path, data: bytes, mtime_ns: int, *, partial: bool = False) -> None:
        key = os.path.normpath(path)
        self._seen[key] = Seen(len(data), hash(data), mtime_ns, partial)
        self._seen.move_to_end(key)
        if len(self._seen) > self._max_files:
            self._seen.popitem(last=False)

    def changed(self, path: Path, data: bytes) -> bool | None:
        seen = self._seen.get(os.path.normpath(path))
        return None if seen is None else (seen.size, seen.digest) != (len(data), hash(data))

    def seen(self, path: Path) -> Seen | None:
        return self._seen.get(os.path.normpath(path))

    def forget(self, path: Path) -> None:
        self._seen.pop(os.path.normpath(path), None)
