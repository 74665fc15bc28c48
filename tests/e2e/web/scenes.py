"""Turns that a scripted agent plays for the page."""

from weft.schema import events as e
from weft.schema.commands import PermissionAnswered, PlanAnswered, Prompt, QuestionAnswered
from weft.schema.content import ToolResult, ToolUse
from weft.schema.display import DiffView, ExitView, TextView, Todo
from weft.schema.messages import Usage
from weft.testing.connection import Stage, called, said

BEFORE = """import csv


def parse(line):
    return line.split()[0]


def parse_all(lines):
    return [parse(line) for line in lines]


class Shelf:
    def __init__(self, books):
        self.books = books

    def cheapest(self):
        return min(self.books, key=lambda book: book.price)

    def titles(self):
        return sorted(book.title for book in self.books)
"""
AFTER = BEFORE.replace(
    "    return line.split()[0]\n", '    words = line.split()\n    return words[0] if words else ""\n'
).replace("        return min(self.books, key=", "        return min(self.books, default=None, key=")
TESTS = "..F                                    [100%]\nFAILED tests/test_shelf.py::test_empty - IndexError\n"
RULE = e.RuleSuggestion("Edit(src/**)", "local")
ANSWER = """The parser takes the first word without checking that there is one:

```python
def parse(line: str) -> str:
    words = line.split()
    return words[0] if words else ""
```

Two places need the same care:

1. `parse`, for an empty line
2. `Shelf.cheapest`, for an **empty shelf**
"""


async def look(stage: Stage) -> None:
    """Reads, thinks, runs the tests."""
    todos = (
        Todo("Read the failing test", "completed"),
        Todo("Fix the parser", "in_progress", "Fixing the parser"),
        Todo("Run all tests"),
    )
    await stage.emit(e.TodosChanged(todos=todos))
    await stage.say("I'll look at the parser and its test first.", thinking="The test fails on an empty line.")
    await stage.emit(
        *called("Read", {"file_path": "src/shelf.py"}, kind="read", output=BEFORE),
        *called("Grep", {"pattern": "parse_all"}, kind="search", output="src/shelf.py:8\n"),
        *called(
            "Bash",
            {"command": "python -m pytest -q tests/test_shelf.py"},
            kind="execute",
            output=TESTS,
            outcome="error",
            display=(TextView(TESTS), ExitView("pytest", 1)),
        ),
    )
    await stage.say(ANSWER)
    usage = Usage(41_000, 5_200, 32_000)
    await stage.emit(e.UsageChanged(context_tokens=48_000, context_window=200_000, total_cost=0.182, usage=usage))


async def edit(stage: Stage) -> PermissionAnswered:
    """Asks to edit, does what the answer says, and tells of it."""
    use = ToolUse("edit-1", "Edit", {"file_path": "src/shelf.py", "old_string": BEFORE, "new_string": AFTER})
    diff = DiffView("src/shelf.py", BEFORE, AFTER)
    await stage.emit(e.ToolCalled(use=use, title="Edit src/shelf.py", kind="edit"))
    answer = await stage.ask(
        e.PermissionAsked(
            request_id="ask-edit",
            use=use,
            title="Edit src/shelf.py",
            reason="Edits are asked for in this mode.",
            suggestions=(RULE,),
            preview=(diff,),
            kind="edit",
        )
    )
    assert isinstance(answer, PermissionAnswered)
    allowed = answer.behavior == "allow"
    if allowed:
        await stage.emit(e.ToolCalled(use=use, title="Edit src/shelf.py", kind="edit", state="running"))
    done = e.ToolEnded(
        tool_use_id=use.id,
        name="Edit",
        result=ToolResult(use.id, "Edited." if allowed else answer.message, not allowed),
        outcome="ok" if allowed else "denied",
        display=(diff,) if allowed else (),
        duration=0.3,
    )
    await stage.emit(done)
    return answer


async def review(stage: Stage) -> None:
    """A subagent under the call that started it."""
    use = ToolUse("task-1", "Task", {"description": "Review the change", "prompt": "Look for callers that break."})
    await stage.emit(e.ToolCalled(use=use, state="running", title="Review the change", kind="think"))
    await stage.emit(*called("Grep", {"pattern": "cheapest"}, kind="search", output="src/a.py:3\n", parent=use.id))
    await stage.emit(*said("Both callers cope with `None`. The change is **sound**.", parent=use.id))
    await stage.emit(e.ToolEnded(tool_use_id=use.id, name="Task", result=ToolResult(use.id, ""), duration=4.2))


async def whole_turn(stage: Stage, prompt: Prompt) -> None:
    await look(stage)
    answer = await edit(stage)
    if answer.behavior == "deny":
        await stage.say(f"Understood: {answer.message}")
        return
    await review(stage)
    await stage.say("Done. All tests pass.")


async def question_turn(stage: Stage, prompt: Prompt) -> None:
    options = (e.QuestionOption("Skip them", "As today"), e.QuestionOption("Keep them", "A caller may count lines"))
    question = e.Question("Should blank lines be kept as empty words?", "Behaviour", options)
    answer = await stage.ask(e.QuestionAsked(request_id="ask-q", tool_use_id="q", questions=(question,)))
    assert isinstance(answer, QuestionAnswered)
    await stage.say(f"You chose: {'; '.join(answer.answers.values()) or 'nothing'}")


PLAN = """## A parser that never raises

1. Change `parse` to return an empty word
2. Add a test for an empty line and an empty shelf
3. Run everything

No other file changes."""


async def plan_turn(stage: Stage, prompt: Prompt) -> None:
    for number in range(5):
        answer = await stage.ask(e.PlanProposed(request_id=f"ask-plan-{number}", tool_use_id="p", plan=PLAN))
        assert isinstance(answer, PlanAnswered)
        if answer.approved:
            await stage.say(f"Going on in {answer.mode}.")
            return
        await stage.say(f"Planning again: {answer.feedback or 'as before'}")
