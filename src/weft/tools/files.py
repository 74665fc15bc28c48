"""What the file tools share: where a path leads, what is there now, and how a change is made and told."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import DiffView
from weft.tools.port import ToolContext
from weft.tools.text import TextFile, decode_text, showable


def locate(context: ToolContext, path: str) -> Path:
    """An absolute path: relative ones count from the session's folder. `..` is left to the system, which follows
    links before it goes up; the gate resolves it the same way."""
    if not path:
        raise ToolError("the path is empty")
    return context.session.cwd / os.path.expanduser(path)


async def read_data(context: ToolContext, path: Path) -> bytes:
    """
    Raises:
        ToolError: it is not there; the sentence names what is near.
    """
    try:
        return await context.workspace.read(path)
    except WorkspaceError as error:
        raise ToolError(str(error) + await _near(context, path)) from error


async def _near(context: ToolContext, path: Path) -> str:
    try:
        if await context.workspace.stat(path) is not None:
            return ""
        names = [name for name, _ in await context.workspace.list(path.parent)]
    except WorkspaceError:
        return f". The session's folder is {context.session.cwd}."
    close = get_close_matches(path.name, names, 3, 0.6)
    if not close:
        return f". The session's folder is {context.session.cwd}."
    return ". Did you mean " + " or ".join(str(path.parent / name) for name in close) + "?"


class Current(msgspec.Struct, frozen=True):
    """A file as it is now; `file` is None when there is none. `changed` is None when it was never read."""

    path: Path
    data: bytes
    file: TextFile | None
    changed: bool | None


async def current(context: ToolContext, path: Path) -> Current:
    found = await context.workspace.stat(path)
    if found is None:
        return Current(path, b"", None, None)
    data = await read_data(context, path)
    return Current(path, data, decode_text(data, path), context.files.changed(path, data))


class Written(msgspec.Struct, frozen=True):
    """A change that was made. `modified` is true when an editor's user changed it on the way."""

    before: str | None
    after: str
    modified: bool
    problems: tuple[str, ...] = ()

    def view(self, path: Path) -> DiffView:
        return DiffView(str(path), None if self.before is None else showable(self.before), showable(self.after))


async def store(context: ToolContext, now: Current, text: str) -> Written:
    """Writes the text in the file's own encoding, remembers it as seen, and says what became of it.

    Raises:
        ToolError: it cannot be written.
    """
    file = now.file or TextFile("")
    data = file.encode(text)
    before = await _problems(context, now.path) if now.file else ()
    try:
        await context.workspace.write(now.path, data)
        kept = await context.workspace.read(now.path)
        stat = await context.workspace.stat(now.path)
    except WorkspaceError as error:
        raise ToolError(str(error)) from error
    context.files.note(now.path, kept, stat.mtime_ns if stat else 0)
    after = text if kept == data else decode_text(kept, now.path).text
    new = _new_problems(before, await _problems(context, now.path))
    return Written(now.file.text if now.file else None, after, kept != data, new)


async def _problems(context: ToolContext, path: Path) -> Sequence[str]:
    try:
        return await context.workspace.diagnostics(path) or ()
    except WorkspaceError:
        return ()


_PLACE = re.compile(r"\[Line \d+:\d+\]")


def _new_problems(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Lines move when text is added above them: a problem is new when it is another one, not in another place."""
    known = Counter(_PLACE.sub("", line) for line in before)
    new: list[str] = []
    for line in after:
        problem = _PLACE.sub("", line)
        if known[problem]:
            known[problem] -= 1
        else:
            new.append(line)
    return tuple(new)


def notes(written: Written, *, changed: bool | None) -> str:
    """What the model should know beside the change itself; empty most of the time."""
    text = ""
    if changed:
        text += (
            " The file had changed since you read it; only the text you named was replaced, the rest is as it is now."
        )
    if written.modified:
        text += " The person changed the text before accepting it: read the file before you go on."
    if written.problems:
        text += "\nThe editor now reports:\n" + "\n".join(written.problems[:20])
    return text
