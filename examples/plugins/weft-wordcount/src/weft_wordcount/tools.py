"""Two tools: a class with `prepare` and `invoke`, and a plain function."""

from weft.extend.api import Call, Json, JsonPart, Link, Prepared, TextPart, ToolError, ToolResult

_log: list[dict[str, object]] = []


class CountWords:
    async def prepare(self, input: Json, call: Call) -> Prepared:
        name = str(input["file_path"])
        return Prepared(
            message=f"Counting the words of {name}",
            title="Count words",
            confirmation=f"Read `{name}` and count its words?",
        )

    async def invoke(self, input: Json, call: Call) -> ToolResult:
        path = call.cwd / str(input["file_path"])
        text = (await call.context.workspace.read(path)).decode("utf-8", "replace")
        if "\0" in text:
            raise ToolError(f"{path} is not a text file. Choose another.")
        words = text.split()
        counts = {"words": len(words), "lines": text.count("\n"), "characters": len(text)}
        _log.append({"file": str(path), **counts})
        call.host.set_context("counted", len(_log))
        parts: list[TextPart | JsonPart | Link] = [TextPart(f"{len(words)} words"), JsonPart(counts), Link(str(path))]
        longest = input.get("longest")
        if isinstance(longest, int) and longest:
            parts.append(TextPart("Longest: " + ", ".join(sorted(set(words), key=len, reverse=True)[:longest])))
        return ToolResult(parts=tuple(parts), display=f"{len(words)} words in {path.name}", data=counts)


async def word_log(input: Json, call: Call) -> JsonPart:
    return JsonPart(_log)
