"""LS: what a folder holds."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.tools.files import locate
from weft.tools.globs import compile_glob
from weft.tools.port import Result, Tool, ToolContext

MAX_NAMES = 1000


class LSArgs(msgspec.Struct, frozen=True):
    path: Annotated[str, Meta(description="The folder; the working directory if not given.")] = "."
    ignore: Annotated[tuple[str, ...], Meta(description="Patterns of names to leave out.")] = ()


class LS(Tool[LSArgs]):
    name = "LS"
    args = LSArgs
    aliases = ("ListDirectory",)
    kind = "read"
    group = "readonly"
    read_only = True

    def title(self, args: LSArgs) -> str:
        return f"List {args.path}"

    def paths(self, args: LSArgs) -> tuple[str, ...]:
        return (args.path,)

    async def run(self, args: LSArgs, context: ToolContext) -> Result:
        path = locate(context, args.path)
        try:
            left_out = [compile_glob(pattern) for pattern in args.ignore]
            found = await context.workspace.list(path)
        except re.error as error:
            raise ToolError(f"a pattern in `ignore` is not usable: {error}") from error
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        names = [
            name + ("/" if stat.kind == "folder" else "")
            for name, stat in found
            if not any(pattern.fullmatch(name) for pattern in left_out)
            and context.allowed("Read", {"file_path": str(path / name)})
        ]
        text = "\n".join(names[:MAX_NAMES]) or "(The folder is empty.)"
        if len(names) > MAX_NAMES:
            text += f"\n({len(names) - MAX_NAMES} more are not shown.)"
        return Result(content=f"{path}\n{text}", data={"path": str(path), "names": names[:MAX_NAMES]})
