"""Keys and commands, on one screen."""

from typing import TYPE_CHECKING

from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

KEYS = (
    ("enter", "send; while the agent works, it joins the turn or waits for it"),
    ("shift+enter, ctrl+j, \\ enter", "a new line"),
    ("up, down", "what was typed before; ctrl+r searches it"),
    ("/  @  !  #", "commands, files, a shell command of your own, a note for the memory"),
    ("up on an empty line", "takes a waiting message back, to change it"),
    ("tab", "take the completion"),
    ("escape", "interrupt; twice: go back to before a message"),
    ("shift+tab", "the next mode: ask first, accept edits, plan"),
    ("ctrl+g", "write in your editor ($VISUAL, $EDITOR)"),
    ("ctrl+v", "attach a picture from the clipboard; long text is attached when pasted"),
    ("ctrl+o", "open or fold tool calls and thoughts"),
    ("alt+up", "walk through the conversation: enter opens, c copies, escape leaves"),
    ("pageup, pagedown", "scroll"),
    ("ctrl+t", "show or hide the to-do list"),
    ("ctrl+n, alt+w", "another conversation in a tab; close it"),
    ("alt+1 … alt+9, alt+left, alt+right", "to another tab"),
    ("ctrl+c", "copy a selection, clear the line, interrupt; twice: leave"),
    ("ctrl+d", "leave"),
)


def show_help(app: "TerminalApp") -> None:
    from weft.surfaces.terminal.screens.commands import OWN

    rows = [Row(f"key {keys}", keys, t(text)) for keys, text in KEYS]
    rows += [Row("", ""), Row("", t("Commands"))]
    info = app.conversation.model.info
    commands = {each.name: each for each in (*OWN, *(info.commands if info is not None else ()))}
    rows += [Row(f"/{each.name}", f"/{each.name}", t(each.description)) for each in commands.values()]

    def chosen(picked: object) -> None:
        from weft.surfaces.terminal.picker import Picked

        if isinstance(picked, Picked) and picked.id.startswith("/"):
            app.composer.put(picked.id + " ")

    app.push_screen(Picker(t("Help"), rows, app.look), chosen)


async def open_help(app: "TerminalApp") -> None:
    show_help(app)
