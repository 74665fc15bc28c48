"""A piece of Markdown to lines. The source is untrusted: it has been cleaned of controls, and HTML in it is text."""

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from weft.surfaces.terminal.paint.code import colour
from weft.surfaces.terminal.paint.lines import Line, Span, width_of, wrap
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.pieces import Piece


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("js-default", {"html": False, "linkify": False})


def paint_piece(piece: Piece, width: int, palette: Palette) -> list[Line]:
    if piece.code:
        return paint_code(piece.text, piece.language, width, palette)
    return _Painter(width, palette).blocks(_parser().parse(piece.text))


def paint_code(code: str, language: str, width: int, palette: Palette) -> list[Line]:
    """Code behind a thin bar; long lines wrap, so that nothing is hidden."""
    bar = [Segment("│ ", palette.dim)]
    out: list[Line] = []
    for spans in colour(code.rstrip("\n"), language, palette):
        out += wrap_code(spans, width, bar)
    return out


def wrap_code(spans: Sequence[Span], width: int, before: Sequence[Segment]) -> list[Line]:
    """Cuts at the width, not at words: code keeps its columns."""
    room = max(2, width - sum(segment.cell_length for segment in before))
    lines: list[Line] = [list(before)]
    used = 0
    for text, style in spans:
        start, size = 0, 0
        for at, letter in enumerate(text):
            cells = 1 if letter.isascii() else width_of(letter)
            if used + size + cells > room:
                lines[-1].append(Segment(text[start:at], style))
                lines.append(list(before))
                start, used, size = at, 0, 0
            size += cells
        lines[-1].append(Segment(text[start:], style))
        used += size
    return lines


class _Painter:
    def __init__(self, width: int, palette: Palette) -> None:
        self._width = width
        self._palette = palette

    def blocks(self, tokens: Sequence[Token], indent: Sequence[Segment] = (), *, tight: bool = False) -> list[Line]:
        out: list[Line] = []
        at = 0
        while at < len(tokens):
            end = _end(tokens, at)
            lines = self._block(tokens[at : end + 1], indent)
            if out and lines and not tight:
                out.append(list(indent))
            out += lines
            at = end + 1
        return out

    def _block(self, tokens: Sequence[Token], indent: Sequence[Segment]) -> list[Line]:
        head, palette = tokens[0], self._palette
        match head.type:
            case "heading_open":
                return self._words(tokens[1], indent, palette.heading)
            case "paragraph_open":
                return self._words(tokens[1], indent, palette.text)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(tokens, indent)
            case "blockquote_open":
                return self.blocks(tokens[1:-1], [*indent, Segment("│ ", palette.dim)])
            case "fence" | "code_block":
                room = self._width - sum(segment.cell_length for segment in indent)
                language = (head.info or "").split(" ")[0]
                return [[*indent, *line] for line in paint_code(head.content, language, room, palette)]
            case "hr":
                return [[*indent, Segment("─" * min(40, self._width - 2), palette.dim)]]
            case "table_open":
                return self._table(tokens, indent)
            case "inline":
                return self._words(head, indent, palette.text)
            case _:
                return wrap([(head.content, palette.text)], self._width, first=indent, rest=indent)

    def _words(self, token: Token, indent: Sequence[Segment], style: Style) -> list[Line]:
        return wrap(self.inline(token.children or [], style), self._width, first=indent, rest=indent)

    def _list(self, tokens: Sequence[Token], indent: Sequence[Segment]) -> list[Line]:
        number = int(tokens[0].attrs.get("start", 1)) if tokens[0].type == "ordered_list_open" else 0
        out: list[Line] = []
        at = 1
        loose = any(token.type == "paragraph_open" and not token.hidden for token in tokens)
        while at < len(tokens) - 1:
            end = _end(tokens, at)
            mark = f"{number}. " if number else "• "
            lines = self.blocks(tokens[at + 1 : end], [*indent, Segment(" " * len(mark))], tight=not loose)
            if lines:
                lines[0] = [*indent, Segment(mark, self._palette.dim), *lines[0][len(indent) + 1 :]]
                out += lines
            number += 1 if number else 0
            at = end + 1
        return out

    def inline(self, tokens: Sequence[Token], base: Style) -> list[Span]:
        palette, out = self._palette, list[Span]()
        styles, target = [base], ""
        for token in tokens:
            match token.type:
                case "text":
                    out.append((token.content, styles[-1]))
                case "code_inline":
                    out.append((token.content, palette.code))
                case "softbreak":
                    out.append((" ", styles[-1]))
                case "hardbreak":
                    out.append(("\n", styles[-1]))
                case "strong_open":
                    styles.append(styles[-1] + Style(bold=True))
                case "em_open":
                    styles.append(styles[-1] + Style(italic=True))
                case "s_open":
                    styles.append(styles[-1] + Style(strike=True))
                case "link_open":
                    target = str(token.attrs.get("href", ""))
                    styles.append(palette.link)
                case "link_close":
                    styles.pop()
                    if target and (not out or target.removeprefix("mailto:") != out[-1][0]):
                        out.append((f" ({target})", palette.dim))
                case "strong_close" | "em_close" | "s_close":
                    styles.pop()
                case "image":
                    out.append((f"[{token.content or 'image'}]({token.attrs.get('src', '')})", palette.dim))
                case _:
                    out.append((token.content, styles[-1]))
        return out

    def _table(self, tokens: Sequence[Token], indent: Sequence[Segment]) -> list[Line]:
        rows: list[list[list[Span]]] = []
        header = 0
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "thead_close":
                header = len(rows)
            elif token.type == "inline":
                style = self._palette.strong if not header else self._palette.text
                rows[-1].append(self.inline(token.children or [], style))
        room = self._width - sum(segment.cell_length for segment in indent)
        widths = _columns(rows, room)
        out: list[Line] = []
        for number, row in enumerate(rows):
            cells = [wrap(cell, size) for cell, size in zip(row, widths, strict=False)]
            for parts in zip_longest(*cells, fillvalue=[]):
                line: Line = list(indent)
                for part, size in zip(parts, widths, strict=False):
                    used = sum(segment.cell_length for segment in part)
                    line += [*part, Segment(" " * max(0, size - used) + "  ")]
                out.append(line)
            if number + 1 == header:
                out.append([*indent, Segment("  ".join("─" * size for size in widths), self._palette.dim)])
        return out


def _columns(rows: Sequence[Sequence[Sequence[Span]]], room: int) -> list[int]:
    """As wide as what stands in them, as long as all fit; else the widest give way."""
    count = max((len(row) for row in rows), default=0)
    widths = [
        max((sum(width_of(text) for text, _ in row[at]) for row in rows if at < len(row)), default=1) or 1
        for at in range(count)
    ]
    while sum(widths) + 2 * count > room and max(widths, default=0) > 6:
        widths[widths.index(max(widths))] -= 1
    return widths


def _end(tokens: Sequence[Token], at: int) -> int:
    """The place of the token that closes the one at `at`."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += tokens[place].nesting
        if depth <= 0:
            return place
    return len(tokens) - 1
