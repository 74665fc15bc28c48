"""A file cut into pieces for the index: one for each definition, and the lines between them."""

import itertools
import os
from typing import Final

import msgspec

from weft.extend.editor_tools.index.grammars import Symbol, symbols

MAX_SIZE: Final = 1_000_000
LONGEST: Final = 80
"""Lines of a piece; a longer definition is cut."""
MERGED: Final = 12
"""Pieces below this many lines join the one before them."""


class Chunk(msgspec.Struct, frozen=True):
    """Lines `start` to `end` of a file, counted from 1, and the names that are defined in them."""

    start: int
    end: int
    names: str


class Cut(msgspec.Struct, frozen=True):
    lines: list[str]
    chunks: list[Chunk]
    symbols: list[Symbol]

    def text(self, chunk: Chunk) -> str:
        return "\n".join(self.lines[chunk.start - 1 : chunk.end])


def cut(data: bytes, path: str) -> Cut | None:
    """None for what is no source: binary files, very long ones, and those that a machine wrote on few lines."""
    if len(data) > MAX_SIZE or b"\0" in data[:8192]:
        return None
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if len(text) > 20_000 and len(text) / len(lines) > 400:
        return None
    found = symbols(data, os.path.splitext(path)[1].lower())
    return Cut(lines, _chunks(len(lines), found), found)


def _chunks(count: int, found: list[Symbol]) -> list[Chunk]:
    """Every line is in exactly one piece."""
    names: dict[int, list[str]] = {}
    for symbol in found:
        label = f"{symbol.container} {symbol.name}" if symbol.container else symbol.name
        names.setdefault(symbol.line, []).append(label)
    edges = sorted({1, count + 1, *names, *(symbol.end + 1 for symbol in found if symbol.end < count)})
    pieces: list[Chunk] = []
    for start, after in itertools.pairwise(edges):
        label = " ".join(names.get(start, ()))
        small = after - start < MERGED and pieces and pieces[-1].end - pieces[-1].start < MERGED * 2
        if small:
            last = pieces[-1]
            pieces[-1] = Chunk(last.start, after - 1, f"{last.names} {label}".strip())
            continue
        for first in range(start, after, LONGEST):
            pieces.append(Chunk(first, min(first + LONGEST, after) - 1, label))
    return pieces
