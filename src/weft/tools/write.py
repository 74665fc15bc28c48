"""Write: a whole file."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import DiffView, Display
from weft.tools.diff import structured_patch
from weft.tools.files import current, locate, notes, store
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.text import TextFile, showable


class WriteArgs(msgspec.Struct, frozen=True):
    file_path: Annotated[str, Meta(description="The file, absolute or relative to the working directory.")]
    content: Annotated[str, Meta(description="Everything that the file shall hold.")]


class Write(Tool[WriteArgs]):
    name = "Write"
    args = WriteArgs
    aliases = ("WriteFile", "CreateFile")
    kind = "edit"
    group = "edit"

    def title(self, args: WriteArgs) -> str:
        return f"Write {args.file_path}"

    def paths(self, args: WriteArgs) -> tuple[str, ...]:
        return (args.file_path,)

    async def preview(self, args: WriteArgs, context: ToolContext) -> tuple[Display, ...]:
        path = locate(context, args.file_path)
        try:
            now = await current(context, path)
        except (ToolError, WorkspaceError):
            return ()
        return (DiffView(str(path), now.file.shown if now.file else None, showable(args.content)),)

    async def run(self, args: WriteArgs, context: ToolContext) -> Result:
        path = locate(context, args.file_path)
        now = await current(context, path)
        if now.changed:
            raise ToolError(f"{path} changed since you read it. Read it again, then write what should be there.")
        # The content is the whole file: its own marks and line endings, not those of what it replaces.
        written = await store(
            context, msgspec.structs.replace(now, file=now.file and TextFile(now.file.text)), args.content
        )
        view = written.view(path)
        kind = "create" if now.file is None else "update"
        lines = written.after.count("\n") + (not written.after.endswith("\n") and written.after != "")
        done = f"Created {path}" if now.file is None else f"Wrote {path} over what was there"
        return Result(
            content=f"{done} ({lines} {'line' if lines == 1 else 'lines'}).{notes(written, changed=None)}",
            display=(view,),
            edits=(view,),
            data={
                "type": kind,
                "filePath": str(path),
                "content": view.after,
                "structuredPatch": structured_patch(view.before, view.after or "") if view.before is not None else [],
                "originalFile": view.before,
                "userModified": written.modified,
            },
        )
