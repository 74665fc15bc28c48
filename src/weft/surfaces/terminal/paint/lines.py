"""Styled text to lines of a given width. Words stay whole where they fit; Chinese and Japanese may break anywhere."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

Span: TypeAlias = tuple[str, Style]
Line: TypeAlias = list[Segment]

# A word with the blanks after it, or one wide character: those may stand at the end of any line.
_WIDE = r"\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffe6"
_WORDS = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+[ ]*|[ ]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def clean(text: str) -> str:
    """Untrusted text without anything that a terminal or a reader's eye would obey: escapes, controls, overrides."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("", text).expandtabs(4) if _CONTROL.search(text) or "\t" in text else text


def width_of(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def wrap(
    spans: Iterable[Span], width: int, *, first: Sequence[Segment] = (), rest: Sequence[Segment] = ()
) -> list[Line]:
    """Lines of at most `width` cells. `first` stands before the first one, `rest` before the others."""
    builder = _Builder(max(width, 4), first, rest)
    for text, style in spans:
        for number, part in enumerate(text.split("\n")):
            if number:
                builder.end_line()
            for word in _WORDS.findall(part):
                builder.word(word, style)
    return builder.done()


class _Builder:
    def __init__(self, width: int, first: Sequence[Segment], rest: Sequence[Segment]) -> None:
        self._width = width
        self._rest = rest
        self._rest_width = sum(segment.cell_length for segment in rest)
        self.lines: list[Line] = []
        self._line: Line = list(first)
        self._used = sum(segment.cell_length for segment in first)
        self._empty = True
        self._text = ""
        self._style = Style.null()

    def word(self, word: str, style: Style) -> None:
        size = width_of(word)
        bare = size if word[-1] != " " else width_of(word.rstrip(" "))
        if self._used + bare > self._width:
            if not self._empty:
                self.end_line()
                word = word.lstrip(" ")
                size = width_of(word)
                if not word:
                    return
            while self._used + width_of(word.rstrip(" ")) > self._width:
                word = self._split(word, style)
                size = width_of(word)
        self._put(word, style, size)

    def _split(self, word: str, style: Style) -> str:
        """A word that is longer than a line fills it; what is left comes back."""
        room, taken = self._width - self._used, 0
        for at, letter in enumerate(word):
            taken += width_of(letter)
            if taken > room and at:
                self._put(word[:at], style, room)
                self.end_line()
                return word[at:]
        return word

    def _put(self, text: str, style: Style, size: int) -> None:
        if style is not self._style:
            self._flush()
            self._style = style
        self._text += text
        self._used += size
        self._empty = False

    def _flush(self) -> None:
        if self._text:
            self._line.append(Segment(self._text, self._style))
            self._text = ""

    def end_line(self) -> None:
        self._text = self._text.rstrip(" ")
        self._flush()
        self.lines.append(self._line)
        self._line, self._used, self._empty = list(self._rest), self._rest_width, True

    def done(self) -> list[Line]:
        if not self._empty or not self.lines:
            self.end_line()
        return self.lines


def fit(text: str, width: int) -> str:
    """One line, cut with an ellipsis where it is too long."""
    text = " ".join(text.split())
    if width_of(text) <= width:
        return text
    out, used = "", 0
    for letter in text:
        used += width_of(letter)
        if used > width - 1:
            break
        out += letter
    return out + "…" if width > 0 else ""
