"""Notebooks: read as cells, changed cell by cell, every other byte as it was."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import ToolError
from weft.schema.content import Image
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools.json_spans import elements, end_of, members
from weft.tools.notebook import NotebookText
from weft.tools.notebook_edit import NotebookEdit
from weft.tools.port import Result
from weft.tools.read import Read

CELLS = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Ünicode \u2028\n", "text"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "work",
        "metadata": {"odd": 1.50},
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": ["42\n"]},
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}},
        ],
        "source": ["print(42)"],
    },
    {"cell_type": "raw", "id": "end", "metadata": {}, "source": "one string"},
]
BOOK = {"cells": CELLS, "metadata": {"x": [1, 2]}, "nbformat": 4, "nbformat_minor": 5}
FORMS = {
    "one space": json.dumps(BOOK, indent=1, ensure_ascii=False) + "\n",
    "four spaces": json.dumps(BOOK, indent=4),
    "compact": json.dumps(BOOK, separators=(",", ":")),
}


async def edit(text: str, **args: object) -> tuple[str, Result]:
    workspace = MemoryWorkspace({"n.ipynb": text})
    tool = NotebookEdit()
    result = await tool.run(tool.decode({"notebook_path": "n.ipynb", **args}), fake_tool_context(workspace))
    return workspace.files["/work/n.ipynb"].decode(), result


def cells(text: str) -> list[dict[str, object]]:
    return json.loads(text)["cells"]


@pytest.mark.parametrize("form", FORMS)
async def test_a_replaced_cell_is_all_that_changes(form: str) -> None:
    text = FORMS[form]
    after, _ = await edit(text, cell_id="work", new_source="a = 1\nprint('ö')\n")
    changed = cells(after)
    assert changed[1] == {**CELLS[1], "source": ["a = 1\n", "print('ö')\n"], "outputs": [], "execution_count": None}
    assert (changed[0], changed[2]) == (CELLS[0], CELLS[2])
    first = text.index("work") - 60
    assert after[:first] == text[:first]
    tail = text[text.rindex("]") :]
    assert after.endswith(tail) and after[-len(text[text.rindex("raw") :]) :] == text[text.rindex("raw") :]


@pytest.mark.parametrize("form", FORMS)
async def test_cells_are_inserted_and_deleted_where_they_are_named(form: str) -> None:
    text = FORMS[form]
    after, result = await edit(text, cell_id="intro", new_source="x", cell_type="code", edit_mode="insert")
    assert [cell["cell_type"] for cell in cells(after)] == ["markdown", "code", "code", "raw"]
    assert cells(after)[1]["id"] in str(result.content)
    first, _ = await edit(text, new_source="x", cell_type="raw", edit_mode="insert")
    assert cells(first)[1:] == CELLS
    for index, cell in enumerate(CELLS):
        gone, _ = await edit(text, cell_id=cell["id"], edit_mode="delete")
        assert cells(gone) == CELLS[:index] + CELLS[index + 1 :]


@pytest.mark.parametrize("form", FORMS)
async def test_deleting_what_was_inserted_gives_the_same_bytes(form: str) -> None:
    text = FORMS[form]
    for name in ("intro", "work", "end"):
        book = NotebookText(text, "n")
        after, new = book.insert(book.find(name), "x\ny", "code")
        assert NotebookText(after, "n").delete(NotebookText(after, "n").find(new)) == text


async def test_a_cell_changes_its_kind_and_keeps_its_id() -> None:
    after, _ = await edit(FORMS["one space"], cell_id="end", new_source="*md*", cell_type="markdown")
    assert cells(after)[2] == {"cell_type": "markdown", "id": "end", "metadata": {}, "source": ["*md*"]}


async def test_what_is_not_there_is_said() -> None:
    with pytest.raises(ToolError, match="The cells are: intro, work, end"):
        await edit(FORMS["compact"], cell_id="nope", new_source="x")
    with pytest.raises(ToolError, match="cell_type is needed"):
        await edit(FORMS["compact"], new_source="x", edit_mode="insert")
    with pytest.raises(ToolError, match="not a notebook that can be read"):
        await edit("{}", cell_id="a", new_source="x")


async def test_cells_without_ids_go_by_position_and_an_empty_book_takes_one() -> None:
    old = json.dumps({"cells": [{"cell_type": "code", "source": "1"}], "nbformat": 4, "nbformat_minor": 2}, indent=1)
    after, _ = await edit(old, cell_id="cell-0", new_source="2")
    assert cells(after) == [{"cell_type": "code", "source": "2"}]
    empty = json.dumps({"cells": [], "nbformat": 4, "nbformat_minor": 5}, indent=1)
    after, _ = await edit(empty, new_source="1", cell_type="code", edit_mode="insert")
    assert len(cells(after)) == 1


async def test_reading_shows_cells_and_outputs() -> None:
    tool = Read()
    context = fake_tool_context(MemoryWorkspace({"n.ipynb": FORMS["compact"]}))
    result = await tool.run(tool.decode({"file_path": str(Path("/work/n.ipynb"))}), context)
    assert isinstance(result.content, tuple)
    assert any(isinstance(block, Image) for block in result.content)
    text = str(result.content)
    assert "--- cell work (code) ---" in text and "42" in text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"\\[{,', max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=5), st.sampled_from([None, 1, 4]))
def test_spans_are_the_values(values: list[object], indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    assert [json.loads(text[a:b]) for a, b in elements(text, 0)] == values
    assert end_of(text, 0) == len(text)
    named = json.dumps({"a": values, "b": 1}, indent=indent)
    spans = members(named, 0)
    assert json.loads(named[slice(*spans["a"])]) == values
