"""A file before and after: inline, or side by side where there is room."""

from collections.abc import Collection, Sequence
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style

from weft.schema.display import DiffView
from weft.surfaces.diffs import Hunk, Row, to_hunks
from weft.surfaces.terminal.paint.lines import Line, clean, width_of
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.words import t

SIDE_BY_SIDE = 130
"""Columns from which two columns of code are readable."""


def counts(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """Lines added and removed."""
    rows = [row.kind for hunk in hunks for row in hunk.rows]
    return rows.count("new"), rows.count("old")


def paint_diff(
    view: DiffView,
    width: int,
    palette: Palette,
    *,
    most: int | None = None,
    refused: Collection[int] = (),
    at: int | None = None,
) -> list[Line]:
    """Hunks with their line numbers. `refused` ones are faint; `at` is the one that the person stands on."""
    hunks = to_hunks(view)
    paint = _side_by_side if width >= SIDE_BY_SIDE else _inline
    out: list[Line] = []
    for number, hunk in enumerate(hunks):
        if at is not None:
            mark = t("rejected") if number in refused else t("accepted")
            here = "▶ " if number == at else "  "
            style = palette.accent if number == at else palette.dim
            out.append([Segment(f"{here}{t('Change {n} of {all}', n=number + 1, all=len(hunks))}: {mark}", style)])
        elif number:
            out.append([Segment("  ⋯", palette.dim)])
        out += paint(hunk, width, palette, faint=number in refused)
    if most is not None and len(out) > most:
        left = len(out) - most
        return [*out[:most], [Segment("  " + t("… {n} more lines", n=left), palette.dim)]]
    return out


def _inline(hunk: Hunk, width: int, palette: Palette, *, faint: bool) -> list[Line]:
    digits = max(3, *(len(str(row.new or row.old or 0)) for row in hunk.rows))
    return [_row(row, row.new or row.old, digits, width, palette, faint=faint) for row in hunk.rows]


def _row(row: Row, number: int | None, digits: int, width: int, palette: Palette, *, faint: bool) -> Line:
    sign, sign_style, style = _look(row, palette, faint=faint)
    gutter = f"{number or '':>{digits}} "
    room = max(4, width - len(gutter) - 2)
    text = _cut(clean(row.text.rstrip("\n")), room)
    pad = " " * (room - width_of(text)) if row.kind != "same" and not faint and style.bgcolor else ""
    on = Style(bgcolor=style.bgcolor) if style.bgcolor and not faint else Style.null()
    return [Segment(gutter, palette.dim + on), Segment(f"{sign} ", sign_style + on), Segment(text + pad, style)]


def _look(row: Row, palette: Palette, *, faint: bool) -> tuple[str, Style, Style]:
    if row.kind == "same":
        return " ", palette.dim, palette.dim
    sign = "+" if row.kind == "new" else "-"
    if faint:
        return sign, palette.dim, palette.dim
    if row.kind == "new":
        return sign, palette.added, palette.added_line
    return sign, palette.removed, palette.removed_line


def _side_by_side(hunk: Hunk, width: int, palette: Palette, *, faint: bool) -> list[Line]:
    half = (width - 3) // 2
    digits = max(3, *(len(str(row.new or row.old or 0)) for row in hunk.rows))
    out: list[Line] = []
    for left, right in _pairs(hunk.rows):
        one = _row(left, left.old, digits, half, palette, faint=faint) if left else []
        two = _row(right, right.new, digits, half, palette, faint=faint) if right else []
        gap = half - sum(segment.cell_length for segment in one)
        out.append([*one, Segment(" " * max(0, gap)), Segment(" │ ", palette.dim), *two])
    return out


def _pairs(rows: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """What was removed stands beside what was added in its place."""
    out: list[tuple[Row | None, Row | None]] = []
    old: list[Row] = []
    new: list[Row] = []
    for row in [*rows, None]:
        if row is not None and row.kind == "old" and not new:
            old.append(row)
            continue
        if row is not None and row.kind == "new":
            new.append(row)
            continue
        out += zip_longest(old, new)
        old, new = [], []
        if row is not None and row.kind == "old":
            old.append(row)
        elif row is not None:
            out.append((row, row))
    return out


def _cut(text: str, width: int) -> str:
    """Cut without touching the indent."""
    if width_of(text) <= width:
        return text
    out, used = "", 0
    for letter in text:
        used += width_of(letter)
        if used > width - 1:
            break
        out += letter
    return out + "…"
