"""Read, Write and Edit: what the model reads, what programs get, and what is refused."""

import base64
from pathlib import Path
from typing import Any, cast

import pytest

from weft.errors import ToolError
from weft.schema.content import Image, Text
from weft.schema.display import DiffView
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools.edit import Edit
from weft.tools.port import Result, ToolContext
from weft.tools.read import Read
from weft.tools.write import Write

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def make(**files: str | bytes) -> tuple[MemoryWorkspace, ToolContext]:
    workspace = MemoryWorkspace({name.replace("__", "."): data for name, data in files.items()})
    return workspace, fake_tool_context(workspace)


async def call(tool: Any, context: ToolContext, **args: object) -> Result:
    return await tool.run(tool.decode(args), context)


def data_of(result: Result) -> dict[str, Any]:
    return cast("dict[str, Any]", result.data)


async def test_lines_are_numbered_and_the_last_empty_one_too() -> None:
    _, context = make(a="one\ntwo\r\n")
    result = await call(Read(), context, file_path="a")
    assert result.content == "1\tone\n2\ttwo\n3\t"
    assert data_of(result) == {
        "type": "text",
        "file": {"filePath": "/work/a", "content": "one\ntwo\r\n", "numLines": 3, "startLine": 1, "totalLines": 3},
    }


async def test_a_range_is_given_as_asked_and_without_a_note() -> None:
    _, context = make(a="\n".join(f"l{n}" for n in range(1, 11)))
    result = await call(Read(), context, file_path="/work/a", offset="4", limit=2)
    assert result.content == "4\tl4\n5\tl5"


async def test_a_long_file_ends_with_the_next_offset() -> None:
    _, context = make(a="x" * 50 + "\n" + ("y" * 100 + "\n") * 3000)
    first = await call(Read(), context, file_path="a")
    assert isinstance(first.content, str) and len(first.content) < 91_000
    shown = data_of(first)["file"]["numLines"]
    assert f"offset={shown + 1}" in first.content
    rest = await call(Read(), context, file_path="a", allow_large=True)
    assert data_of(rest)["file"]["numLines"] == 3002


async def test_a_giant_line_is_cut() -> None:
    _, context = make(a="z" * 5000)
    result = await call(Read(), context, file_path="a")
    assert isinstance(result.content, str) and "5,000 characters" in result.content and len(result.content) < 2100


async def test_empty_and_missing_and_binary_files_say_so() -> None:
    _, context = make(empty="", settings__py="x", blob=b"\x00\x01")
    assert "empty" in str((await call(Read(), context, file_path="empty")).content)
    with pytest.raises(ToolError, match=r"does not exist. Did you mean /work/settings.py"):
        await call(Read(), context, file_path="setting.py")
    with pytest.raises(ToolError, match="binary"):
        await call(Read(), context, file_path="blob")
    with pytest.raises(ToolError, match="no line 9"):
        await call(Read(), context, file_path="settings.py", offset=9)


async def test_an_image_is_seen_as_one_whatever_its_name() -> None:
    _, context = make(picture__txt=PIXEL)
    result = await call(Read(), context, file_path="picture.txt")
    assert isinstance(result.content, tuple) and isinstance(result.content[0], Image)
    assert data_of(result)["file"]["type"] == "image/png"
    assert result.display


def _pdf(pages: int) -> bytes:
    import io

    import pypdfium2

    pdf = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        pdf.new_page(200, 200)
    out = io.BytesIO()
    pdf.save(out)
    pdf.close()
    return out.getvalue()


async def test_a_pdf_comes_by_pages_and_pages_without_text_as_pictures() -> None:
    _, context = make(a__pdf=_pdf(3))
    result = await call(Read(), context, file_path="a.pdf", pages="2-3")
    assert isinstance(result.content, tuple)
    assert [type(block) for block in result.content] == [Image, Image, Text]
    with pytest.raises(ToolError, match="pages 1 to 3"):
        await call(Read(), context, file_path="a.pdf", pages="4")
    with pytest.raises(ToolError, match="write it like"):
        await call(Read(), context, file_path="a.pdf", pages="all")


async def test_a_broken_pdf_is_a_sentence() -> None:
    _, context = make(a__pdf=b"%PDF-1.4 nothing")
    with pytest.raises(ToolError, match="cannot be read as a PDF"):
        await call(Read(), context, file_path="a.pdf")


async def test_write_creates_with_folders_and_tells_both_sides() -> None:
    workspace, context = make()
    result = await call(Write(), context, file_path="deep/a.txt", content="one\n")
    assert workspace.files["/work/deep/a.txt"] == b"one\n"
    assert result.content == "Created /work/deep/a.txt (1 line)."
    assert data_of(result)["type"] == "create" and data_of(result)["originalFile"] is None
    assert [(view.before, view.after) for view in result.edits] == [(None, "one\n")]


async def test_write_over_a_file_that_changed_since_it_was_read_is_refused() -> None:
    workspace, context = make(a="one\n")
    await call(Read(), context, file_path="a")
    workspace.put(Path("/work/a"), "two\n")
    with pytest.raises(ToolError, match="Read it again"):
        await call(Write(), context, file_path="a", content="three\n")
    assert workspace.files["/work/a"] == b"two\n"
    await call(Read(), context, file_path="a")
    await call(Write(), context, file_path="a", content="three\n")
    result = await call(Write(), context, file_path="a", content="four\n")
    assert data_of(result)["type"] == "update"
    assert workspace.files["/work/a"] == b"four\n"


async def test_write_over_a_file_never_read_shows_the_difference_at_the_gate() -> None:
    _, context = make(a="one\n")
    tool = Write()
    args = tool.decode({"file_path": "a", "content": "two\n"})
    (view,) = await tool.preview(args, context)
    assert view == DiffView("/work/a", "one\n", "two\n")
    assert (await tool.run(args, context)).content == "Wrote /work/a over what was there (1 line)."


async def test_edit_replaces_exactly_one_place() -> None:
    workspace, context = make(a="one\ntwo\none\n")
    result = await call(Edit(), context, file_path="a", old_string="two", new_string="2")
    assert workspace.files["/work/a"] == b"one\n2\none\n"
    assert data_of(result)["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": [" one", "-two", "+2", " one"]}
    ]
    with pytest.raises(ToolError, match=r"occurs 2 times in /work/a \(lines 1, 3\)"):
        await call(Edit(), context, file_path="a", old_string="one", new_string="1")
    result = await call(Edit(), context, file_path="a", old_string="one", new_string="1", replace_all="true")
    assert workspace.files["/work/a"] == b"1\n2\n1\n"
    assert "2 places" in str(result.content)


async def test_edit_keeps_the_mark_the_line_endings_and_bytes_that_are_no_text() -> None:
    workspace, context = make(a=b"\xef\xbb\xbfone\r\ntwo\r\n\xff\xfe tail\r\n")
    await call(Edit(), context, file_path="a", old_string="one\ntwo", new_string="1\n1b\n2")
    assert workspace.files["/work/a"] == b"\xef\xbb\xbf1\r\n1b\r\n2\r\n\xff\xfe tail\r\n"
    wide, context = make(b="\ufeffone\n".encode("utf-16-le"))
    await call(Edit(), context, file_path="b", old_string="one", new_string="två")
    assert wide.files["/work/b"] == "\ufefftvå\n".encode("utf-16-le")


async def test_edit_leaves_mixed_line_endings_elsewhere_alone() -> None:
    workspace, context = make(a=b"a\r\nb\nc\r\nd\n")
    await call(Edit(), context, file_path="a", old_string="b\nc", new_string="B\nC")
    assert workspace.files["/work/a"] == b"a\r\nB\nC\r\nd\n"


async def test_edit_of_a_file_that_changed_is_applied_where_the_text_still_matches_and_says_so() -> None:
    workspace, context = make(a="one\ntwo\n")
    await call(Read(), context, file_path="a")
    workspace.put(Path("/work/a"), "one\ntwo\nthree\n")
    result = await call(Edit(), context, file_path="a", old_string="two", new_string="2")
    assert "had changed since you read it" in str(result.content)
    assert workspace.files["/work/a"] == b"one\n2\nthree\n"
    result = await call(Edit(), context, file_path="a", old_string="2", new_string="two")
    assert "had changed" not in str(result.content)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("1\tdef run(self):", "without the line numbers"),
        ("def run( self):", "nearest text"),
        ("def run(self):\n\treturn 1", "white space differs"),
        ("completely different words", "Nothing in the file is like it"),
    ],
)
async def test_text_that_is_not_there_is_answered_with_help(old: str, said: str) -> None:
    workspace, context = make(a="def run(self):\n    return 1\n\n\ndef walk(self):\n    return 2\n")
    before = workspace.files["/work/a"]
    with pytest.raises(ToolError, match=said):
        await call(Edit(), context, file_path="a", old_string=old, new_string="x")
    assert workspace.files["/work/a"] == before


async def test_edit_with_an_empty_old_text_makes_a_new_file_only() -> None:
    workspace, context = make(a="x")
    await call(Edit(), context, file_path="new", old_string="", new_string="hello\n")
    assert workspace.files["/work/new"] == b"hello\n"
    with pytest.raises(ToolError, match="old_string is empty"):
        await call(Edit(), context, file_path="a", old_string="", new_string="y")
    with pytest.raises(ToolError, match="the same"):
        await call(Edit(), context, file_path="a", old_string="x", new_string="x")
    with pytest.raises(ToolError, match="does not exist"):
        await call(Edit(), context, file_path="gone", old_string="x", new_string="y")


async def test_new_problems_that_an_editor_reports_are_told() -> None:
    class Editor(MemoryWorkspace):
        async def write(self, path: Path, data: bytes) -> None:
            await super().write(path, data + b"# by hand\n")
            self.problems[str(path)] = ("line 1: old", "line 2: new")

    editor = Editor({"a": "x = 1\n"})
    editor.problems["/work/a"] = ("line 1: old",)
    result = await call(Edit(), fake_tool_context(editor), file_path="a", old_string="1", new_string="2")
    assert "reports:\nline 2: new" in str(result.content) and "line 1" not in str(result.content)
    assert data_of(result)["userModified"] is True
    assert "The person changed the text" in str(result.content)
