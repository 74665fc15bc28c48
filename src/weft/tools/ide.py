"""The editor's tools for the model, while an editor is attached.

They have the names that other agents give them (`mcp__ide__…`), so that rules people already wrote hold here too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from weft.errors import ToolError, WorkspaceError
from weft.protocols.ide.answers import decode_diagnostics, decode_json, decode_outputs, texts
from weft.schema.content import Base64Source, Content, Image, Json, Text
from weft.schema.display import Display, ImageView, TextView
from weft.tools.port import A, AnyTool, Result, Tool, ToolContext
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.notes import problem_line

EXECUTE_LIMIT = 600.0


class _IdeTool(Tool[A]):
    """`text` is the manual; the tool is offered while the editor lists `remote`."""

    group = "mcp"
    remote: str
    text: str

    def __init__(self, link: IdeLink) -> None:
        self._link = link

    @property
    def manual(self) -> str:
        return self.text

    async def _call(self, arguments: Json, *, limit: float = 20.0) -> Json:
        try:
            result = await self._link.call(self.remote, arguments, limit=limit)
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        if result.get("isError") is True:
            raise ToolError("\n".join(texts(result)) or "the editor reported an error")
        return result

    def _path(self, path: str, context: ToolContext) -> str:
        return self._link.found.paths.to_theirs(str(context.session.cwd / path))


class NoArgs(msgspec.Struct, frozen=True):
    pass


class OpenFileArgs(msgspec.Struct, frozen=True):
    file_path: Annotated[str, Meta(description="The file to show.")]
    start_text: Annotated[str, Meta(description="Mark from this text on.")] = ""
    end_text: Annotated[str, Meta(description="Mark up to the end of this text.")] = ""


class OpenFileInEditor(_IdeTool[OpenFileArgs]):
    name = "mcp__ide__openFile"
    args = OpenFileArgs
    remote = "openFile"
    kind = "read"
    read_only = True
    text = (
        "Shows a file to the person in their editor, and marks a part of it when `start_text` is given. Use it when "
        "they ask to see a place, not to read a file yourself."
    )

    def title(self, args: OpenFileArgs) -> str:
        return f"Show {args.file_path} in the editor"

    def paths(self, args: OpenFileArgs) -> tuple[str, ...]:
        return (args.file_path,)

    async def run(self, args: OpenFileArgs, context: ToolContext) -> Result:
        # One editor wants both texts to be there, empty or not.
        await self._call(
            {
                "filePath": self._path(args.file_path, context),
                "startText": args.start_text,
                "endText": args.end_text,
                "preview": False,
                "selectToEndOfLine": False,
                "makeFrontmost": True,
            }
        )
        return Result(content=f"{args.file_path} is open in {self._link.name}.")


class OpenEditors(_IdeTool[NoArgs]):
    name = "mcp__ide__getOpenEditors"
    args = NoArgs
    remote = "getOpenEditors"
    kind = "read"
    read_only = True
    text = "Lists the files that the person has open in their editor, the active one, and those with unsaved changes."

    async def run(self, args: NoArgs, context: ToolContext) -> Result:
        found = decode_json(await self._call({})).get("tabs")
        tabs = msgspec.convert(found if isinstance(found, list) else [], list[dict[str, Any]])
        lines = [line for tab in tabs if (line := self._line(tab, context)) is not None]
        return Result(content="\n".join(lines) or "No file is open.", display=(TextView("\n".join(lines)),))

    def _line(self, tab: Json, context: ToolContext) -> str | None:
        name = tab.get("fileName") or tab.get("uri") or tab.get("label") or ""
        path = self._link.found.paths.to_ours(str(name).removeprefix("file://"))
        if not context.allowed("Read", {"file_path": path}):
            return None
        marks = [word for word, key in (("active", "isActive"), ("unsaved", "isDirty")) if tab.get(key) is True]
        return path + (f" ({', '.join(marks)})" if marks else "")


class DiagnosticsArgs(msgspec.Struct, frozen=True):
    uri: Annotated[str, Meta(description="A file's path or file:// address; all open files when left out.")] = ""


class GetDiagnostics(_IdeTool[DiagnosticsArgs]):
    name = "mcp__ide__getDiagnostics"
    args = DiagnosticsArgs
    remote = "getDiagnostics"
    kind = "read"
    read_only = True
    text = "Gets the errors and warnings that the person's editor knows of, for one file or for all open ones."

    async def run(self, args: DiagnosticsArgs, context: ToolContext) -> Result:
        arguments: Json = {}
        if args.uri:
            path = str(context.session.cwd / Path(args.uri.removeprefix("file://")))
            arguments["uri"] = self._link.found.paths.to_their_uri(path)
        lines: list[str] = []
        for file in decode_diagnostics(await self._call(arguments)):
            path = self._link.found.paths.to_ours(file.path)
            if file.diagnostics and context.allowed("Read", {"file_path": path}):
                lines += [f"{path}:", *(f"  {problem_line(item)}" for item in file.diagnostics)]
        return Result(content="\n".join(lines) or "No problems are known.", display=(TextView("\n".join(lines)),))


class ExecuteCodeArgs(msgspec.Struct, frozen=True):
    code: Annotated[str, Meta(description="Python code.")]


class ExecuteCode(_IdeTool[ExecuteCodeArgs]):
    name = "mcp__ide__executeCode"
    args = ExecuteCodeArgs
    remote = "executeCode"
    kind = "execute"
    text = (
        "Runs Python code in the Jupyter kernel of the person's editor. Variables stay between calls and are shared "
        "with their notebook: do not change what is there unless they asked for it."
    )

    async def run(self, args: ExecuteCodeArgs, context: ToolContext) -> Result:
        content: list[Text | Image] = []
        display: list[Display] = []
        for output in decode_outputs(await self._call({"code": args.code}, limit=EXECUTE_LIMIT)):
            if output.media_type.startswith("image/"):
                content.append(Image(Base64Source(output.media_type, output.data)))
                display.append(ImageView(output.media_type, output.data))
            else:
                content.append(Text(output.data))
                display.append(TextView(output.data))
        whole: Content = tuple(content)
        return Result(content=whole or "(no output)", display=tuple(display))


_TOOLS: tuple[type[_IdeTool[Any]], ...] = (OpenFileInEditor, OpenEditors, GetDiagnostics, ExecuteCode)


def ide_tools(link: IdeLink | None) -> Sequence[AnyTool]:
    """What the attached editor offers to the model; nothing without one."""
    if link is None or link.state != "attached":
        return ()
    return [tool(link) for tool in _TOOLS if tool.remote in link.tools]
