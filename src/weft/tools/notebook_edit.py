"""NotebookEdit: one cell of a notebook."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.schema.display import DiffView, Display
from weft.tools.files import Current, current, locate, notes, read_data, store
from weft.tools.notebook import CellType, NotebookText
from weft.tools.port import Result, Tool, ToolContext


class NotebookEditArgs(msgspec.Struct, frozen=True):
    notebook_path: Annotated[str, Meta(description="The .ipynb file.")]
    new_source: Annotated[str, Meta(description="The cell's new text; not used to delete.")] = ""
    cell_id: Annotated[
        str | None, Meta(description="The cell. To insert: the cell before the new one; at the start if not given.")
    ] = None
    cell_type: Annotated[Literal["code", "markdown", "raw"] | None, Meta(description="Needed to insert.")] = None
    edit_mode: Annotated[Literal["replace", "insert", "delete"], Meta(description="What to do.")] = "replace"


class NotebookEdit(Tool[NotebookEditArgs]):
    name = "NotebookEdit"
    args = NotebookEditArgs
    kind = "edit"
    group = "edit"

    def title(self, args: NotebookEditArgs) -> str:
        return f"Edit {args.notebook_path}"

    def paths(self, args: NotebookEditArgs) -> tuple[str, ...]:
        return (args.notebook_path,)

    async def preview(self, args: NotebookEditArgs, context: ToolContext) -> tuple[Display, ...]:
        path = locate(context, args.notebook_path)
        try:
            now = await current(context, path)
            after, _, _ = _changed(now, args)
        except (ToolError, WorkspaceError):
            return ()
        return (DiffView(str(path), now.file.shown if now.file else None, after),)

    async def run(self, args: NotebookEditArgs, context: ToolContext) -> Result:
        path = locate(context, args.notebook_path)
        now = await current(context, path)
        if now.file is None:
            await read_data(context, path)  # Says what is near.
        after, name, kind = _changed(now, args)
        written = await store(context, now, after)
        view = written.view(path)
        done = {"replace": "Changed", "insert": "Inserted", "delete": "Deleted"}[args.edit_mode]
        return Result(
            content=f"{done} cell {name} in {path}.{notes(written, changed=now.changed)}",
            display=(view,),
            edits=(view,),
            data={
                "new_source": args.new_source,
                "cell_id": name,
                "cell_type": kind,
                "language": "python",
                "edit_mode": args.edit_mode,
                "notebook_path": str(path),
                "original_file": view.before,
                "updated_file": view.after,
            },
        )


def _changed(now: Current, args: NotebookEditArgs) -> tuple[str, str, CellType]:
    """The file's new text, and the cell's name and kind."""
    if now.path.suffix != ".ipynb":
        raise ToolError(f"{now.path} is not a notebook (.ipynb). Use Edit for other files.")
    notebook = NotebookText(now.file.text if now.file else "", now.path)
    if args.edit_mode == "insert":
        if args.cell_type is None:
            raise ToolError("cell_type is needed to insert a cell: code, markdown or raw")
        after = notebook.find(args.cell_id) if args.cell_id is not None else -1
        text, name = notebook.insert(after, args.new_source, args.cell_type)
        return text, name, args.cell_type
    if args.cell_id is None:
        raise ToolError("cell_id is needed: read the notebook to see its cells")
    index = notebook.find(args.cell_id)
    found = notebook.notebook.cells[index].cell_type
    kind: CellType = found if found == "markdown" or found == "raw" else "code"
    if args.edit_mode == "delete":
        return notebook.delete(index), args.cell_id, kind
    if args.cell_type is not None and args.cell_type != kind:
        return notebook.retype(index, args.new_source, args.cell_type), args.cell_id, args.cell_type
    return notebook.replace(index, args.new_source), args.cell_id, kind
