"""An entry to lines. A reply that grows is painted piece by piece: what is done is never painted again."""

from rich.segment import Segment

from weft.surfaces.terminal.entries import Entry, NoticeEntry, PromptEntry, ReplyEntry, ThinkingEntry, ToolEntry
from weft.surfaces.terminal.paint.lines import Line, clean, fit, wrap
from weft.surfaces.terminal.paint.markdown import paint_piece
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.paint.tools import paint_tool
from weft.surfaces.terminal.pieces import Piece
from weft.surfaces.terminal.words import t

TEXT_WIDTH = 110
"""Prose is not wider than this, also on a wide screen: the eye loses longer lines."""
FOLDED_PROMPT = 12


class Painted:
    """The lines of one entry at one width. `refresh` paints what changed and says whether anything did.

    A blank line stands before each entry, but not between the rows of tools that follow each other.
    """

    def __init__(self, entry: Entry, after: Entry | None = None) -> None:
        self.entry = entry
        self._close = isinstance(entry, ToolEntry) and isinstance(after, ToolEntry)
        self.lines: list[Line] = []
        self.stable = 0
        """Lines at the start that no refresh will change."""
        self.kept = 0
        """Lines at the start that the last refresh did not change."""
        self._key: tuple[int, str, int, bool] | None = None
        self._pieces = 0

    def refresh(self, width: int, palette: Palette, cwd: str) -> bool:
        entry = self.entry
        key = (width, palette.tone, entry.version, entry.open)
        if key == self._key:
            return False
        same_look = self._key is not None and self._key[:2] == key[:2]
        self._key = key
        self.kept = 0
        if isinstance(entry, ReplyEntry):
            self._reply(entry, width, palette, again=not same_look)
        else:
            lines = paint(entry, width, palette, cwd)
            self.lines = lines if self._close else [[], *lines]
        return True

    def _reply(self, entry: ReplyEntry, width: int, palette: Palette, *, again: bool) -> None:
        room = min(width, TEXT_WIDTH)
        if again or self._pieces > len(entry.pieces.done):
            self.lines, self.stable, self._pieces = [], 0, 0
        del self.lines[self.stable :]
        self.kept = self.stable
        for piece in entry.pieces.done[self._pieces :]:
            self._add(piece, room, width, palette)
        self._pieces, self.stable = len(entry.pieces.done), len(self.lines)
        tail = None if entry.done else entry.pieces.tail
        if tail is not None:
            self._add(tail, room, width, palette)

    def _add(self, piece: Piece, room: int, width: int, palette: Palette) -> None:
        if not piece.joined or not self.lines:
            self.lines.append([])
        cleaned = Piece(clean(piece.text), piece.code, piece.language, piece.joined)
        self.lines += paint_piece(cleaned, width if piece.code else room, palette)


def paint(entry: Entry, width: int, palette: Palette, cwd: str) -> list[Line]:
    match entry:
        case PromptEntry():
            return _prompt(entry, width, palette)
        case ThinkingEntry():
            return _thinking(entry, min(width, TEXT_WIDTH), palette)
        case ToolEntry():
            return paint_tool(entry, width, palette, cwd, lambda room: _children(entry, room, palette, cwd))
        case NoticeEntry():
            return _notice(entry, width, palette)
        case ReplyEntry():
            painted = Painted(entry)
            painted.refresh(width, palette, cwd)
            return painted.lines[1:]


def _prompt(entry: PromptEntry, width: int, palette: Palette) -> list[Line]:
    sign = "! " if entry.shell is not None else "> "
    text = clean(entry.text)
    lines = wrap(
        [(text, palette.prompt)],
        width - 1,
        first=[Segment(sign, palette.prompt + palette.accent)],
        rest=[Segment("  ", palette.prompt)],
    )
    if len(lines) > FOLDED_PROMPT and not entry.open:
        more = len(lines) - FOLDED_PROMPT
        lines = [*lines[:FOLDED_PROMPT], [Segment("  " + t("… {n} more lines", n=more), palette.prompt + palette.dim)]]
    if entry.attached:
        lines.append([Segment("  + " + clean(", ".join(entry.attached)), palette.prompt + palette.dim)])
    out = [_filled(line, width, palette) for line in lines]
    if entry.shell:
        shown = clean(entry.shell).split("\n")
        kept = shown if entry.open else shown[:FOLDED_PROMPT]
        out += [
            [Segment("  │ ", palette.dim), Segment(fit(line, width - 4) if not entry.open else line, palette.text)]
            for line in kept
        ]
        if len(kept) < len(shown):
            out.append([Segment("  │ " + t("… {n} more lines", n=len(shown) - len(kept)), palette.dim)])
    return out


def _filled(line: Line, width: int, palette: Palette) -> Line:
    used = sum(segment.cell_length for segment in line)
    return [*line, Segment(" " * max(0, width - used), palette.prompt)]


def _thinking(entry: ThinkingEntry, width: int, palette: Palette) -> list[Line]:
    if not entry.done:
        label = t("Thinking …")
    elif entry.seconds is None:
        label = t("Thoughts")
    else:
        label = t("Thought for {n} s", n=f"{entry.seconds:.0f}" if entry.seconds >= 1 else "<1")
    out: list[Line] = [[Segment(f"{'▾' if entry.open else '▸'} {label}", palette.quote)]]
    if entry.open:
        before = [Segment("  ")]
        out += wrap([(clean(entry.text), palette.quote)], width, first=before, rest=before)
    elif not entry.done:
        last = clean(entry.text[-400:]).strip().split("\n")[-1]
        out.append([Segment("  " + fit(last, width - 2), palette.quote)])
    return out


def _notice(entry: NoticeEntry, width: int, palette: Palette) -> list[Line]:
    style = {"error": palette.error, "warning": palette.warning}.get(entry.level, palette.dim)
    text = clean(t(entry.text))
    if entry.block:
        before = [Segment("  ")]
        return [
            line for part in text.split("\n") for line in wrap([(part, palette.text)], width, first=before, rest=before)
        ]
    sign = {"error": "✗ ", "warning": "! "}.get(entry.level, "· ")
    return wrap([(text, style)], min(width, TEXT_WIDTH), first=[Segment(sign, style)], rest=[Segment("  ")])


def _children(entry: ToolEntry, width: int, palette: Palette, cwd: str) -> list[Line]:
    out: list[Line] = []
    for child in entry.children:
        if isinstance(child, ThinkingEntry):
            continue
        if isinstance(child, ReplyEntry) and not entry.open:
            text = child.pieces.tail or (child.pieces.done[-1] if child.pieces.done else None)
            if text is not None:
                out.append([Segment(fit(clean(text.text), width), palette.dim)])
            continue
        out += paint(child, width, palette, cwd)
    return out
