"""The first time, and whenever no model can be used: what was found on this machine, and what to do about it."""

import os
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from weft.errors import WeftError
from weft.surfaces.terminal.conversation import Opening
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

MARKS = {"ok": "✓", "missing": "–", "problem": "✗"}


async def greet(app: "TerminalApp") -> None:
    """Says where we are. A folder that wants trust is asked about; a session that could not start opens the set-up."""
    await app.conversation.settled()
    if not app.is_running:
        return
    if app.conversation.failed is not None and app.conversation.model.info is None:
        await set_up(app)
        return
    await ask_trust(app)


async def set_up(app: "TerminalApp") -> None:
    """A list of what was found. Choosing a model uses it from now on."""
    found = await app.parts.look_around()
    rows: list[Row] = []
    for number, each in enumerate(found):
        rows.append(Row(f"use {number}" if each.model else "", f"{MARKS[each.state]} {each.text}", each.advice))
    rows += [
        Row("", ""),
        Row("key anthropic", t("Give an Anthropic API key"), t("for this session only; it is not written anywhere")),
        Row("key openai", t("Give an OpenAI API key"), t("for this session only; it is not written anywhere")),
        Row("again", t("Look again")),
    ]
    chosen = await pick(app, Picker(t("Set-up: what was found here"), rows, app.look))
    if chosen is None:
        return
    if chosen.id == "again":
        await set_up(app)
    elif chosen.id.startswith("key "):
        await _take_key(app, "ANTHROPIC_API_KEY" if chosen.id == "key anthropic" else "OPENAI_API_KEY")
    else:
        model = found[int(chosen.id.removeprefix("use "))].model
        from weft.surfaces.terminal.screens.settings import remember

        await remember(app, "model", model)
        await start_again(app, model)


async def _take_key(app: "TerminalApp", name: str) -> None:
    from weft.surfaces.terminal.screens.line import ask_line

    key = await ask_line(
        app, name, t("The key is kept in this process and handed to nobody but its provider."), secret=True
    )
    if key:
        os.environ[name] = key
        await start_again(app, None)


async def start_again(app: "TerminalApp", model: str | None) -> None:
    """The same tab with an agent that may work this time."""
    await app.replace_tab(msgspec.structs.replace(app.conversation.opening, model=model))


async def ask_trust(app: "TerminalApp") -> None:
    from weft.permissions.trust import accept, state_of

    state = await to_thread.run_sync(state_of, app.parts.cwd, app.parts.env)
    if state.trusted or not state.changed:
        return
    notes = [Row("", f"{change.path}: {', '.join(change.keys) or t('servers')}") for change in state.changed]
    rows = [
        Row("no", t("Not now"), t("work here, but leave these out")),
        Row("yes", t("Trust this folder"), t("they take effect, until one of these files changes")),
        Row("", ""),
        Row("", t("These files of the folder want to run or allow something:")),
        *notes,
    ]
    chosen = await pick(app, Picker(t("Do you trust {folder}?", folder=app.parts.cwd.name), rows, app.look))
    if chosen is None or chosen.id != "yes":
        return
    try:
        await to_thread.run_sync(accept, app.parts.cwd, app.parts.env)
    except WeftError as error:
        app.say(str(error), "warning")
        return
    if not app.conversation.model.entries or not app.conversation.model.running:
        info = app.conversation.model.info
        said = bool(app.conversation.model.prompts())
        resume = info.session_id if info is not None and said else None
        await app.replace_tab(Opening(first=app.conversation.opening.first, resume=resume))
