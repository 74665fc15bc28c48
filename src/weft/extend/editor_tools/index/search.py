"""Asking the index: BM25 over pieces, put together by file."""

import sqlite3
from functools import lru_cache
from operator import mul
from typing import Final

import msgspec

from weft.extend.editor_tools.index.store import COMMON
from weft.extend.editor_tools.index.words import names, question

CANDIDATES: Final = 120
SCORED: Final = 6_000
"""Pieces that one search may score."""
READ: Final = 20_000
"""Pieces that may have a word of a name, for the name to be looked for as a whole."""
WEIGHTS: Final = (3.0, 6.0, 1.0)
"""What a word counts in the path, among the names that are defined, and in the body."""
SHARES: Final = (1.0, 0.1, 0.05)
"""What the best pieces of a file add to its score, the best one first."""


class Hit(msgspec.Struct, frozen=True):
    """A file, its best piece, and how well it fits (higher is better)."""

    path: str
    start: int
    end: int
    score: float


class SymbolHit(msgspec.Struct, frozen=True):
    name: str
    kind: str
    path: str
    line: int
    container: str = ""


def search(db: sqlite3.Connection, text: str, *, limit: int = 10, under: str = "") -> list[Hit]:
    """The files that answer best, the best first, each with its best piece."""
    words = question(text)
    if not words:
        return []
    found = _ranked(db, words, names(text))
    places = _places(db, [row for row, _ in found])
    best: dict[str, Hit] = {}
    scores: dict[str, list[float]] = {}
    for row, rank in found:
        place = places.get(row)
        if place is None or (under and not place[0].startswith(under)):
            continue
        path, start, end = place
        best.setdefault(path, Hit(path, start, end, -rank))
        scores.setdefault(path, []).append(-rank)
    hits = [msgspec.structs.replace(hit, score=sum(map(mul, SHARES, scores[path]))) for path, hit in best.items()]
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _ranked(db: sqlite3.Connection, words: list[str], names: list[list[str]]) -> list[tuple[int, float]]:
    """Pieces and their BM25 (lower is better), the best first.

    Scoring costs time for each piece that has one of the words, so the rarest words are taken as long as their pieces
    are within `SCORED`: the common ones would hardly change the order. Where even the rarest is too common, pieces
    must have several of them. A name of several words counts once more where it stands as a whole.
    """
    counts = _counts(db, list(dict.fromkeys([*words, *(word for name in names for word in name)])))
    counted = sorted(((word, counts[word]) for word in words), key=lambda one: one[1])
    chosen: list[str] = []
    total = 0
    for word, count in counted:
        if chosen and total + count > SCORED:
            break
        chosen.append(word)
        total += count
    whole = [" ".join(name) for name in names if sum(counts[word] for word in name) <= READ]
    joint = " OR "
    if total > SCORED and len(counted) > 1 and not whole:
        joint = " AND "
        chosen = [word for word, _ in counted[:3]]
    elif total > SCORED and whole:
        chosen = []
    weights = ", ".join(map(str, WEIGHTS))
    sql = f"SELECT rowid, bm25(text, {weights}) AS rank FROM text WHERE text MATCH ? ORDER BY rank LIMIT ?"
    terms = [*chosen, *whole]
    while True:
        match = joint.join(f'"{term}"' for term in terms)
        found: list[tuple[int, float]] = db.execute(sql, (match, CANDIDATES)).fetchall()
        if found or joint == " OR " or len(terms) == 1:
            return found
        terms = terms[:-1]


def _counts(db: sqlite3.Connection, words: list[str]) -> dict[str, int]:
    """In about how many pieces each word is."""
    stems = _stems(tuple(words))
    marks = ",".join("?" * len(stems))
    rows: list[tuple[str, int]] = db.execute(
        f"SELECT term, count FROM common WHERE term IN ({marks})", tuple(stems.values())
    ).fetchall()
    known = dict(rows)
    return {word: known.get(stems[word], COMMON // 2) for word in words}


@lru_cache(maxsize=64)
def _stems(words: tuple[str, ...]) -> dict[str, str]:
    """As the index has them: the same tokenizer is asked."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(w, tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    db.executemany("INSERT INTO t(rowid, w) VALUES(?, ?)", enumerate(words))
    rows: list[tuple[str, int]] = db.execute("SELECT term, doc FROM v").fetchall()
    db.close()
    found = {words[doc]: term for term, doc in rows}
    return {word: found.get(word, word) for word in words}


def _places(db: sqlite3.Connection, ids: list[int]) -> dict[int, tuple[str, int, int]]:
    marks = ",".join("?" * len(ids))
    rows: list[tuple[int, str, int, int]] = db.execute(
        f"SELECT chunks.id, path, start, last FROM chunks JOIN files ON files.id = file WHERE chunks.id IN ({marks})",
        ids,
    ).fetchall()
    return {id: (path, start, last) for id, path, start, last in rows}


def find_symbols(db: sqlite3.Connection, query: str, *, limit: int = 50) -> list[SymbolHit]:
    """Definitions by name: the name itself, then names that begin with the query, have it inside, have its letters in
    order."""
    wanted = query.strip().rsplit(".", 1)[-1]
    if not wanted:
        return []
    escaped = wanted.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    loose = "%".join(letter.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for letter in wanted)
    rows: list[tuple[str, str, str, int, str]] = db.execute(
        """SELECT name, kind, path, line, container FROM symbols JOIN files ON files.id = file
           WHERE name LIKE ?1 ESCAPE '\\'
           ORDER BY name <> ?2 COLLATE BINARY, name <> ?2, name NOT LIKE ?3 ESCAPE '\\', name NOT LIKE ?4 ESCAPE '\\',
                    length(name), path, line LIMIT ?5""",
        (f"%{loose}%", wanted, f"{escaped}%", f"%{escaped}%", limit),
    ).fetchall()
    container = query.strip().rpartition(".")[0].rsplit(".", 1)[-1]
    hits = [SymbolHit(*row) for row in rows]
    return sorted(hits, key=lambda hit: bool(container) and hit.container.lower() != container.lower())


def definitions(db: sqlite3.Connection, name: str) -> list[SymbolHit]:
    """Where exactly this name is defined."""
    rows: list[tuple[str, str, str, int, str]] = db.execute(
        "SELECT name, kind, path, line, container FROM symbols JOIN files ON files.id = file "
        "WHERE name = ? AND name = ? COLLATE BINARY ORDER BY path, line LIMIT 200",
        (name, name),
    ).fetchall()
    return [SymbolHit(*row) for row in rows]
