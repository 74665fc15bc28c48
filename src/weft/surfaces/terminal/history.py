"""What was typed before, here and in other folders: kept as lines of JSON, newest last, searched from the end."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

MOST = 2_000
"""Entries that are read; the file is cut to them when it has twice as many."""
LONGEST = 20_000


class Typed(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    cwd: str = ""


class History:
    """`older` and `newer` walk; a draft is kept while one does. `load` is for a thread: it reads the file."""

    def __init__(self, path: Path | None, cwd: str) -> None:
        self._path = path
        self._cwd = cwd
        self._texts: list[str] = []
        self._at: int | None = None
        self._draft = ""

    def load(self) -> None:
        """Reads what is there. Entries of this folder come last, so that they are found first."""
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().split(b"\n")
        except OSError:
            return
        found = list(_decode(lines[-MOST:]))
        here = [entry.text for entry in found if entry.cwd == self._cwd]
        others = [entry.text for entry in found if entry.cwd != self._cwd]
        self._texts = _unique([*others, *here, *self._texts])
        if len(lines) > 2 * MOST:
            self._write(b"\n".join(lines[-MOST:]), os.O_TRUNC)

    def add(self, text: str) -> None:
        self._at = None
        text = text[:LONGEST]
        if not text.strip():
            return
        self._texts = [*(each for each in self._texts if each != text), text]
        self._write(msgspec.json.encode(Typed(text, self._cwd)) + b"\n", os.O_APPEND)

    def older(self, draft: str) -> str | None:
        if self._at is None:
            self._draft, at = draft, len(self._texts)
        else:
            at = self._at
        if at == 0:
            return None
        self._at = at - 1
        return self._texts[self._at]

    def newer(self) -> str | None:
        if self._at is None:
            return None
        if self._at + 1 < len(self._texts):
            self._at += 1
            return self._texts[self._at]
        self._at = None
        return self._draft

    @property
    def walking(self) -> bool:
        return self._at is not None

    def stop(self) -> None:
        self._at = None

    def search(self, words: str, limit: int = 50) -> list[str]:
        """Newest first; every word must be in it."""
        wanted = words.casefold().split()
        found = (text for text in reversed(self._texts) if all(word in text.casefold() for word in wanted))
        return [text for text, _ in zip(found, range(limit), strict=False)]

    def shell(self) -> list[str]:
        """Commands that were run with `!`, newest first."""
        return [text[1:].strip() for text in reversed(self._texts) if text.startswith("!") and "\n" not in text]

    def _write(self, data: bytes, how: int) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
        except OSError:
            return


def _decode(lines: Iterable[bytes]) -> Iterable[Typed]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Typed)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue


def _unique(texts: list[str]) -> list[str]:
    """The last of each."""
    return list(reversed(dict.fromkeys(reversed(texts))))
