"""A list to choose from, with a line to search it and, where there is one, a look at what is chosen."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from weft.surfaces.files import score
from weft.surfaces.terminal.paint.lines import Line, clean, fit, width_of
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.words import t


class Row(msgspec.Struct, frozen=True):
    """`also` is searched but not shown. A row without an id is a heading or a note and cannot be chosen."""

    id: str
    label: str
    detail: str = ""
    also: str = ""
    current: bool = False


class Picked(msgspec.Struct, frozen=True):
    """`key` is `enter`, or the extra key that was pressed on the row."""

    id: str
    key: str = "enter"


Preview: TypeAlias = Callable[[str, int, int], list[Line]]
"""Row, width and height to lines."""
Search: TypeAlias = Callable[[str], Awaitable[Sequence[Row]]]


class _List(Widget):
    DEFAULT_CSS = "_List { height: 1fr; }"

    def __init__(self, look: Palette) -> None:
        super().__init__()
        self.look = look
        self.rows: Sequence[Row] = ()
        self.at = 0
        self.empty = ""
        self._measured: tuple[Sequence[Row], int] | None = None

    def _column(self, width: int) -> int:
        """Where details begin: behind all labels of the list, as far as half of the width allows."""
        if self._measured is None or self._measured[0] is not self.rows:
            self._measured = (self.rows, max((width_of(row.label) for row in self.rows if row.detail), default=0))
        return min(max(min(width // 3, 28), self._measured[1] + 4), width // 2)

    def render_line(self, y: int) -> Strip:
        width, base, look = self.size.width, self.rich_style, self.look
        if not self.rows:
            text = self.empty if y == 0 else ""
            return Strip([Segment(f" {text}", look.dim)]).apply_style(base).crop_extend(0, width, base)
        top = max(0, min(self.at - self.size.height // 2, len(self.rows) - self.size.height))
        place = top + y
        if place >= len(self.rows):
            return Strip.blank(width, base)
        row, here = self.rows[place], place == self.at
        label = fit(clean(row.label), max(12, width * 3 // 5 if row.detail else width - 5))
        style = look.accent if here else look.text if row.id else look.dim
        gap = max(2, self._column(width) - width_of(label))
        detail = fit(clean(row.detail), max(0, width - width_of(label) - gap - 5))
        line = [
            Segment(" ▸ " if here else " ● " if row.current else "   ", style),
            Segment(label, style),
            Segment(" " * gap + detail, look.dim),
        ]
        back = look.selected if here and look.tone != "none" else Style.null()
        return Strip(line).apply_style(base + back).crop_extend(0, width, base + back)


class _Preview(Widget):
    DEFAULT_CSS = "_Preview { height: 50%; border-top: solid $panel; display: none; } _Preview.open { display: block; }"

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[Line] = ()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        line = self.lines[y] if y < len(self.lines) else []
        return Strip([Segment(" "), *line]).apply_style(base).crop_extend(0, self.size.width, base)


class Picker(ModalScreen[Picked | None]):
    """Gives the chosen row, or None. `search` is asked as the person types, where filtering the rows is not enough."""

    CSS = """
    Picker { align: center middle; background: $background 60%; }
    Picker > Vertical { width: 90%; max-width: 120; height: 80%; background: $surface; border: round $primary; }
    Picker Input { height: 1; border: none; padding: 0 1; background: $panel; }
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        look: Palette,
        *,
        preview: Preview | None = None,
        search: Search | None = None,
        keys: Mapping[str, str] | None = None,
        empty: str = "",
        query: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._all = rows
        self._look = look
        self._preview = preview
        self._search = search
        self._keys = dict(keys or {})
        self._empty = empty
        self._query = query
        self._asked = 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            keys = [f"{key} {t(label)}" for key, label in self._keys.items()]
            box.border_subtitle = "  ".join([t("enter choose"), *keys, t("esc back")])
            yield Input(self._query, placeholder=t("type to search"), compact=True)
            yield _List(self._look)
            yield _Preview()

    def on_mount(self) -> None:
        rows = self.query_one(_List)
        rows.empty = self._empty or t("Nothing here.")
        self.show_rows(self._filtered(self._query))
        current = next((n for n, row in enumerate(rows.rows) if row.current), None)
        if current is not None:
            rows.at = current
        self.query_one(_Preview).set_class(self._preview is not None, "open")
        self.call_after_refresh(self._show_preview)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """The best one is chosen: it stands first."""
        widget = self.query_one(_List)
        widget.rows, widget.at = rows, 0
        self._skip_notes(1)
        widget.refresh()
        self._show_preview()

    def _filtered(self, query: str) -> Sequence[Row]:
        words = query.split()
        if not words:
            return self._all
        scored: list[tuple[float, int, Row]] = []
        for number, row in enumerate(self._all):
            text = f"{row.label} {row.detail} {row.also}"
            points = [score(word, text) for word in words]
            if row.id and all(points):
                scored.append((-sum(points), number, row))
        return [row for _, _, row in sorted(scored, key=lambda item: item[:2])]

    async def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.show_rows(self._filtered(event.value))
        if self._search is None or not event.value.strip():
            return
        self._asked += 1
        asked = self._asked
        found = await self._search(event.value)
        if asked == self._asked and self.is_mounted:
            seen = {row.id for row in found}
            self.show_rows([*found, *(row for row in self._filtered(event.value) if row.id not in seen)])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._pick("enter")

    def _pick(self, key: str) -> None:
        rows = self.query_one(_List)
        if rows.rows and rows.rows[rows.at].id:
            self.dismiss(Picked(rows.rows[rows.at].id, key))

    def on_key(self, event: events.Key) -> None:
        rows = self.query_one(_List)
        if event.key == "escape" or event.key == "ctrl+c":
            event.stop()
            self.dismiss(None)
        elif event.key in self._keys:
            event.stop()
            event.prevent_default()
            self._pick(event.key)
        elif event.key in ("up", "down", "pageup", "pagedown") and rows.rows:
            event.stop()
            by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[event.key]
            rows.at = min(len(rows.rows) - 1, max(0, rows.at + by))
            self._skip_notes(1 if by > 0 else -1)
            rows.refresh()
            self._show_preview()

    def _skip_notes(self, by: int) -> None:
        widget = self.query_one(_List)
        at = widget.at
        while 0 <= at < len(widget.rows) and not widget.rows[at].id:
            at += by
        if 0 <= at < len(widget.rows):
            widget.at = at

    def _show_preview(self) -> None:
        widget, rows = self.query_one(_Preview), self.query_one(_List)
        if self._preview is None or not widget.size.width:
            return
        row = rows.rows[rows.at] if rows.rows else None
        widget.lines = self._preview(row.id, widget.size.width - 2, widget.size.height) if row and row.id else ()
        widget.refresh()
