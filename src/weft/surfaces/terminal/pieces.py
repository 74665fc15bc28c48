"""Markdown while it is being written, cut into pieces that are done and a tail that is not.

A piece that is done never changes, so it is painted once; only the tail is painted again. The cut is made at blank
lines outside of code, and inside of long code and long paragraphs at `LONG`, so the tail is bounded and the work is
linear in the length of the text.
"""

import re
from typing import Final

import msgspec

LONG: Final = 3_000
"""Characters after which an open piece is cut although it goes on."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)")
_LIST: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")


class Piece(msgspec.Struct, frozen=True):
    """`code` pieces hold bare lines of a fence in `language`; others hold Markdown. `joined` follows without a gap."""

    text: str
    code: bool = False
    language: str = ""
    joined: bool = False


class Pieces:
    """Feed it text. `done` only grows; `tail` is the rest as a piece, or None."""

    def __init__(self, text: str = "") -> None:
        self.done: list[Piece] = []
        self.size = 0
        self._line = ""
        self._open: list[str] = []
        self._open_size = 0
        self._fence = ""
        self._language = ""
        self._joined = False
        self._list = False
        if text:
            self.feed(text)
            self.end()

    def feed(self, text: str) -> None:
        self.size += len(text)
        lines = (self._line + text).split("\n")
        self._line = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._line) > LONG:
            cut = self._line.rfind(" ", LONG // 2) + 1 or len(self._line)
            self._take(self._line[:cut])
            self._finish(joined=True)
            self._line = self._line[cut:]

    def end(self) -> None:
        """No more will come: the tail is done as it is."""
        if self._line:
            self._take(self._line)
            self._line = ""
        self._finish()

    @property
    def tail(self) -> Piece | None:
        text = "\n".join([*self._open, self._line]) if self._line or not self._open else "\n".join(self._open)
        if self._fence:
            closing = self._line.strip().startswith(self._fence[0] * 3)
            return self._piece("\n".join(self._open) if closing else text)
        return self._piece(text) if text.strip() else None

    def text(self) -> str:
        """All of it again, as Markdown."""
        out: list[str] = []
        fenced = False
        for piece in [*self.done, *([self.tail] if self.tail else [])]:
            if fenced and not (piece.code and piece.joined):
                out.append("```")
                fenced = False
            if not piece.joined and out:
                out.append("")
            if piece.code and not fenced:
                out.append(f"```{piece.language}")
                fenced = True
            out.append(piece.text)
        return "\n".join([*out, "```"] if fenced else out)

    def _piece(self, text: str) -> Piece:
        return Piece(text, bool(self._fence), self._language, self._joined)

    def _take(self, line: str) -> None:
        if self._fence:
            self._take_code(line)
            return
        fence = _FENCE.match(line)
        if fence is not None:
            self._finish()
            self._fence, self._language = fence[1], fence[2]
            return
        if not line.strip():
            if not self._list:
                self._finish()
            elif self._open and self._open[-1].strip():
                self._push(line)
            return
        starts_list = _LIST.match(line) is not None
        if self._list and not starts_list and not line.startswith(" ") and self._open and not self._open[-1].strip():
            self._finish()
        if starts_list and self._list and self._open_size > LONG:
            self._finish(joined=True)
        self._list = self._list or (starts_list and not self._open) or (starts_list and self._list)
        self._push(line)
        if self._open_size > LONG and not self._list:
            self._finish(joined=True)

    def _take_code(self, line: str) -> None:
        marker = line.strip()
        if len(marker) >= len(self._fence) and set(marker) == {self._fence[0]}:
            self._finish(empty=True)
            self._fence = self._language = ""
            self._joined = False
            return
        self._push(line)
        if self._open_size > LONG:
            self._finish(joined=True)

    def _push(self, line: str) -> None:
        self._open.append(line)
        self._open_size += len(line) + 1

    def _finish(self, *, joined: bool = False, empty: bool = False) -> None:
        text = "\n".join(self._open)
        if text.strip() or (empty and not self._joined):
            self.done.append(self._piece(text if self._fence else text.strip("\n")))
            self._joined = joined
        elif not joined:
            self._joined = False
        self._open = []
        self._open_size = 0
        self._list = self._list and joined
