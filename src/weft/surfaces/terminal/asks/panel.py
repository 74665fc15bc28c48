"""A panel with lines and choices. Subclasses say what stands in it and what a choice means."""

from collections.abc import Sequence

import msgspec
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from weft.schema.commands import Answer
from weft.surfaces.terminal.paint.lines import Line, wrap
from weft.surfaces.terminal.paint.palette import Palette
from weft.surfaces.terminal.words import t

KEYS = {"escape": "esc", "space": "spc"}


class Choice(msgspec.Struct, frozen=True):
    """`key` answers at once. `detail` is faint text behind the label."""

    id: str
    key: str
    label: str
    detail: str = ""


class Body(ScrollView, can_focus=False):
    """Lines that are given to it, at most as high as its parent allows."""

    DEFAULT_CSS = "Body { height: auto; overflow-x: hidden; scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line], most: int) -> None:
        self.lines = lines
        self.styles.height = max(1, min(len(lines), most))
        self.virtual_size = Size(max(1, self.size.width - 1), len(lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        base, width = self.rich_style, self.size.width
        if at >= len(self.lines):
            return Strip.blank(width, base)
        return Strip([Segment(" "), *self.lines[at]]).apply_style(base).crop_extend(0, width, base)


class Panel(Vertical, can_focus=True):
    """`head` stays in view, `choices` below it. While `typing`, keys go to the line at the foot."""

    DEFAULT_CSS = """
    Panel { height: auto; max-height: 80%; border-top: solid $primary; padding: 0 0; }
    Panel:focus-within { border-top: solid $primary; }
    Panel Input { height: 1; border: none; padding: 0 1; background: $panel; display: none; }
    Panel.typing Input { display: block; }
    """

    class Answered(Message):
        def __init__(self, command: Answer) -> None:
            super().__init__()
            self.command = command

    def __init__(self, request_id: str, look: Palette) -> None:
        super().__init__()
        self.request_id = request_id
        self.look = look
        self.at = 0

    def compose(self) -> ComposeResult:
        yield Body()
        yield Body()
        yield Input(compact=True)

    # --- for subclasses ---------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Line]:
        raise NotImplementedError

    def choices(self) -> list[Choice]:
        raise NotImplementedError

    def choose(self, id: str) -> None:
        raise NotImplementedError

    def other_key(self, key: str) -> bool:
        """A key that is no choice's; returns whether it was taken."""
        return False

    def typed(self, text: str) -> None:
        """The line that was asked for with `ask_line`."""

    def answer(self, command: Answer) -> None:
        self.post_message(self.Answered(command))

    # --- showing ----------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self.call_after_refresh(self.show)

    def on_resize(self) -> None:
        self.show()

    def show(self) -> None:
        bodies = list(self.query(Body))
        size = self.screen.size
        if not bodies or not size.width:
            return
        width = size.width - 3
        foot = self._choice_lines(width)
        room = max(3, int(size.height * 0.75) - len(foot) - 2)
        bodies[0].show(self.head(width), room)
        bodies[1].show(foot, len(foot))

    def _choice_lines(self, width: int) -> list[Line]:
        out: list[Line] = [[]]
        strong = self.look.strong
        room = max((len(KEYS.get(choice.key, choice.key)) for choice in self.choices()), default=1)
        for number, choice in enumerate(self.choices()):
            here = number == self.at
            style = self.look.accent if here else self.look.text
            first = [
                Segment("▸ " if here else "  ", style),
                Segment(KEYS.get(choice.key, choice.key).ljust(room), strong),
            ]
            spans = [(f" {choice.label}", style)]
            if choice.detail:
                spans.append((f"  {choice.detail}", self.look.dim))
            out += wrap(spans, width, first=first, rest=[Segment(" " * (room + 3))])
        return out

    # --- keys -------------------------------------------------------------------------------------------------

    def ask_line(self, placeholder: str, value: str = "") -> None:
        line = self.query_one(Input)
        line.placeholder, line.value = placeholder, value
        self.add_class("typing")
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.stop_typing()
        self.typed(event.value.strip())

    def stop_typing(self) -> None:
        self.remove_class("typing")
        self.focus()

    def on_key(self, event: events.Key) -> None:
        if self.has_class("typing"):
            if event.key == "escape":
                event.stop()
                event.prevent_default()
                self.stop_typing()
            return
        choices = self.choices()
        key = event.character if event.character and event.character.isprintable() else event.key
        by_key = next((choice for choice in choices if choice.key in (key, event.key)), None)
        if event.key in ("ctrl+c", "ctrl+d"):
            return
        event.stop()
        event.prevent_default()
        if by_key is not None:
            self.choose(by_key.id)
        elif self.other_key(event.key):
            self.show()
        elif event.key in ("up", "down", "k", "j") and choices:
            self.at = (self.at + (1 if event.key in ("down", "j") else -1)) % len(choices)
            self.show()
        elif event.key == "enter" and choices:
            self.choose(choices[self.at].id)
        elif event.key in ("pageup", "pagedown"):
            body = self.query(Body).first()
            (body.scroll_page_up if event.key == "pageup" else body.scroll_page_down)(animate=False)

    def title(self, text: str) -> Line:
        return [Segment(t(text), self.look.heading)]
