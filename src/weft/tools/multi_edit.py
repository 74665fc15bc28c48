"""MultiEdit: several replacements in one file, all or none."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import DiffView, Display
from weft.tools.diff import structured_patch
from weft.tools.files import Current, current, locate, notes, read_data, store
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.replace import replace
from weft.tools.text import TextFile


class OneEdit(msgspec.Struct, frozen=True):
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it is by then.")]
    new_string: Annotated[str, Meta(description="The text that takes its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class MultiEditArgs(msgspec.Struct, frozen=True):
    file_path: Annotated[str, Meta(description="The file, absolute or relative to the working directory.")]
    edits: Annotated[tuple[OneEdit, ...], Meta(description="Done in this order.", min_length=1)]


class MultiEdit(Tool[MultiEditArgs]):
    name = "MultiEdit"
    args = MultiEditArgs
    kind = "edit"
    group = "edit"

    def title(self, args: MultiEditArgs) -> str:
        return f"Edit {args.file_path} in {len(args.edits)} places"

    def paths(self, args: MultiEditArgs) -> tuple[str, ...]:
        return (args.file_path,)

    async def preview(self, args: MultiEditArgs, context: ToolContext) -> tuple[Display, ...]:
        path = locate(context, args.file_path)
        try:
            now = await current(context, path)
            after = _changed(now, args)
        except (ToolError, WorkspaceError):
            return ()
        return (DiffView(str(path), now.file.shown if now.file else None, TextFile(after).shown),)

    async def run(self, args: MultiEditArgs, context: ToolContext) -> Result:
        path = locate(context, args.file_path)
        now = await current(context, path)
        if now.file is None and args.edits[0].old_string:
            await read_data(context, path)  # Says what is near.
        written = await store(context, now, _changed(now, args))
        view = written.view(path)
        return Result(
            content=f"Made {len(args.edits)} edits in {path}.{notes(written, changed=now.changed)}",
            display=(view,),
            edits=(view,),
            data={
                "filePath": str(path),
                "edits": [msgspec.to_builtins(edit) for edit in args.edits],
                "originalFile": view.before,
                "structuredPatch": structured_patch(view.before or "", view.after or ""),
                "userModified": written.modified,
            },
        )


def _changed(now: Current, args: MultiEditArgs) -> str:
    file = now.file or TextFile("")
    for number, edit in enumerate(args.edits, 1):
        if not edit.old_string and not file.text:
            file = msgspec.structs.replace(file, text=edit.new_string)
            continue
        if not edit.old_string:
            raise ToolError(f"edit {number}: old_string is empty, and the file is not. Nothing was changed.")
        try:
            text, _ = replace(file, edit.old_string, edit.new_string, every=edit.replace_all, path=now.path)
        except ToolError as error:
            raise ToolError(f"Edit {number} of {len(args.edits)}: {error}\nNothing was changed.") from error
        file = msgspec.structs.replace(file, text=text)
    return file.text
