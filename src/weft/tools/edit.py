"""Edit: one exact piece of a file for another."""

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


class EditArgs(msgspec.Struct, frozen=True):
    file_path: Annotated[str, Meta(description="The file, absolute or relative to the working directory.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it is in the file.")]
    new_string: Annotated[str, Meta(description="The text that takes its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence, not just a single one.")] = False


class Edit(Tool[EditArgs]):
    name = "Edit"
    args = EditArgs
    aliases = ("EditFile", "StrReplace")
    kind = "edit"
    group = "edit"

    def title(self, args: EditArgs) -> str:
        return f"Edit {args.file_path}"

    def paths(self, args: EditArgs) -> tuple[str, ...]:
        return (args.file_path,)

    async def preview(self, args: EditArgs, context: ToolContext) -> tuple[Display, ...]:
        path = locate(context, args.file_path)
        try:
            now = await current(context, path)
            after, _ = _changed(now, args)
        except (ToolError, WorkspaceError):
            return ()
        return (DiffView(str(path), now.file.shown if now.file else None, TextFile(after).shown),)

    async def run(self, args: EditArgs, context: ToolContext) -> Result:
        path = locate(context, args.file_path)
        now = await current(context, path)
        if now.file is None and args.old_string:
            await read_data(context, path)  # Says what is near.
        after, count = _changed(now, args)
        written = await store(context, now, after)
        view = written.view(path)
        times = f" in {count} places" if count > 1 else ""
        return Result(
            content=f"Edited {path}{times}.{notes(written, changed=now.changed)}",
            display=(view,),
            edits=(view,),
            data={
                "filePath": str(path),
                "oldString": args.old_string,
                "newString": args.new_string,
                "originalFile": view.before,
                "structuredPatch": structured_patch(view.before or "", view.after or ""),
                "userModified": written.modified,
                "replaceAll": args.replace_all,
            },
        )


def _changed(now: Current, args: EditArgs) -> tuple[str, int]:
    if not args.old_string:
        if now.file is not None and now.file.text:
            raise ToolError(f"old_string is empty, and {now.path} is not. Name the text to replace, or use Write.")
        return args.new_string, 1
    file = now.file or TextFile("")
    return replace(file, args.old_string, args.new_string, every=args.replace_all, path=now.path)
