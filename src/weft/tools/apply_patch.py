"""ApplyPatch: changes in several files, all or none."""

from pathlib import Path
from typing import Annotated

import anyio
import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import DiffView, Display
from weft.tools.files import Current, current, locate
from weft.tools.patch import FileChange, apply_change, parse_patch
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.text import TextFile, showable

UNDO_LIMIT = 10.0


class ApplyPatchArgs(msgspec.Struct, frozen=True):
    patch: Annotated[str, Meta(description="A unified diff, or text from *** Begin Patch to *** End Patch.")]


class Step(msgspec.Struct, frozen=True):
    """One file before and after; None is a file that is not there."""

    path: Path
    before: bytes | None
    after: bytes | None
    view: DiffView


class ApplyPatch(Tool[ApplyPatchArgs]):
    name = "ApplyPatch"
    args = ApplyPatchArgs
    aliases = ("apply_patch",)
    arg_aliases = (("input", "patch"),)
    kind = "edit"
    group = "edit"

    def title(self, args: ApplyPatchArgs) -> str:
        return "Patch " + (", ".join(dict.fromkeys(self.paths(args))) or "files")

    def paths(self, args: ApplyPatchArgs) -> tuple[str, ...]:
        try:
            changes = parse_patch(args.patch)
        except ToolError:
            return ()
        return tuple(dict.fromkeys(path for each in changes for path in (each.path, each.new_path) if path))

    async def preview(self, args: ApplyPatchArgs, context: ToolContext) -> tuple[Display, ...]:
        try:
            return tuple(step.view for step in await _plan(args, context))
        except (ToolError, WorkspaceError):
            return ()

    async def run(self, args: ApplyPatchArgs, context: ToolContext) -> Result:
        steps = await _plan(args, context)
        done: list[Step] = []
        try:
            for step in steps:
                done.append(step)
                await _put(context, step.path, step.after)
        except WorkspaceError as error:
            await _undo(context, done)
            raise ToolError(f"{error}. Nothing was changed.") from error
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(UNDO_LIMIT, shield=True):
                await _undo(context, done)
            raise
        lines = [f"{_verb(step)} {step.path}" for step in steps]
        views = tuple(step.view for step in steps)
        files = [
            {
                "filePath": str(step.path),
                "type": _verb(step).lower(),
                "originalFile": step.view.before,
                "content": step.view.after,
            }
            for step in steps
        ]
        return Result(content="\n".join(lines), display=views, edits=views, data={"files": files})


def _verb(step: Step) -> str:
    return "Added" if step.before is None else "Deleted" if step.after is None else "Changed"


async def _put(context: ToolContext, path: Path, data: bytes | None) -> None:
    if data is None:
        await context.workspace.remove(path)
        context.files.forget(path)
        return
    await context.workspace.write(path, data)
    stat = await context.workspace.stat(path)
    context.files.note(path, data, stat.mtime_ns if stat else 0)


async def _undo(context: ToolContext, done: list[Step]) -> None:
    """Takes back what was done. Of the last one it is not known whether it was."""
    for step in reversed(done):
        try:
            if step.before is not None or await context.workspace.stat(step.path) is not None:
                await _put(context, step.path, step.before)
        except WorkspaceError as error:
            raise ToolError(f"{step.path} was changed and could not be brought back: {error}") from error


async def _plan(args: ApplyPatchArgs, context: ToolContext) -> list[Step]:
    """All changes, worked out before the first is made. A file may occur several times."""
    now: dict[Path, bytes | None] = {}
    first: dict[Path, bytes | None] = {}
    for change in parse_patch(args.patch):
        await _step(change, context, now, first)
    steps = [
        Step(path, first[path], after, DiffView(str(path), _shown(first[path]), _shown(after)))
        for path, after in now.items()
        if first[path] != after
    ]
    if not steps:
        raise ToolError("the patch leaves every file as it is")
    return steps


async def _step(
    change: FileChange, context: ToolContext, now: dict[Path, bytes | None], first: dict[Path, bytes | None]
) -> None:
    async def look(name: str) -> Current:
        path = locate(context, name)
        if path not in now:
            found = await current(context, path)
            now[path] = first[path] = found.data if found.file is not None else None
            return found
        data = now[path]
        return Current(path, data or b"", None if data is None else _decoded(data, path), None)

    source = await look(change.path) if change.path is not None else None
    target = await look(change.new_path) if change.new_path is not None else None
    if source is not None and source.file is None:
        raise ToolError(f"{source.path} does not exist. Nothing was changed.")
    if target is not None and target.file is not None and (source is None or target.path != source.path):
        raise ToolError(f"{target.path} exists already. Nothing was changed.")
    file = (source.file if source else None) or TextFile("")
    if source is not None and (target is None or target.path != source.path):
        now[source.path] = None
    if target is not None:
        now[target.path] = file.encode(apply_change(file, change))


def _decoded(data: bytes, path: Path) -> TextFile:
    from weft.tools.text import decode_text

    return decode_text(data, path)


def _shown(data: bytes | None) -> str | None:
    return None if data is None else showable(_decoded(data, Path()).text)
