"""Conversations on disk: the list with search and a look inside, copies, tabs."""

from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING

from anyio import to_thread

from weft.errors import SessionError
from weft.surfaces.terminal.conversation import Opening
from weft.surfaces.terminal.paint.entry import Painted
from weft.surfaces.terminal.paint.lines import Line
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.sessions.port import SessionSummary
    from weft.surfaces.terminal.app import TerminalApp

MOST = 300
SHOWN = 40
"""Entries of a conversation that its preview paints, the last ones."""


async def pick_session(app: "TerminalApp", *, replace: bool = False) -> None:
    """Opens the chosen one: here when nothing was said yet, else in a tab. `f` goes on in a copy."""
    store = app.parts.store()
    summaries = await to_thread.run_sync(lambda: store.list(app.parts.cwd, limit=MOST))
    if not summaries:
        app.say(t("There is no other conversation in this folder yet."))
        return

    async def search(words: str) -> Sequence[Row]:
        from weft.sessions.search import search as find

        hits = await to_thread.run_sync(lambda: list(find(store, words, app.parts.cwd, limit=50, per_session=1)))
        return [Row(hit.session.session_id, _title(hit.session), hit.excerpt) for hit in hits]

    cache: dict[tuple[str, int], list[Line]] = {}

    def preview(session_id: str, width: int, height: int) -> list[Line]:
        key = (session_id, width)
        if key not in cache:
            cache[key] = look_inside(app, session_id, width)
        return cache[key][-height:]

    rows = [
        Row(each.session_id, _title(each), f"{ago(each.updated)} · {each.git_branch}".rstrip(" ·"), each.last_prompt)
        for each in summaries
    ]
    picker = Picker(
        t("Conversations"), rows, app.look, preview=preview, search=search, keys={"ctrl+f": "go on in a copy"}
    )
    found = await pick(app, picker)
    if found is None:
        return
    opening = Opening(resume=found.id, fork=found.key == "ctrl+f")
    if replace or not app.conversation.model.prompts():
        await app.replace_tab(opening)
    else:
        await app.open_tab(opening)


def look_inside(app: "TerminalApp", session_id: str, width: int) -> list[Line]:
    """The end of a conversation, as it would stand on the screen."""
    from weft.agent.replay import to_events
    from weft.sessions.resume import chain_of
    from weft.surfaces.terminal.model import Model

    try:
        records = app.parts.store().load(session_id, app.parts.cwd)
    except SessionError:
        return []
    model = Model()
    for event in to_events(chain_of(records)):
        model.apply(event)
    out: list[Line] = []
    for entry in model.entries[-SHOWN:]:
        painted = Painted(entry)
        painted.refresh(width, app.look, str(app.parts.cwd))
        out += painted.lines
    return out


def _title(summary: "SessionSummary") -> str:
    return summary.title or " ".join(summary.first_prompt.split()) or summary.session_id[:8]


def ago(when: float) -> str:
    seconds = max(0, int(time() - when))
    if seconds < 90:
        return t("just now")
    if seconds < 5400:
        return t("{n} min ago", n=seconds // 60)
    if seconds < 129_600:
        return t("{n} h ago", n=seconds // 3600)
    return t("{n} days ago", n=seconds // 86_400)


async def fork_session(app: "TerminalApp") -> None:
    info = app.conversation.model.info
    if info is None or not app.conversation.model.entries:
        app.say(t("There is nothing to copy yet."))
        return
    await app.open_tab(Opening(resume=info.session_id, fork=True))


async def new_tab(app: "TerminalApp") -> None:
    await app.open_tab(Opening())


async def close_tab(app: "TerminalApp") -> None:
    await app.close_tab()
