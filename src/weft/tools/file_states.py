"""What was read and how it looked then (seed 002's `readFileState`), in bounded memory."""

import os
from collections import OrderedDict
from pathlib import Path

import msgspec

MAX_BYTES = 16 * 1024 * 1024
MAX_FILES = 4096


class Seen(msgspec.Struct, frozen=True):
    """A file as it was last seen. The hash is this process's own: it tells a change, it is never stored."""

    size: int
    digest: int
    mtime_ns: int
    partial: bool


class FileStateStore:
    """`FileStates` of the port: hash and mtime of the last few thousand files, contents of the last few megabytes."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._held = 0
        self._max_bytes = max_bytes
        self._max_files = max_files

    def note(self, path: Path, data: bytes, mtime_ns: int, *, partial: bool = False) -> None:
        key = os.path.normpath(path)
        self._drop(key)
        self._seen[key] = Seen(len(data), hash(data), mtime_ns, partial)
        if len(data) <= self._max_bytes // 4:
            self._contents[key] = data
            self._held += len(data)
        while self._held > self._max_bytes:
            _, old = self._contents.popitem(last=False)
            self._held -= len(old)
        while len(self._seen) > self._max_files:
            self._drop(next(iter(self._seen)))

    def changed(self, path: Path, data: bytes) -> bool | None:
        seen = self._seen.get(os.path.normpath(path))
        return None if seen is None else (seen.size, seen.digest) != (len(data), hash(data))

    def before(self, path: Path) -> bytes | None:
        return self._contents.get(os.path.normpath(path))

    def seen(self, path: Path) -> Seen | None:
        return self._seen.get(os.path.normpath(path))

    def forget(self, path: Path) -> None:
        self._drop(os.path.normpath(path))

    def _drop(self, key: str) -> None:
        self._seen.pop(key, None)
        self._held -= len(self._contents.pop(key, b""))
