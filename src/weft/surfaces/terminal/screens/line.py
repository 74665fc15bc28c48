"""Asks for one line of text."""

from typing import TYPE_CHECKING

import anyio
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp


class LineScreen(ModalScreen[str | None]):
    CSS = """
    LineScreen { align: center middle; background: $background 60%; }
    LineScreen > Vertical { width: 80%; max-width: 90; height: auto; background: $surface; border: round $primary; }
    LineScreen Static { padding: 0 1; color: $secondary; }
    LineScreen Input { height: 1; border: none; padding: 0 1; background: $panel; }
    """

    def __init__(self, title: str, text: str, value: str, *, secret: bool) -> None:
        super().__init__()
        self._words = (title, text, value)
        self._secret = secret

    def compose(self) -> ComposeResult:
        title, text, value = self._words
        with Vertical() as box:
            box.border_title = title
            yield Static(text, markup=False)
            yield Input(value, password=self._secret, compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)


async def ask_line(app: "TerminalApp", title: str, text: str, value: str = "", *, secret: bool = False) -> str | None:
    done = anyio.Event()
    said: list[str | None] = []

    def close(result: str | None) -> None:
        said.append(result)
        done.set()

    app.push_screen(LineScreen(title, text, value, secret=secret), close)
    await done.wait()
    return said[0]
