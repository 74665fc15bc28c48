"""The conversation on the screen. Lines are painted once and kept; only what is visible is ever handed on.

After a change of width the old lines stay until new ones are painted, a slice at a time from the end, so that typing
never waits for a long conversation.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import ceil
from time import perf_counter
from typing import ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from weft import __version__
from weft.schema.events import SessionInfo
from weft.surfaces.terminal.entries import Entry, ReplyEntry, ToolEntry
from weft.surfaces.terminal.model import Model
from weft.surfaces.terminal.paint.entry import Painted
from weft.surfaces.terminal.paint.lines import Line, clean
from weft.surfaces.terminal.paint.palette import Palette, palette
from weft.surfaces.terminal.words import t

TIPS = (
    ("?", "all keys and commands"),
    ("@", "name a file, / a command, ! a shell line of your own"),
    ("shift+tab", "ask first, accept edits, or plan"),
    ("/resume", "go on with an earlier conversation"),
)
KEPT_STRIPS = 500
SLICE = 0.006
"""Seconds of painting at a time, when there is a lot of it."""


class KeptStrip(Strip):
    """Does not keep itself alive. A strip that is cut at its own end remembers itself as the only part, so that only
    the collector can take it away: hundreds of them for each screen that streams by."""

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        wanted = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if wanted == [self.cell_length] else super().divide(wanted)


class Transcript(ScrollView, can_focus=True):
    """Shows a model. `update` is called after events; it takes what was touched."""

    DEFAULT_CSS = "Transcript { height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", show=False),
        Binding("down,j", "step(1)", show=False),
        Binding("enter,space", "fold", show=False),
        Binding("c,y", "copy", show=False),
        Binding("home,g", "scroll_home", show=False),
        Binding("end,G", "follow", show=False),
        Binding("escape,i,q", "leave", show=False),
    ]

    class Left(Message):
        """The person goes back to the composer."""

    class Copied(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, model: Model, look: Palette | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self.model = model
        self.look = look or palette("dark")
        self.following = True
        self.chosen: int | None = None
        self._rows: list[Painted] = []
        self._starts: list[int] = [0]
        self._places: dict[int, int] = {}
        self._generation = model.generation
        self._strips: dict[int, Strip] = {}
        self._base: Style | None = None
        self._greeted: SessionInfo | None = None
        """Whose session the greeting of an empty conversation shows."""
        self._paint: tuple[tuple[LineFilter, ...], Color] = ((), Color(0, 0, 0))
        self._bar: tuple[int, int, int] | None = None
        self._stale = 0
        """Entries before this place are painted for another width or palette."""

    # --- lines ------------------------------------------------------------------------------------------------

    @property
    def _cwd(self) -> str:
        return self.model.info.cwd if self.model.info is not None else ""

    @property
    def _width(self) -> int:
        return max(20, self.scrollable_content_region.width - 1)

    @property
    def total(self) -> int:
        return self._starts[-1]

    def update(self) -> None:
        """Takes the model's changes to the screen."""
        if not self.size.width:
            return
        if self._generation != self.model.generation:
            self._rebuild()
        changed: int | None = None
        kept = 0
        for place in range(len(self._rows), len(self.model.entries)):
            self._append(self.model.entries[place])
            changed = place if changed is None else changed
        for key in self.model.touched:
            place = self._places.get(key)
            if place is not None and place >= self._stale:
                self._rows[place].refresh(self._width, self.look, self._cwd)
                if changed is None or place < changed:
                    changed, kept = place, self._rows[place].kept
        self.model.touched.clear()
        if changed is not None:
            self._resized_from(changed, kept)
        elif not self._rows and self._greeted is not self.model.info:
            self._greeted = self.model.info
            self.refresh()

    def _append(self, entry: Entry) -> None:
        self._places[id(entry)] = len(self._rows)
        painted = Painted(entry, self._rows[-1].entry if self._rows else None)
        self._rows.append(painted)
        painted.refresh(self._width, self.look, self._cwd)
        self._starts.append(self._starts[-1] + len(painted.lines))

    def _rebuild(self) -> None:
        kept = {id(row.entry): row for row in self._rows}
        self._generation = self.model.generation
        self._rows = [kept[id(entry)] for entry in self.model.entries if id(entry) in kept]
        self._places = {id(row.entry): place for place, row in enumerate(self._rows)}
        self._stale, self.chosen = 0, None
        self._resized_from(0)

    def _resized_from(self, place: int, kept: int = 0) -> None:
        """Lines from this entry on are others now, but for the first `kept` of it."""
        start = self._starts[place]
        first = start + kept
        self._forget_strips(first)
        del self._starts[place + 1 :]
        for row in self._rows[place:]:
            start += len(row.lines)
            self._starts.append(start)
        self._show(first)

    def _forget_strips(self, first: int) -> None:
        """Strips keep what they look like on the terminal, so those of lines that stand are used again."""
        if first == 0:
            self._strips.clear()
        else:
            for at in [at for at in self._strips if at >= first]:
                del self._strips[at]

    def _show(self, first: int) -> None:
        # Set without a layout of the whole screen, which Textual would make: the scroll bar has its place in any case.
        # A layout also drops the repaint of what was typed in the same moment.
        self.set_reactive(cast("Reactive[Size]", ScrollView.virtual_size), Size(self._width, self.total))
        if self.following and self.max_scroll_y != self.scroll_target_y:
            self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)
        self._move_bar()
        top = first - self.scroll_offset.y
        height = self.size.height
        if top < height:
            top = max(0, top)
            self.refresh(Region(0, top, self.size.width, height - top))

    def _move_bar(self) -> None:
        """The scroll bar is painted when it would look different, which for a long conversation is seldom."""
        height, total, bar = self.size.height, self.total, self.vertical_scrollbar
        if total <= height or not height:
            shape = None
        else:
            thumb = max(1.0, height * height / total)
            shape = (height, ceil(8 * thumb), int(8 * (height - thumb) * self.scroll_y / (total - height)))
        if shape != self._bar or shape is None:
            self._bar = shape
            bar.window_virtual_size = total
            bar.position = self.scroll_y

    def repaint_all(self, look: Palette | None = None) -> None:
        """Another width or palette: every entry is painted again, the last ones first."""
        if look is not None:
            self.look = look
        self._stale = len(self._rows)
        if self._stale:
            self._paint_slice()

    def _paint_slice(self) -> None:
        until = perf_counter() + SLICE
        lowest = len(self._rows)
        while self._stale and perf_counter() < until:
            self._stale -= 1
            lowest = self._stale
            self._rows[lowest].refresh(self._width, self.look, self._cwd)
        if lowest < len(self._rows):
            self._resized_from(lowest)
        if self._stale:
            self.set_timer(0.01, self._paint_slice)

    def on_resize(self, event: events.Resize) -> None:
        self._strips.clear()
        self.update()
        self.repaint_all()
        if self.following:
            self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._base = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines that are kept. There is no border and no padding, so Textual's way through the styles is not taken:
        it makes every line anew when the conversation moves by one, and what a strip remembers is lost."""
        paint = (tuple(self.get_line_filters()), self.background_colors[1])
        if paint != self._paint:
            self._strips.clear()
            self._paint = paint
        strips = [self.render_line(y) for y in crop.line_range]
        first, last = crop.column_span
        return strips if first == 0 and last >= self.size.width else [strip.crop(first, last) for strip in strips]

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        strip = self._strips.get(at)
        if strip is None:
            strip = self._make_strip(at, y)
            if self._rows:
                self._strips[at] = strip
                if len(self._strips) > KEPT_STRIPS:
                    del self._strips[next(iter(self._strips))]
        return strip

    def _make_strip(self, at: int, y: int) -> Strip:
        if self._base is None:
            self._base = self.rich_style
        base, width = self._base, self.size.width
        if 0 <= at < self.total:
            place = bisect_right(self._starts, at) - 1
            line = self._rows[place].lines[at - self._starts[place]]
            mark = "▌" if place == self.chosen and self.has_focus and (line or at > self._starts[place]) else " "
            line = [Segment(mark, self.look.accent), *line]
        else:
            line = welcome(self.model, self.look, y) if not self._rows else []
        strip = Strip([Segment(text, base + style) for text, style, _ in line])
        strip = self._with_selection(strip, at).crop_extend(0, width, base).apply_offsets(0, at)
        filters, background = self._paint
        segments = list(strip)
        for each in filters:
            segments = each.apply(segments, background)
        return KeptStrip(segments, width)

    def _with_selection(self, strip: Strip, at: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(at) if selection is not None else None
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else min(end, strip.cell_length)
        if start >= end:
            return strip
        style = Style(reverse=True)
        middle = Strip([Segment(s.text, (s.style or Style.null()) + style) for s in strip.crop(start, end)])
        return Strip.join([strip.crop(0, start), middle, strip.crop(end)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = ("".join(s.text for s in line) for row in self._rows for line in row.lines)
        return selection.extract("\n".join(f" {line}".rstrip() for line in lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    # --- keys and clicks --------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._move_bar()
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)
        self.following = new_value >= self.max_scroll_y - 0.5

    def action_follow(self) -> None:
        self.following = True
        self.scroll_end(animate=False, immediate=True, force=True)

    def on_focus(self) -> None:
        self._strips.clear()

    def on_blur(self) -> None:
        self._strips.clear()

    def action_leave(self) -> None:
        self.chosen = None
        self.action_follow()
        self.post_message(self.Left())

    def action_step(self, by: int) -> None:
        if not self._rows:
            return
        last = len(self._rows) - 1
        self.chosen = last if self.chosen is None else min(last, max(0, self.chosen + by))
        start, end = self._starts[self.chosen], self._starts[self.chosen + 1]
        top, height = self.scroll_offset.y, self.size.height
        if start < top or end - start > height:
            self.scroll_to(y=start, animate=False, immediate=True, force=True)
        elif end > top + height:
            self.scroll_to(y=end - height, animate=False, immediate=True, force=True)
        self._strips.clear()
        self.refresh()

    def action_fold(self) -> None:
        if self.chosen is not None:
            self._toggle(self.chosen)

    def action_copy(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Copied(text_of_entry(self._rows[self.chosen].entry)))

    def _toggle(self, place: int) -> None:
        row = self._rows[place]
        row.entry.open = not row.entry.open
        was_following = self.following
        row.refresh(self._width, self.look, self._cwd)
        self.following = was_following and place == len(self._rows) - 1
        self._resized_from(place)

    def toggle_latest(self, kind: type[Entry]) -> None:
        """Opens or folds the last entry of a kind."""
        for place in range(len(self._rows) - 1, -1, -1):
            if isinstance(self._rows[place].entry, kind):
                self._toggle(place)
                return

    def toggle_all(self) -> None:
        """Opens everything that can be opened, or folds it all again."""
        foldable = [row.entry for row in self._rows if not isinstance(row.entry, ReplyEntry)]
        opened = any(not entry.open for entry in foldable)
        for entry in foldable:
            entry.open = opened
        self.repaint_all()

    def on_click(self, event: events.Click) -> None:
        offset: Offset = event.get_content_offset_capture(self)
        at = offset.y + self.scroll_offset.y
        if 0 <= at < self.total and not self.screen.selections:
            place = bisect_right(self._starts, at) - 1
            if not isinstance(self._rows[place].entry, ReplyEntry):
                self.chosen = place
                self._toggle(place)


def welcome(model: Model, look: Palette, y: int) -> Line:
    """What an empty conversation shows: where one is, and the keys worth knowing."""
    info = model.info
    rows: list[Line] = [
        [],
        [Segment("  Weft ", look.heading), Segment(__version__, look.dim)],
        [Segment(f"  {clean(info.cwd)} · {clean(info.model)}" if info is not None else "", look.dim)],
        [],
        *([Segment(f"  {key:<10}", look.strong), Segment(t(text), look.dim)] for key, text in TIPS),
    ]
    return rows[y] if y < len(rows) else []


def text_of_entry(entry: Entry) -> str:
    """What a person wants on the clipboard: the source, not the painted lines."""
    if isinstance(entry, ReplyEntry):
        return entry.pieces.text()
    if isinstance(entry, ToolEntry):
        return entry.result or "".join(entry.output)
    return entry.text
