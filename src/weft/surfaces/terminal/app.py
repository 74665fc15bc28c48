"""The terminal's screen: conversations in tabs, the composer, the foot. What it shows is in the models; what it does
is in `actions` and `screens`. Only what the first paint needs is imported here."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, cast

import anyio
import anyio.abc
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from weft.surfaces.terminal import theme
from weft.surfaces.terminal.actions import Actions
from weft.surfaces.terminal.composer import Composer
from weft.surfaces.terminal.conversation import Conversation, Opening
from weft.surfaces.terminal.history import History
from weft.surfaces.terminal.pace import Pace
from weft.surfaces.terminal.paint.palette import Palette, palette
from weft.surfaces.terminal.popup import Popup
from weft.surfaces.terminal.ports import Parts
from weft.surfaces.terminal.status import Status
from weft.surfaces.terminal.tabs import Tabs
from weft.surfaces.terminal.todos import Todos
from weft.surfaces.terminal.transcript import Transcript
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.asks.panel import Panel

ROOMY = 36
"""Rows from which the list of what is to be done stays while something is asked."""
FRAME = 1 / 30
"""Seconds between two paints of what streams; more when a paint takes long, and while somebody types."""


def keep_alt_digits() -> None:
    """Textual takes Alt and a digit for the letter that a Mac's keyboard has there. Here they choose a tab."""
    known = cast("dict[str, object]", ANSI_SEQUENCES_KEYS)
    for digit in range(1, 10):
        known.pop(f"\x1b{digit}", None)


class TerminalApp(Actions, App[int]):
    """`group` is where agents run; whoever runs the app owns it."""

    CSS = """
    Screen { background: $background; layers: base; }
    #compose { height: auto; border-top: solid $panel; }
    #sign { width: 3; height: 1; padding: 0 0 0 1; color: $primary; }
    Transcript, Body, Composer {
        scrollbar-color: $panel; scrollbar-color-hover: $secondary; scrollbar-color-active: $primary;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    Composer { width: 1fr; }
    .hidden { display: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", show=False),
        Binding("ctrl+c", "stop", show=False, priority=True),
        Binding("ctrl+d", "leave", show=False, priority=True),
        Binding("ctrl+q", "quit", show=False),
        Binding("shift+tab", "next_mode", show=False, priority=True),
        Binding("ctrl+o", "open_all", show=False, priority=True),
        Binding("ctrl+t", "toggle_todos", show=False, priority=True),
        Binding("ctrl+r", "search_history", show=False, priority=True),
        Binding("ctrl+g", "edit", show=False, priority=True),
        Binding("ctrl+v", "paste_image", show=False, priority=True),
        Binding("ctrl+n", "new_tab", show=False, priority=True),
        Binding("alt+w", "close_tab", show=False, priority=True),
        Binding("ctrl+pagedown,alt+right", "step_tab(1)", show=False, priority=True),
        Binding("ctrl+pageup,alt+left", "step_tab(-1)", show=False, priority=True),
        *(Binding(f"alt+{n}", f"tab({n})", show=False, priority=True) for n in range(1, 10)),
        Binding("ctrl+l", "repaint", show=False, priority=True),
        Binding("pageup", "scroll(-1)", show=False),
        Binding("pagedown", "scroll(1)", show=False),
        Binding("ctrl+up,alt+up", "choose_entry", show=False, priority=True),
        Binding("f1", "help", show=False),
    ]

    def __init__(self, parts: Parts, group: anyio.abc.TaskGroup) -> None:
        keep_alt_digits()
        colour = not parts.env.get("NO_COLOR")
        super().__init__(ansi_color=None if colour else True)
        self.parts = parts
        self.group = group
        self.theme_name = theme.choose(parts.theme, parts.env)
        self.look: Palette = palette(theme.tone(self.theme_name))
        self.conversations: list[Conversation] = []
        self.at = 0
        self.focused_window = True
        self.pace = Pace()
        self.when_painted: Callable[[], None] | None = None
        self._frame_wanted = False
        self._frame_cost = 0.0
        self._number = 0
        self._spinning = False
        self._asking: str | None = None
        for each in (theme.DARK, theme.LIGHT):
            self.register_theme(each)
        self.theme = theme.textual_name(self.theme_name)

    # --- the screen -------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        conversation = self._add(Opening(first=True))
        yield Tabs(self.look)
        yield self._transcript_for(conversation)
        yield Todos(self.look)
        yield Popup(self.look)
        with Horizontal(id="compose"):
            yield Static(">", id="sign")
            yield Composer(History(self.parts.history, str(self.parts.cwd)), vim=self.parts.vim)
        yield Status(conversation.model, self.look)

    def on_mount(self) -> None:
        self.composer.placeholder = t("Ask anything. / commands, @ files, ! shell, # notes")
        self.composer.focus()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """The first paint is on the screen, and keys are taken: now the rest is loaded."""
        if self.when_painted is not None:
            self.when_painted()
        self._run(self.conversation)
        self.group.start_soon(self.after_start)

    def _add(self, opening: Opening) -> Conversation:
        conversation = Conversation(opening, self.parts.start, self.changed)
        self.conversations.append(conversation)
        return conversation

    def _transcript_for(self, conversation: Conversation) -> Transcript:
        self._number += 1
        widget = Transcript(conversation.model, self.look, id=f"talk{self._number}")
        conversation.key = widget.id or ""
        return widget

    def _run(self, conversation: Conversation) -> None:
        self.group.start_soon(conversation.run)

    @property
    def conversation(self) -> Conversation:
        return self.conversations[self.at]

    @property
    def transcript(self) -> Transcript:
        return self.screen_stack[0].query_one(f"#{self.conversation.key}", Transcript)

    @property
    def composer(self) -> Composer:
        return self.screen_stack[0].query_one(Composer)

    @property
    def status(self) -> Status:
        return self.screen_stack[0].query_one(Status)

    @property
    def popup(self) -> Popup:
        return self.screen_stack[0].query_one(Popup)

    # --- painting what changed --------------------------------------------------------------------------------

    def changed(self, conversation: Conversation) -> None:
        """Called for every event: asks for a paint, at most one for each frame."""
        if not self._frame_wanted and self.is_running:
            self._frame_wanted = True
            self.set_timer(max(FRAME * 2 if self.pace.typing else FRAME, 3 * self._frame_cost), self._frame)

    def _frame(self) -> None:
        self._frame_wanted = False
        if not self.is_running or not self.screen_stack:
            return
        began = perf_counter()
        self.transcript.update()
        model, status = self.conversation.model, self.status
        status.starting = not self.conversation.live and self.conversation.failed is None
        status.refresh()
        self.composer.waiting = bool(model.queue)
        self.screen_stack[0].query_one(Todos).show(model.todos)
        self.screen_stack[0].query_one(Tabs).show(self.conversations, self.at)
        self._show_ask()
        self._spin()
        self.tell_if_away()
        self._frame_cost = perf_counter() - began

    def _spin(self) -> None:
        if self.conversation.model.running and not self._spinning:
            self._spinning = True
            self.set_timer(0.12, self._spun)

    def _spun(self) -> None:
        self._spinning = False
        if self.is_running and self.screen_stack and self.conversation.model.running:
            self.status.tick()
            self._spin()

    def _show_ask(self) -> None:
        """The oldest question that is open stands above the composer; the composer waits behind it."""
        ask = next(iter(self.conversation.model.asks.values()), None)
        wanted = ask.request_id if ask is not None else None
        if wanted == self._asking:
            return
        self._asking = wanted
        from weft.surfaces.terminal.asks.panel import Panel
        from weft.surfaces.terminal.asks.which import make_panel

        screen = self.screen_stack[0]
        for old in screen.query(Panel):
            old.remove()
        box = screen.query_one("#compose")
        box.set_class(ask is not None, "hidden")
        screen.query_one(Todos).set_class(ask is not None and self.size.height < ROOMY, "away")
        self.popup.hide()
        if ask is None:
            self.composer.focus()
            return
        panel = make_panel(ask, self.look, str(self.parts.cwd))
        screen.mount(panel, after=self.popup)
        self.call_after_refresh(partial(self._focus_panel, panel))

    def _focus_panel(self, panel: "Panel") -> None:
        if panel.is_mounted and len(self.screen_stack) == 1:
            panel.focus()
            self.transcript.action_follow()

    # --- tabs -------------------------------------------------------------------------------------------------

    async def open_tab(self, opening: Opening) -> None:
        conversation = self._add(opening)
        screen = self.screen_stack[0]
        await screen.mount(self._transcript_for(conversation), before=screen.query_one(Todos))
        self.show_tab(len(self.conversations) - 1)
        self._run(conversation)

    async def replace_tab(self, opening: Opening) -> None:
        """Another conversation in the place of this one, whose agent ends."""
        old, widget, number = self.conversation, self.transcript, self.at
        await self.open_tab(opening)
        self.conversations.insert(number, self.conversations.pop())
        self.conversations.remove(old)
        self.at = number
        old.close()
        await widget.remove()
        self.changed(self.conversation)

    def show_tab(self, number: int) -> None:
        if not 0 <= number < len(self.conversations):
            return
        self.conversation.draft = self.composer.text
        self.at = number
        for widget in self.screen_stack[0].query(Transcript):
            widget.set_class(widget.id != self.conversation.key, "hidden")
        self.status.model = self.conversation.model
        self.composer.put(self.conversation.draft)
        self.screen_stack[0].query_one(Todos).show(self.conversation.model.todos)
        if not self.conversation.model.asks:
            self.composer.focus()
        self.changed(self.conversation)

    async def close_tab(self) -> None:
        if len(self.conversations) == 1:
            self.exit(0)
            return
        gone, widget = self.conversation, self.transcript
        gone.close()
        number = self.at
        self.conversations.remove(gone)
        self.at = min(number, len(self.conversations) - 1)
        await widget.remove()
        self.composer.put("")
        self.show_tab(self.at)

    # --- looks ------------------------------------------------------------------------------------------------

    def use_theme(self, name: str) -> None:
        self.theme_name = theme.choose(name, self.parts.env)
        self.look = palette(theme.tone(self.theme_name))
        self.theme = theme.textual_name(self.theme_name)
        screen = self.screen_stack[0]
        for widget in screen.query(Transcript):
            widget.repaint_all(self.look)
        for kind in (Tabs, Todos, Popup, Status):
            widget = screen.query_one(kind)
            widget.look = self.look
            widget.refresh()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self.pace.key()
        await super().on_event(event)

    def on_app_focus(self, event: events.AppFocus) -> None:
        self.focused_window = True

    def on_app_blur(self, event: events.AppBlur) -> None:
        self.focused_window = False
