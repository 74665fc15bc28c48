"""Where a person types. Enter sends; the rest is told to the app as messages, so that this widget knows no agent."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from weft.surfaces.terminal.attachments import Attachments, image_path, is_long
from weft.surfaces.terminal.history import History
from weft.surfaces.terminal.vim import VimKeys


class Composer(TextArea):
    """Multi-line: Enter sends, Shift+Enter, Ctrl+J or a backslash before Enter makes a new line."""

    DEFAULT_CSS = """
    Composer { height: auto; min-height: 1; max-height: 10; border: none; padding: 0; background: $surface;
               scrollbar-size-vertical: 1; }
    Composer:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "cursor_line_start", show=False),
        Binding("ctrl+e", "cursor_line_end", show=False),
        Binding("ctrl+w,alt+backspace", "delete_word_left", show=False),
        Binding("ctrl+u", "delete_to_start_of_line", show=False),
        Binding("alt+b", "cursor_word_left", show=False),
        Binding("alt+f", "cursor_word_right", show=False),
    ]

    class Submitted(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Steered(Message):
        """A key for the list of completions. The app answers by calling `take` or `pass_on`."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class WantsBack(Message):
        """Up on an empty line while a prompt waits: it comes back to be changed."""

    class ImagePasted(Message):
        """A path of a picture was pasted or dropped."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, history: History, *, vim: bool = False, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, show_line_numbers=False, soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self.past = history
        self.attachments = Attachments()
        self.vim = VimKeys() if vim else None
        self.waiting = False
        """Prompts wait for their turn."""
        self.choosing = False
        """A list of completions is open: arrows, Tab, Enter and Escape belong to it."""

    @property
    def before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    def put(self, text: str) -> None:
        """Another text, with the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def complete(self, start: int, insert: str) -> None:
        """Replaces the text from `start` to the cursor."""
        before = self.before_cursor[:start]
        place = (before.count("\n"), len(before) - (before.rfind("\n") + 1))
        self.replace(insert, place, self.cursor_location)
        self.move_cursor((place[0], place[1] + len(insert)))

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        if self.choosing and key in ("up", "down", "tab", "enter", "escape", "pageup", "pagedown"):
            self._stop(event)
            self.post_message(self.Steered(key))
            return
        if self.vim is not None and self.vim.press(key, event.character, self):
            self._stop(event)
            return
        if key == "enter":
            self._stop(event)
            self._enter()
        elif key in ("shift+enter", "ctrl+j", "alt+enter"):
            self._stop(event)
            self.insert("\n")
        elif key == "up" and not self.text and self.waiting:
            self._stop(event)
            self.post_message(self.WantsBack())
        elif key in ("up", "down") and self._walk(older=key == "up"):
            self._stop(event)
        elif not await self._edit_at_once(event):
            await super()._on_key(event)

    async def _edit_at_once(self, event: events.Key) -> bool:
        """Runs the action of a key such as Backspace now. Left to Textual it would run after the key has travelled up
        to the app, and letters typed quickly behind it would overtake it."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            self._stop(event)
            await self.run_action(binding.action)
            return True
        return False

    def _stop(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()

    def _enter(self) -> None:
        row, column = self.cursor_location
        if self.before_cursor.endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return
        text = self.text.strip()
        if text:
            self.past.add(text)
            self.post_message(self.Submitted(text))

    def _walk(self, *, older: bool) -> bool:
        """Up on the first line and down on the last one go through what was typed before."""
        edge = self.cursor_at_first_line if older else self.cursor_at_last_line
        if not edge or (not older and not self.past.walking):
            return False
        found = self.past.older(self.text) if older else self.past.newer()
        if found is not None:
            self.put(found)
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        path = image_path(text)
        if path is not None:
            self.post_message(self.ImagePasted(str(path)))
        elif is_long(text):
            self.insert(self.attachments.add_text(text).mark + " ")
        else:
            self.insert(text)
