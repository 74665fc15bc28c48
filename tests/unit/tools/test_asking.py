"""Todos, questions, plans, subagents, and values against a schema."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import ToolError
from weft.testing.tool_context import FakeAsker, FakeSpawner, fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools.ask_user_question import AskUserQuestion
from weft.tools.enter_plan_mode import EnterPlanMode
from weft.tools.exit_plan_mode import ExitPlanMode
from weft.tools.json_schema import problems
from weft.tools.port import PlanVerdict, Result, ToolContext
from weft.tools.task import Task
from weft.tools.todo_write import TodoWrite


async def call(tool: Any, context: ToolContext, **args: object) -> Result:
    return await tool.run(tool.decode(args), context)


def make(**parts: Any) -> ToolContext:
    return fake_tool_context(MemoryWorkspace(), cwd=Path("/work"), **parts)


async def test_a_list_of_todos_may_come_as_text_and_has_one_in_progress() -> None:
    context = make()
    result = await call(TodoWrite(), context, todos='[{"content":"Run","status":"in_progress","activeForm":"Running"}]')
    assert context.session.todos[0].active_form == "Running"
    assert result.content == "The list is updated: 1 of 1 left."
    two = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]
    with pytest.raises(ToolError, match="only one"):
        await call(TodoWrite(), context, todos=two)


async def test_answers_come_back_by_question_and_nobody_there_is_said() -> None:
    asker = FakeAsker({"Which?": "B, C"})
    questions = [{"question": "Which?", "options": [{"label": "B"}, {"label": "C"}], "multiSelect": True}]
    result = await call(AskUserQuestion(), make(asker=asker), questions=questions)
    assert result.content == "The person answered:\nWhich?\n  B, C"
    assert asker.asked[0].multiple
    with pytest.raises(ToolError, match="nobody is there"):
        await call(AskUserQuestion(), make(), questions=questions)


async def test_a_plan_is_approved_or_comes_back_with_words() -> None:
    approved = make(asker=FakeAsker(verdict=PlanVerdict(True, "acceptEdits")))
    await call(EnterPlanMode(), approved)
    assert approved.session.mode == "plan"
    assert not (await call(ExitPlanMode(), approved, plan="1. Do")).is_error
    assert approved.session.mode == "acceptEdits"
    refused = make(asker=FakeAsker(verdict=PlanVerdict(False, feedback="smaller")))
    await call(EnterPlanMode(), refused)
    result = await call(ExitPlanMode(), refused, plan="1. Do")
    assert result.is_error and "They said: smaller" in str(result.content) and refused.session.mode == "plan"


async def test_a_subagent_gets_the_work_as_it_was_given() -> None:
    spawner = FakeSpawner()
    await call(Task(), make(spawner=spawner), description="Look", prompt="Look around", subagent_type="Explore")
    assert (spawner.requests[0].agent, spawner.requests[0].prompt) == ("Explore", "Look around")
    with pytest.raises(ToolError, match="cannot be started"):
        await call(Task(), make(), description="Look", prompt="x")


SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 0, "exclusiveMaximum": 5},
    {"type": ["string", "null"], "minLength": 1, "pattern": "^a"},
    {"type": "array", "items": {"type": "number"}, "maxItems": 2, "uniqueItems": True},
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/leaf"}, "b": {"enum": ["x", 1, None]}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"leaf": {"type": "boolean"}},
    },
    {"anyOf": [{"const": 1}, {"type": "string"}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
    {"not": {"type": "object"}},
    {"allOf": [{"type": "number"}, {"multipleOf": 2}]},
    {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "minProperties": 1},
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 7)
    | st.sampled_from([1.0, 2.5])
    | st.sampled_from(["", "a", "x", "ab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)


@given(values, st.sampled_from(SCHEMAS))
def test_our_verdict_is_the_reference_library_s(value: object, schema: dict[str, Any]) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (problems(value, schema) == []) is fits
