"""The row of conversations at the top, when there is more than one."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from weft.surfaces.terminal.conversation import Conversation
from weft.surfaces.terminal.paint.lines import clean, fit, width_of
from weft.surfaces.terminal.paint.palette import Palette, palette
from weft.surfaces.terminal.words import t

MARKS = {"asking": "? ", "running": "◐ ", "failed": "✗ ", "idle": ""}


class Tabs(Widget):
    DEFAULT_CSS = "Tabs { height: 1; display: none; background: $panel; } Tabs.open { display: block; }"

    class Chosen(Message):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, look: Palette | None = None) -> None:
        super().__init__()
        self.look = look or palette("dark")
        self._labels: list[str] = []
        self._at = 0

    def show(self, conversations: Sequence[Conversation], at: int) -> None:
        room = max(8, min(30, (self.size.width or 80) // max(1, len(conversations)) - 5))
        labels = [
            f" {number} {MARKS[each.state]}{fit(clean(each.title) or t('New conversation'), room)} "
            for number, each in enumerate(conversations, 1)
        ]
        self.set_class(len(labels) > 1, "open")
        if (labels, at) != (self._labels, self._at):
            self._labels, self._at = labels, at
            self.refresh()

    def render_line(self, y: int) -> Strip:
        line = [
            Segment(label, self.look.strong + self.look.selected if number == self._at else self.look.dim)
            for number, label in enumerate(self._labels)
        ]
        return Strip(line).apply_style(self.rich_style).crop_extend(0, self.size.width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        start = 0
        for number, label in enumerate(self._labels):
            start += width_of(label)
            if event.x < start:
                self.post_message(self.Chosen(number))
                return
