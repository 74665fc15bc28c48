"""Tools that are one of Weft's own under the editor's name and arguments."""

from typing import Any, ClassVar

from weft.extend.api import Call, Json, ToolError
from weft.schema.display import DiffView, Display
from weft.tools.files import current, locate
from weft.tools.port import Result
from weft.tools.registry import load


class Delegate:
    """Runs a built-in tool: the same checks, the same results."""

    tool: ClassVar[str]

    def to(self, input: Json) -> Json:
        return input

    def _decoded(self, input: Json) -> Any:
        return load(self.tool).decode(self.to(input))

    def paths(self, input: Json) -> tuple[str, ...]:
        return load(self.tool).paths(self._decoded(input))

    async def preview(self, input: Json, call: Call) -> tuple[Display, ...]:
        return await load(self.tool).preview(self._decoded(input), call.context)

    async def invoke(self, input: Json, call: Call) -> Result:
        return await load(self.tool).run(self._decoded(input), call.context)


class ReadFile(Delegate):
    tool = "Read"

    def to(self, input: Json) -> Json:
        value: Json = {"file_path": input["file_path"]}
        start, end = input.get("start_line"), input.get("end_line")
        first = start if isinstance(start, int) else 1
        if first > 1:
            value["offset"] = first
        if isinstance(end, int):
            if end < first:
                raise ToolError("end_line is before start_line")
            value["limit"] = end - first + 1
        return value


class ListDirectory(Delegate):
    tool = "LS"


class FindFiles(Delegate):
    tool = "Glob"

    def to(self, input: Json) -> Json:
        return {"pattern": input["query"], **({"path": input["path"]} if input.get("path") else {})}


class FindText(Delegate):
    tool = "Grep"

    def to(self, input: Json) -> Json:
        import re

        query = str(input["query"])
        value: Json = {
            "pattern": query if input.get("is_regexp") else re.escape(query).replace("\\ ", " ").replace("\\-", "-"),
            "output_mode": "content",
            "-i": input.get("case_sensitive") is not True,
            "head_limit": input.get("max_results") or 100,
        }
        if input.get("include_pattern"):
            value["glob"] = input["include_pattern"]
        return value


class ApplyPatch(Delegate):
    tool = "ApplyPatch"


class CreateFile(Delegate):
    tool = "Write"

    async def invoke(self, input: Json, call: Call) -> Result:
        path = locate(call.context, str(input["file_path"]))
        if await call.context.workspace.stat(path) is not None:
            raise ToolError(f"{path} exists already. Change it with insertEdit or applyPatch.")
        return await super().invoke(input, call)


class InsertEdit:
    """Puts lines into a file, or in the place of some."""

    def paths(self, input: Json) -> tuple[str, ...]:
        return (str(input["file_path"]),)

    async def _made(self, input: Json, call: Call) -> tuple[str, str, Any]:
        path = locate(call.context, str(input["file_path"]))
        now = await current(call.context, path)
        if now.file is None:
            raise ToolError(f"{path} does not exist. Create it with createFile.")
        lines = now.file.text.splitlines(keepends=True)
        line, replaced = input["line"], input.get("replace_lines") or 0
        assert isinstance(line, int) and isinstance(replaced, int)
        if line > len(lines) + 1 or line - 1 + replaced > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines; there is no line {max(line, line - 1 + replaced)}.")
        code = str(input["code"])
        if code and not code.endswith("\n"):
            code += "\n"
        if line == len(lines) + 1 and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        after = "".join([*lines[: line - 1], code, *lines[line - 1 + replaced :]])
        return now.file.text, after, now

    async def preview(self, input: Json, call: Call) -> tuple[Display, ...]:
        try:
            before, after, now = await self._made(input, call)
        except ToolError:
            return ()
        return (DiffView(str(now.path), before, after),)

    async def invoke(self, input: Json, call: Call) -> Result:
        before, after, now = await self._made(input, call)
        data = now.file.encode(after)
        await call.context.workspace.write(now.path, data)
        stat = await call.context.workspace.stat(now.path)
        call.context.files.note(now.path, data, stat.mtime_ns if stat else 0)
        view = DiffView(str(now.path), before, after)
        return Result(content=f"Changed {now.path}.", display=(view,), edits=(view,), data={"filePath": str(now.path)})


class CreateDirectory:
    def paths(self, input: Json) -> tuple[str, ...]:
        return (str(input["path"]),)

    async def invoke(self, input: Json, call: Call) -> str:
        from weft.tools.ripgrep import run_whole

        path = locate(call.context, str(input["path"]))
        found = await call.context.workspace.stat(path)
        if found is not None:
            if found.kind != "folder":
                raise ToolError(f"{path} is there already and is no folder.")
            return f"{path} is there already."
        code, output = await run_whole(call.context, ("mkdir", "-p", "--", str(path)), call.cwd)
        if code:
            raise ToolError(f"{path} cannot be made: {output.decode('utf-8', 'replace').strip()}")
        return f"Made {path}."
