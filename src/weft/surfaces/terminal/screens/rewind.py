"""Back to before a message: which one, what that would do to the files, and how much of it is wanted."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from rich.segment import Segment

from weft.schema import commands as c
from weft.schema.display import DiffView
from weft.surfaces.diffs import to_hunks
from weft.surfaces.terminal.entries import Entry, PromptEntry, ToolEntry
from weft.surfaces.terminal.paint.diffs import counts, paint_diff
from weft.surfaces.terminal.paint.lines import Line, clean
from weft.surfaces.terminal.picker import Picker, Row
from weft.surfaces.terminal.screens.ask import pick
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

BIGGEST = 2_000_000


async def rewind(app: "TerminalApp") -> None:
    model = app.conversation.model
    prompts = model.prompts()
    if not prompts:
        app.say(t("There is nothing to go back to yet."))
        return
    changes = {entry.id: await to_thread.run_sync(changes_since, model.entries, entry.id) for entry in prompts}

    def preview(id: str, width: int, height: int) -> list[Line]:
        return paint_changes(app, changes[id], width, height)

    rows = [Row(entry.id, " ".join(entry.text.split()), _summary(changes[entry.id])) for entry in reversed(prompts)]
    title = t("Go back to before which message?")
    keys = {"ctrl+f": "files only", "ctrl+t": "conversation only"}
    found = await pick(app, Picker(title, rows, app.look, preview=preview, keys=keys))
    if found is None:
        return
    files, conversation = found.key != "ctrl+t", found.key != "ctrl+f"
    entry = next(entry for entry in prompts if entry.id == found.id)
    if conversation:
        model.going_back = entry.id
        app.composer.put(entry.text)
    app.conversation.send(c.Rewind(entry.id, files=files, conversation=conversation))


def edits_of(entries: Iterable[Entry]) -> Iterable[DiffView]:
    for entry in entries:
        if isinstance(entry, ToolEntry):
            yield from entry.edits or (view for view in entry.display if isinstance(view, DiffView))
            yield from edits_of(entry.children)


def changes_since(entries: list[Entry], prompt_id: str) -> list[DiffView]:
    """Each file that was changed after the prompt: as it is now, and as it was before. Reads the disk."""
    start = next((n for n, each in enumerate(entries) if isinstance(each, PromptEntry) and each.id == prompt_id), 0)
    first: dict[str, str | None] = {}
    for view in edits_of(entries[start:]):
        first.setdefault(view.path, view.before)
    found: list[DiffView] = []
    for path, then in first.items():
        now = _read(Path(path))
        if now != then:
            found.append(DiffView(path, now, then))
    return found


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace") if path.stat().st_size <= BIGGEST else None
    except OSError:
        return None


def _summary(views: list[DiffView]) -> str:
    if not views:
        return t("no files would change")
    added, removed = (sum(side) for side in zip(*(counts(to_hunks(view)) for view in views), strict=True))
    return t("{n} files, +{added} -{removed}", n=len(views), added=added, removed=removed)


def paint_changes(app: "TerminalApp", views: list[DiffView], width: int, height: int) -> list[Line]:
    if not views:
        return [[Segment(t("No files would change; only the conversation goes back."), app.look.dim)]]
    out: list[Line] = []
    for view in views:
        path = clean(view.path.removeprefix(f"{app.parts.cwd}/"))
        out += [[Segment(path, app.look.strong)], *paint_diff(view, width, app.look, most=height)]
    return out
