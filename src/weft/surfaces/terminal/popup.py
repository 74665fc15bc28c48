"""A short list above the composer: completions, with the best one chosen."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from weft.surfaces.terminal.completion import Candidate, Trigger
from weft.surfaces.terminal.paint.lines import fit, width_of
from weft.surfaces.terminal.paint.palette import Palette, palette

ROWS = 7


class Popup(Widget):
    DEFAULT_CSS = "Popup { height: 0; display: none; } Popup.open { display: block; }"

    def __init__(self, look: Palette | None = None) -> None:
        super().__init__()
        self.look = look or palette("dark")
        self.trigger: Trigger | None = None
        self.items: Sequence[Candidate] = ()
        self.at = 0
        self.moved = False
        """Whether the person went through the list."""

    @property
    def is_open(self) -> bool:
        return bool(self.items)

    @property
    def chosen(self) -> Candidate | None:
        return self.items[self.at] if self.items else None

    def show(self, trigger: Trigger | None, items: Sequence[Candidate]) -> None:
        self.trigger, self.items, self.at, self.moved = trigger, items, 0, False
        self.styles.height = min(ROWS, len(items))
        self.set_class(bool(items), "open")
        self.refresh()

    def hide(self) -> None:
        if self.items:
            self.show(None, ())

    def move(self, by: int) -> None:
        if self.items:
            self.at, self.moved = (self.at + by) % len(self.items), True
            self.refresh()

    def render_line(self, y: int) -> Strip:
        top = max(0, min(self.at - ROWS // 2, len(self.items) - ROWS))
        width, base = self.size.width, self.rich_style
        place = top + y
        if place >= len(self.items):
            return Strip.blank(width, base)
        item, here = self.items[place], place == self.at
        label = fit(item.label, max(10, width * 2 // 3))
        column = min(max((width_of(each.label) for each in self.items), default=0) + 3, width // 2)
        detail = fit(item.detail, width - max(column, width_of(label) + 3) - 3)
        gap = " " * max(1, column - width_of(label))
        style = self.look.accent if here else self.look.text
        line = [
            Segment(" ▸ " if here else "   ", style),
            Segment(label, style),
            Segment(gap),
            Segment(detail, self.look.dim),
        ]
        back = self.look.selected if here and self.look.tone != "none" else Style.null()
        return Strip(line).extend_cell_length(width).apply_style(base + back)
