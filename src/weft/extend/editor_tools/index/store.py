"""The index on disk: one SQLite file for a tree. One process writes, many read."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from weft.extend.editor_tools.index.chunks import Cut
from weft.extend.editor_tools.index.words import apart

FORMAT: Final = "4"
COMMON: Final = 200
"""A word in so many pieces is common: how many it is in is written down, for searches to plan with."""
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS files(id INTEGER PRIMARY KEY, path TEXT UNIQUE, mtime INTEGER, size INTEGER);
CREATE TABLE IF NOT EXISTS chunks(id INTEGER PRIMARY KEY, file INTEGER, start INTEGER, last INTEGER);
CREATE INDEX IF NOT EXISTS chunks_file ON chunks(file);
CREATE TABLE IF NOT EXISTS symbols(name TEXT COLLATE NOCASE, kind TEXT, file INTEGER, line INTEGER, container TEXT);
CREATE INDEX IF NOT EXISTS symbols_name ON symbols(name);
CREATE INDEX IF NOT EXISTS symbols_file ON symbols(file);
CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(path, name, body, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS vocab USING fts5vocab(text, 'row');
CREATE TABLE IF NOT EXISTS common(term TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
"""


class Store:
    """Pieces that were taken out stay in the full-text table, where nothing leads to them any more; when they are a
    third of it, `stale` says that the index should be built anew."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._db = _open_writable(path)

    def close(self) -> None:
        self._db.commit()
        self._db.close()

    def commit(self) -> None:
        self._db.commit()

    def stamps(self) -> dict[str, tuple[int, int]]:
        rows: Iterable[tuple[str, int, int]] = self._db.execute("SELECT path, mtime, size FROM files")
        return {path: (mtime, size) for path, mtime, size in rows}

    def set(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def remove(self, path: str) -> None:
        row = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if row is not None:
            self._db.execute("DELETE FROM files WHERE id = ?", row)
            self._db.execute("DELETE FROM chunks WHERE file = ?", row)
            self._db.execute("DELETE FROM symbols WHERE file = ?", row)

    def put(self, path: str, stamp: tuple[int, int], cut: Cut | None) -> None:
        """A file as it is now. Of one that is no source the stamp is kept, so that it is not looked at again."""
        self.remove(path)
        file = self._db.execute("INSERT INTO files(path, mtime, size) VALUES(?, ?, ?)", (path, *stamp)).lastrowid
        if cut is None:
            return
        words = apart(path)
        for chunk in cut.chunks:
            row = self._db.execute(
                "INSERT INTO chunks(file, start, last) VALUES(?, ?, ?)", (file, chunk.start, chunk.end)
            ).lastrowid
            self._db.execute(
                "INSERT INTO text(rowid, path, name, body) VALUES(?, ?, ?, ?)",
                (row, words, apart(chunk.names), apart(cut.text(chunk))),
            )
        self._db.executemany(
            "INSERT INTO symbols VALUES(?, ?, ?, ?, ?)",
            [(one.name, one.kind, file, one.line, one.container) for one in cut.symbols],
        )

    @property
    def stale(self) -> bool:
        (alive,) = self._db.execute("SELECT count(*) FROM chunks").fetchone()
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()
        return last > 3_000 and alive < last * 2 // 3

    def finish(self) -> None:
        """After a build: postings are brought together, so that a search reads few pages."""
        self._db.execute("INSERT INTO text(text) VALUES('optimize')")
        self._db.execute("DELETE FROM common")
        self._db.execute("INSERT INTO common SELECT term, doc FROM vocab WHERE doc >= ?", (COMMON,))
        self.set("ready", "1")
        self._db.commit()


def discard(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _open_writable(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10)
    try:
        known = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except sqlite3.DatabaseError:
        known = None
    if known != (FORMAT,):
        db.close()
        discard(path)
        db = sqlite3.connect(path, timeout=10)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -65536")
    db.executescript(_SCHEMA)
    db.execute("INSERT OR REPLACE INTO meta VALUES('format', ?)", (FORMAT,))
    db.commit()
    return db


def open_readable(path: Path) -> sqlite3.Connection | None:
    """None while there is no index of this format."""
    if not path.is_file():
        return None
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5, check_same_thread=False)
    try:
        known = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except sqlite3.DatabaseError:
        known = None
    if known != (FORMAT,):
        db.close()
        return None
    db.execute("PRAGMA cache_size = -65536")
    db.execute("PRAGMA mmap_size = 1073741824")
    return db
