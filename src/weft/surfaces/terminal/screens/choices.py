"""Short lists: model, mode, thinking, theme, what was typed before."""

from typing import TYPE_CHECKING, cast

import msgspec

from weft.permissions.modes import MEANING
from weft.schema import commands as c
from weft.schema.messages import ThinkingConfig
from weft.surfaces.terminal import theme
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.status import MODES
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.schema.events import Mode
    from weft.surfaces.terminal.app import TerminalApp

THINKING = {
    "off": (ThinkingConfig(), "answer at once"),
    "adaptive": (ThinkingConfig("adaptive"), "as much as the model finds fit"),
    "low": (ThinkingConfig("adaptive", effort="low"), "a little"),
    "medium": (ThinkingConfig("adaptive", effort="medium"), "more"),
    "high": (ThinkingConfig("adaptive", effort="high"), "a lot"),
    "max": (ThinkingConfig("adaptive", effort="max"), "as much as it can"),
}
THEMES = {
    "dark": "light words on a dark ground",
    "light": "dark words on a light ground",
    "terminal": "the terminal's own colours, no others",
}


async def choose_model(app: "TerminalApp") -> None:
    info = app.conversation.model.info
    if info is None:
        return
    rows = [
        Row(
            each.id,
            each.name or each.id,
            _about(each.id, each.description, each.context_window),
            " ".join((each.id, *each.aliases)),
            each.id == info.model,
        )
        for each in info.models
    ]
    if not any(row.current for row in rows):
        rows.insert(0, Row(info.model, info.model, t("in use"), "", True))
    found = await pick(app, Picker(t("Model"), rows, app.look))
    if found is not None:
        app.conversation.send(c.SetModel(found.id))


def _about(id: str, description: str, window: int | None) -> str:
    size = t("{n}k tokens", n=window // 1000) if window else ""
    return " · ".join(part for part in (id, t(description), size) if part)


async def choose_mode(app: "TerminalApp") -> None:
    info = app.conversation.model.info
    if info is None:
        return
    rows = [Row(mode, t(MODES.get(mode, mode)), t(MEANING[mode]), mode, mode == info.mode) for mode in info.modes]
    found = await pick(app, Picker(t("Mode"), rows, app.look))
    if found is not None:
        app.conversation.send(c.SetMode(cast("Mode", found.id)))


async def choose_thinking(app: "TerminalApp") -> None:
    info = app.conversation.model.info
    now = msgspec.structs.replace(info.thinking, budget=None, display=None) if info is not None else None
    rows = [Row(name, t(name), t(detail), "", config == now) for name, (config, detail) in THINKING.items()]
    found = await pick(app, Picker(t("Thinking"), rows, app.look))
    if found is not None:
        app.conversation.send(c.SetThinking(THINKING[found.id][0]))


async def choose_theme(app: "TerminalApp") -> None:
    rows = [Row(name, t(name), t(THEMES[name]), "", name == app.theme_name) for name in theme.NAMES]
    found = await pick(app, Picker(t("Theme"), rows, app.look))
    if found is not None:
        app.use_theme(found.id)
        from weft.surfaces.terminal.screens.settings import remember

        await remember(app, "theme", found.id)


async def toggle_vim(app: "TerminalApp") -> None:
    from weft.surfaces.terminal.screens.settings import remember
    from weft.surfaces.terminal.vim import VimKeys

    app.composer.vim = VimKeys() if app.composer.vim is None else None
    on = app.composer.vim is not None
    app.say(t("The keys of vi are on.") if on else t("The keys of vi are off."))
    await remember(app, "editorMode", "vim" if on else "normal")


async def search_history(app: "TerminalApp") -> None:
    """Ctrl+R: everything that was typed, newest first."""
    texts = app.composer.past.search("", limit=500)
    rows = [Row(str(number), " ".join(text.split())) for number, text in enumerate(texts)]
    picker = Picker(t("Typed before"), rows, app.look, query=app.composer.text.replace("\n", " "))
    found = await pick(app, picker)
    if found is not None:
        app.composer.put(texts[int(found.id)])


async def leave(app: "TerminalApp") -> None:
    app.exit(0)
