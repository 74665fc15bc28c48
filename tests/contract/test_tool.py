"""Every tool keeps the same promises to the model and to the gate."""

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from weft.errors import ToolError
from weft.schema.content import Json
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools import registry
from weft.tools.arguments import explain
from weft.tools.port import AnyTool
from weft.tools.skill import Loaded, Skill
from weft.tools.structured_output import StructuredOutput
from weft.tools.tool_search import ToolSearch

RIGHT: dict[str, Json] = {
    "ApplyPatch": {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"},
    "AskUserQuestion": {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]},
    "Bash": {"command": "true"},
    "Edit": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
    "EnterPlanMode": {},
    "ExitPlanMode": {"plan": "1. Do it"},
    "Glob": {"pattern": "*.txt"},
    "Grep": {"pattern": "one"},
    "LS": {},
    "MultiEdit": {"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]},
    "NotebookEdit": {"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "2"},
    "Read": {"file_path": "a.txt"},
    "Skill": {"skill": "release"},
    "Task": {"description": "Look", "prompt": "Look around"},
    "TaskOutput": {"task_id": "b1"},
    "TaskStop": {"task_id": "b1"},
    "TodoWrite": {"todos": [{"content": "Run", "status": "pending", "activeForm": "Running"}]},
    "ToolSearch": {"query": "files"},
    "WebFetch": {"url": "https://example.com/", "prompt": "What is it?"},
    "WebSearch": {"query": "weft"},
    "Write": {"file_path": "b.txt", "content": "x"},
}


async def _load(name: str, arguments: str) -> Loaded:
    return Loaded(f"{name} {arguments}")


TOOLS: dict[str, AnyTool] = {name: registry.load(name) for name in registry.MODULES}
TOOLS["Skill"] = Skill(_load)
TOOLS["ToolSearch"] = ToolSearch(list, lambda _names: None)
STRUCTURED = StructuredOutput({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


@pytest.fixture(params=sorted(TOOLS))
def tool(request: pytest.FixtureRequest) -> AnyTool:
    return TOOLS[cast("str", request.param)]


def walk(node: object) -> list[str]:
    if isinstance(node, dict):
        found = cast("Json", node)
        return [*found, *(key for value in found.values() for key in walk(value))]
    return [key for each in cast("list[object]", node) for key in walk(each)] if isinstance(node, list) else []


def test_the_schema_is_a_plain_object(tool: AnyTool) -> None:
    schema = tool.input_schema
    assert schema["type"] == "object"
    assert not {"$ref", "$defs", "title", "anyOf"} & set(walk(schema))
    properties = cast("dict[str, Json]", schema.get("properties") or {})
    assert set(cast("list[str]", schema.get("required") or [])) <= set(properties)
    for name, rules in properties.items():
        assert rules.get("description"), f"{tool.name}.{name} is not described"
        assert rules.get("type"), f"{tool.name}.{name} has no type"


def test_the_manual_is_there_and_short(tool: AnyTool) -> None:
    assert 20 < len(tool.manual) < 4000
    assert len(tool.manual.splitlines()) <= 60


def test_right_arguments_are_taken_and_shown(tool: AnyTool) -> None:
    args = tool.decode(RIGHT[tool.name])
    assert tool.title(args)
    assert isinstance(tool.paths(args), tuple)
    assert isinstance(tool.is_read_only(args), bool)


def test_a_missing_argument_is_named(tool: AnyTool) -> None:
    required = cast("list[str]", tool.input_schema.get("required") or [])
    for name in required:
        value = {key: item for key, item in RIGHT[tool.name].items() if key != name}
        with pytest.raises(msgspec.ValidationError) as caught:
            tool.decode(value)
        sentence = explain(caught.value, tool)
        assert f"`{name}`" in sentence and sentence.startswith(tool.name)


def test_an_unknown_argument_is_named(tool: AnyTool) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        tool.decode({**RIGHT[tool.name], "nonsense_here": 1})
    assert "`nonsense_here`" in explain(caught.value, tool)


def test_an_argument_of_the_wrong_type_is_named(tool: AnyTool) -> None:
    for name in cast("dict[str, Json]", tool.input_schema.get("properties") or {}):
        wrong = {**RIGHT[tool.name], name: {"an": ["object"]}}
        with pytest.raises(msgspec.ValidationError) as caught:
            tool.decode(wrong)
        assert name in explain(caught.value, tool)


async def test_a_preview_changes_nothing(tool: AnyTool) -> None:
    workspace = _workspace()
    before = dict(workspace.files)
    context = fake_tool_context(workspace)
    await tool.preview(tool.decode(RIGHT[tool.name]), context)
    assert workspace.files == before and workspace.started == [] and context.session.todos == ()


async def test_edits_are_announced_before_and_after(tool: AnyTool) -> None:
    if tool.group != "edit":
        return
    workspace = _workspace()
    context = fake_tool_context(workspace)
    args = tool.decode(RIGHT[tool.name])
    shown = await tool.preview(args, context)
    result = await tool.run(args, context)
    assert result.edits == result.display == shown
    (view,) = result.edits
    assert tool.paths(args) == (Path(view.path).name,)
    assert workspace.files[view.path].decode() == view.after
    assert workspace.started == []


async def test_what_reads_only_writes_nothing(tool: AnyTool) -> None:
    if not tool.read_only or tool.name in ("WebFetch", "WebSearch"):
        return
    workspace = _workspace()
    before = dict(workspace.files)
    context = fake_tool_context(workspace)
    try:
        await tool.run(tool.decode(RIGHT[tool.name]), context)
    except ToolError as error:
        assert str(error)
    assert workspace.files == before


def _workspace() -> MemoryWorkspace:
    notebook = {"cells": [{"cell_type": "code", "id": "c1", "source": ["1"]}], "nbformat": 4, "nbformat_minor": 5}
    return MemoryWorkspace({"a.txt": "one\n", "n.ipynb": msgspec.json.encode(notebook)})


def test_names_and_aliases_mean_one_tool() -> None:
    names = [name for tool in TOOLS.values() for name in (tool.name, *tool.aliases)]
    assert len(names) == len(set(names))
    for alias, name in {
        "Agent": "Task",
        "BashOutput": "TaskOutput",
        "KillShell": "TaskStop",
        "KillBash": "TaskStop",
    }.items():
        found = registry.find(registry.builtin_tools(), alias)
        assert found is not None and found.name == name


def test_the_table_says_what_the_modules_say() -> None:
    table = Path(registry.__file__).with_name("table.json").read_bytes()
    assert table == registry.encode_table(), "run: python -m weft.tools.registry"


def test_a_tool_of_the_table_is_the_tool() -> None:
    lazy = {tool.name: tool for tool in registry.builtin_tools()}
    assert set(lazy) == set(registry.MODULES)
    for name, tool in lazy.items():
        real = registry.load(name)
        assert (tool.manual, tool.input_schema, tool.group) == (real.manual, real.input_schema, real.group)
        args = tool.decode(RIGHT[name])
        assert tool.title(args) == real.title(args)
        assert tool.paths(args) == real.paths(args)


def test_the_usual_set_and_sets_by_name() -> None:
    usual = {tool.name for tool in registry.built_in()}
    assert {"Read", "Bash", "Task"} <= usual and not usual & registry.BY_NAME_ONLY
    assert [tool.name for tool in registry.built_in(("Agent", "LS", "mcp__x__y"))] == ["LS", "Task"]


async def test_structured_output_ends_the_turn_with_a_right_value_only() -> None:
    context = fake_tool_context(_workspace())
    wrong = await STRUCTURED.run(STRUCTURED.decode({"n": "x"}), context)
    assert wrong.is_error and "n must be integer" in str(wrong.content) and not wrong.final
    right = await STRUCTURED.run(STRUCTURED.decode({"n": 3}), context)
    assert right.final and right.structured == {"n": 3}
    listed = StructuredOutput({"type": "array", "items": {"type": "string"}})
    assert cast("dict[str, Any]", listed.input_schema["properties"])["value"]["type"] == "array"
    assert (await listed.run(listed.decode({"value": ["a"]}), context)).structured == ["a"]
