"""What keys and messages do. A mixin of the app, so that the app itself only says what is on the screen."""

import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from anyio import to_thread

from weft.schema import commands as c
from weft.surfaces.terminal.composer import Composer
from weft.surfaces.terminal.tabs import Tabs
from weft.surfaces.terminal.transcript import Transcript
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from textual.app import App
    from textual.widgets import TextArea

    from weft.schema.events import Mode
    from weft.surfaces.terminal.app import TerminalApp
    from weft.surfaces.terminal.asks.panel import Panel
    from weft.surfaces.terminal.completion import Candidate, Trigger

    Base = App[int]
else:
    Base = object

TWICE = 1.0
"""Seconds within which a second Escape, or a second Ctrl+C, counts as one."""
MOST = 40
CYCLE: "tuple[Mode, ...]" = ("default", "acceptEdits", "plan")


class Actions(Base):
    _last_escape = -10.0
    _last_stop = -10.0
    _told = ""
    _files: "Callable[[str, int], list[str]] | None" = None
    _asked_for = 0

    @property
    def me(self) -> "TerminalApp":
        from typing import cast

        return cast("TerminalApp", self)

    def later(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Runs it beside everything else, in the group that owns the agents."""
        self.me.group.start_soon(work)

    def say(self, text: str, level: str = "info") -> None:
        self.me.conversation.model.note(text, level)
        self.me.changed(self.me.conversation)

    # --- after the first paint --------------------------------------------------------------------------------

    async def after_start(self) -> None:
        """What a person may need soon, while they already type."""
        me = self.me
        await to_thread.run_sync(me.composer.past.load)
        self.later(me.pace.run)
        if me.parts.pick:
            from weft.surfaces.terminal.screens.sessions import pick_session

            self.later(partial(pick_session, me, replace=True))
        elif me.parts.prompt:
            me.conversation.send(c.Prompt(me.parts.prompt))
        from weft.surfaces.terminal.screens.setup import greet

        await greet(me)

    # --- typing -----------------------------------------------------------------------------------------------

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        me = self.me
        event.stop()
        composer = me.composer
        content = composer.attachments.to_content(event.text)
        composer.put("")
        composer.attachments.clear()
        me.popup.hide()
        composer.choosing = False
        if isinstance(content, str):
            from weft.surfaces.terminal.screens.commands import run_local

            if run_local(me, content):
                return
        me.transcript.action_follow()
        me.conversation.send(c.Prompt(content))

    def on_text_area_changed(self, event: "TextArea.Changed") -> None:
        me = self.me
        text = me.composer.text
        if text == "?":
            me.composer.put("")
            self.action_help()
            return
        if not me.composer.past.walking or text not in ("",):
            self._complete()

    def _complete(self) -> None:
        from weft.surfaces.completing import has_arguments
        from weft.surfaces.terminal.completion import find_trigger

        me = self.me
        before = me.composer.before_cursor
        trigger = find_trigger(before)
        self._asked_for += 1
        if trigger is None and has_arguments(me.conversation.model.info, before):
            self.later(partial(self._look_up_argument, self._asked_for, before))
        elif trigger is None:
            me.popup.hide()
            me.composer.choosing = False
        else:
            self.later(partial(self._look_up, self._asked_for))

    async def _look_up_argument(self, number: int, before: str) -> None:
        """What the server of a prompt has for the argument at the cursor."""
        from weft.surfaces.terminal.completion import Trigger, from_agent

        answer = await self.me.conversation.complete(before)
        self._offer(number, Trigger("argument", before[answer.start :], answer.start), from_agent(answer))

    def _offer(self, number: int, trigger: "Trigger", found: "list[Candidate]") -> None:
        """Shown unless something else was typed meanwhile."""
        me = self.me
        if number == self._asked_for and me.is_running:
            me.popup.show(trigger, found)
            me.composer.choosing = bool(found)

    async def _look_up(self, number: int) -> None:
        """Candidates for what is typed, found in a thread where files are read."""
        from weft.surfaces.completing import has_resources
        from weft.surfaces.terminal.completion import Sources, candidates, find_trigger, from_agent
        from weft.surfaces.terminal.screens.commands import OWN

        me = self.me
        trigger = find_trigger(me.composer.before_cursor)
        if trigger is None:
            return
        if self._files is None:
            from weft.surfaces.files import Folders

            self._files = Folders([me.parts.cwd]).search
        sources = Sources(info=me.conversation.model.info, files=self._files, shell=me.composer.past.shell(), extra=OWN)
        if trigger.kind == "@":
            found = await to_thread.run_sync(candidates, trigger, sources)
        else:
            found = candidates(trigger, sources)
        self._offer(number, trigger, found)
        if trigger.kind == "@" and has_resources(sources.info) and number == self._asked_for:
            answer = await me.conversation.complete(me.composer.before_cursor)
            if answer.items and answer.start == trigger.start and not me.popup.moved:
                self._offer(number, trigger, [*from_agent(answer), *found][:MOST])

    def on_composer_steered(self, event: Composer.Steered) -> None:
        me, key = self.me, event.key
        chosen, trigger = me.popup.chosen, me.popup.trigger
        if key in ("up", "down", "pageup", "pagedown"):
            me.popup.move({"up": -1, "down": 1, "pageup": -6, "pagedown": 6}[key])
            return
        unmoved = trigger is not None and trigger.kind == "argument" and not me.popup.moved
        me.popup.hide()
        me.composer.choosing = False
        if key == "enter" and unmoved:
            # An argument may be left out or be something that the server does not list: Enter sends what is typed.
            me.composer.past.add(me.composer.text.strip())
            self.on_composer_submitted(Composer.Submitted(me.composer.text.strip()))
            return
        if key == "escape" or chosen is None or trigger is None:
            return
        whole = me.composer.text
        exact = trigger.kind == "/" and f"/{trigger.query} " == chosen.insert
        if trigger.kind == "!" and key == "enter":
            exact = True
        if not exact:
            me.composer.complete(trigger.start, chosen.insert)
        if key == "enter" and trigger.kind in ("/", "!") and (exact or not _wants_more(chosen.label)):
            text = (whole if exact else me.composer.text).strip()
            me.composer.past.add(text)
            self.on_composer_submitted(Composer.Submitted(text))

    def on_composer_image_pasted(self, event: Composer.ImagePasted) -> None:
        from pathlib import Path

        self.later(partial(self._attach_image, partial(Path(event.path).read_bytes), event.path))

    async def _attach_image(self, read: Callable[[], bytes], name: str) -> None:
        me = self.me
        try:
            data = await to_thread.run_sync(read)
        except OSError as error:
            self.say(f"{name}: {error.strerror}", "warning")
            return
        item = me.composer.attachments.add_image(data, name)
        if item is None:
            self.say(t("This is no picture that can be sent, or it is too big."), "warning")
        else:
            me.composer.insert(item.mark + " ")

    def action_paste_image(self) -> None:
        """The terminal pastes text; pictures are asked for from the desktop's clipboard."""

        async def paste() -> None:
            from weft.surfaces.terminal.clipboard import read_image

            data = await read_image(self.me.parts.env)
            if data:
                await self._attach_image(lambda: data, "clipboard")
            else:
                self.me.composer.action_paste()

        self.later(paste)

    def on_transcript_left(self, event: Transcript.Left) -> None:
        self.me.composer.focus()

    def on_transcript_copied(self, event: Transcript.Copied) -> None:
        self.me.copy_to_clipboard(event.text)
        self.me.status.hint = t("Copied.")
        self.me.changed(self.me.conversation)

    def on_panel_answered(self, event: "Panel.Answered") -> None:
        self.me.conversation.send(event.command)

    def on_tabs_chosen(self, event: Tabs.Chosen) -> None:
        self.me.show_tab(event.number)

    # --- keys -------------------------------------------------------------------------------------------------

    def action_escape(self) -> None:
        me, now = self.me, monotonic()
        twice = now - self._last_escape < TWICE
        self._last_escape = now
        me.status.hint = ""
        if me.conversation.model.running:
            me.conversation.send(c.Cancel())
        elif me.composer.text:
            if twice:
                me.composer.put("")
        elif twice and me.conversation.model.prompts():
            self._last_escape = -10.0
            from weft.surfaces.terminal.screens.rewind import rewind

            self.later(partial(rewind, me))
        elif me.conversation.model.prompts():
            self._hint(t("Escape again to go back to an earlier message"))

    def _hint(self, text: str) -> None:
        me = self.me
        me.status.hint = text
        me.status.refresh()

        def clear() -> None:
            if me.is_running and me.status.hint == text:
                me.status.hint = ""
                me.status.refresh()

        me.set_timer(2.0, clear)

    def action_stop(self) -> None:
        me, now = self.me, monotonic()
        if len(me.screen_stack) > 1:
            me.screen.dismiss(None)
            return
        selected = me.screen.get_selected_text()
        if selected:
            me.copy_to_clipboard(selected)
            me.screen.clear_selection()
            self._hint(t("Copied."))
        elif me.composer.text:
            me.composer.put("")
        elif me.conversation.model.running:
            me.conversation.send(c.Cancel())
        elif now - self._last_stop < TWICE:
            me.exit(0)
        else:
            self._last_stop = now
            self._hint(t("Ctrl+C again to leave"))

    def action_leave(self) -> None:
        me = self.me
        if me.composer.text:
            me.composer.action_delete_right()
        elif len(me.screen_stack) == 1 and not me.conversation.model.asks:
            me.exit(0)

    def action_next_mode(self) -> None:
        me = self.me
        info = me.conversation.model.info
        if info is None or len(me.screen_stack) > 1:
            return
        offered: tuple[Mode, ...] = tuple(mode for mode in CYCLE if mode in info.modes) or info.modes
        at = offered.index(info.mode) + 1 if info.mode in offered else 0
        me.conversation.send(c.SetMode(offered[at % len(offered)]))

    def action_open_all(self) -> None:
        self.me.transcript.toggle_all()

    def action_toggle_todos(self) -> None:
        from weft.surfaces.terminal.todos import Todos

        todos = self.me.screen_stack[0].query_one(Todos)
        todos.hidden = not todos.hidden
        todos.update()

    def action_scroll(self, by: int) -> None:
        page = self.me.transcript
        (page.scroll_page_down if by > 0 else page.scroll_page_up)(animate=False)

    def action_choose_entry(self) -> None:
        transcript = self.me.transcript
        transcript.focus()
        transcript.action_step(-1)

    def action_repaint(self) -> None:
        self.me.refresh(repaint=True, layout=True)

    def action_new_tab(self) -> None:
        from weft.surfaces.terminal.conversation import Opening

        self.me.call_later(self.me.open_tab, Opening())

    def action_close_tab(self) -> None:
        self.me.call_later(self.me.close_tab)

    def action_step_tab(self, by: int) -> None:
        self.me.show_tab((self.me.at + by) % len(self.me.conversations))

    def action_tab(self, number: int) -> None:
        self.me.show_tab(number - 1)

    def action_help(self) -> None:
        from weft.surfaces.terminal.screens.help import show_help

        show_help(self.me)

    def action_search_history(self) -> None:
        from weft.surfaces.terminal.screens.choices import search_history

        self.later(partial(search_history, self.me))

    def action_edit(self) -> None:
        from weft.surfaces.terminal.clipboard import edit_text

        self.later(partial(edit_text, self.me))

    def on_composer_wants_back(self, event: Composer.WantsBack) -> None:
        me = self.me
        queue = me.conversation.model.queue
        if queue:
            me.conversation.send(c.DropPrompt(queue[-1].id))
            me.composer.put(queue[-1].text)

    # --- a person who looks elsewhere -------------------------------------------------------------------------

    def tell_if_away(self) -> None:
        """A bell and a note from the terminal, once for each question and for each end of a turn."""
        me = self.me
        for conversation in me.conversations:
            model = conversation.model
            asked = next(iter(model.asks), "")
            ended = model.ended.turn_id if model.ended is not None and model.ended.reason != "cancelled" else ""
            mark = f"{conversation.key}:{asked}:{ended}"
            if not (asked or ended) or mark in self._told:
                continue
            self._told = (self._told + mark)[-4000:]
            if not me.focused_window:
                with contextlib.suppress(OSError):
                    self.ring(t("Weft needs you") if asked else t("Weft is done"))

    def ring(self, text: str) -> None:
        me = self.me
        me.bell()
        driver = me._driver  # Textual has no public way to write an escape sequence
        if driver is not None:
            driver.write(f"\x1b]9;{text}\x07")


def _wants_more(label: str) -> bool:
    """Whether a command needs an argument before it can be run: its hint begins without a bracket."""
    _, _, hint = label.partition(" ")
    return bool(hint) and not hint.startswith("[")
