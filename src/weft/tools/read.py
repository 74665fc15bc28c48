"""Read: a file by lines, or an image, a PDF or a notebook as what it is."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.tools.files import locate, read_data
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.text import decode_text

MAX_LINES = 2000
MAX_CHARS = 90_000
MAX_CHARS_LARGE = 600_000
MAX_LINE = 2000


class ReadArgs(msgspec.Struct, frozen=True):
    file_path: Annotated[str, Meta(description="The file, absolute or relative to the working directory.")]
    offset: Annotated[int, Meta(description="First line, counted from 1.", ge=0)] = 1
    limit: Annotated[int | None, Meta(description="How many lines; up to 2000 when not given.")] = None
    pages: Annotated[str | None, Meta(description='Pages of a PDF: "3", "1-5" or "2,7-9".')] = None
    allow_large: Annotated[bool, Meta(description="Take a large file in one piece.")] = False


class Read(Tool[ReadArgs]):
    name = "Read"
    args = ReadArgs
    aliases = ("ReadFile", "View")
    kind = "read"
    group = "readonly"
    read_only = True

    def title(self, args: ReadArgs) -> str:
        return f"Read {args.file_path}"

    def paths(self, args: ReadArgs) -> tuple[str, ...]:
        return (args.file_path,)

    async def run(self, args: ReadArgs, context: ToolContext) -> Result:
        if args.limit is not None and args.limit < 1:
            raise ToolError("limit must be at least 1")
        path = locate(context, args.file_path)
        data = await read_data(context, path)
        stat = await context.workspace.stat(path)
        mtime = stat.mtime_ns if stat else 0
        if data[:5] == b"%PDF-":
            from weft.tools.pdf import read_pdf

            context.files.note(path, data, mtime, partial=True)
            return await read_pdf(path, data, args.pages)
        from weft.tools.images import media_type, show_image

        if media := media_type(data):
            context.files.note(path, data, mtime)
            return await show_image(path, data, media)
        if path.suffix == ".ipynb":
            from weft.tools.notebook import show_notebook

            context.files.note(path, data, mtime)
            return show_notebook(path, data)
        return self._text(args, context, str(path), data, mtime)

    def _text(self, args: ReadArgs, context: ToolContext, path: str, data: bytes, mtime: int) -> Result:
        file = decode_text(data, path)
        lines = file.shown.split("\n")
        start = max(args.offset, 1)
        if start > len(lines):
            raise ToolError(f"{path} has only {len(lines)} lines: there is no line {start}")
        most = args.limit or (len(lines) if args.allow_large else MAX_LINES)
        room = MAX_CHARS_LARGE if args.allow_large else MAX_CHARS
        shown: list[str] = []
        for number, line in enumerate(lines[start - 1 : start - 1 + most], start):
            text = f"{number}\t{_cut(line.removesuffix(chr(13)))}"
            room -= len(text) + 1
            if room < 0 and shown:
                break
            shown.append(text)
        end = start + len(shown) - 1
        whole = start == 1 and end == len(lines)
        context.files.note(locate(context, path), data, mtime, partial=not whole)
        content = "\n".join(shown)
        if not data:
            content = "(The file exists and is empty.)"
        elif end < len(lines) and (args.limit is None or len(shown) < args.limit):
            content += (
                f"\n\n(Lines {start} to {end} of {len(lines)}. The file goes on: read it with offset={end + 1}, "
                "or look for what you need with Grep.)"
            )
        body = "\n".join(lines[start - 1 : end])
        described: dict[str, object] = {
            "filePath": path,
            "content": body,
            "numLines": len(shown),
            "startLine": start,
            "totalLines": len(lines),
        }
        return Result(content=content, data={"type": "text", "file": described})


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}... [line cut: it has {len(line):,} characters]"
