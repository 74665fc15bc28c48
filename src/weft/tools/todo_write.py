"""TodoWrite: the list of what is to be done, shown to the person."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.schema.display import Todo, TodosView
from weft.tools.port import Result, Tool, ToolContext


class TodoItem(msgspec.Struct, frozen=True):
    content: Annotated[str, Meta(description='What is to be done: "Run the tests".', min_length=1)]
    status: Annotated[Literal["pending", "in_progress", "completed"], Meta(description="How far it is.")] = "pending"
    activeForm: Annotated[str, Meta(description='The same while it is done: "Running the tests".')] = ""
    priority: Annotated[Literal["high", "medium", "low"], Meta(description="How much it matters.")] = "medium"


class TodoWriteArgs(msgspec.Struct, frozen=True):
    todos: Annotated[tuple[TodoItem, ...], Meta(description="The whole list, in order.", max_length=200)]


class TodoWrite(Tool[TodoWriteArgs]):
    name = "TodoWrite"
    args = TodoWriteArgs
    kind = "think"
    group = "other"

    def title(self, args: TodoWriteArgs) -> str:
        done = sum(todo.status == "completed" for todo in args.todos)
        return f"Update the list: {done} of {len(args.todos)} done"

    async def run(self, args: TodoWriteArgs, context: ToolContext) -> Result:
        todos = tuple(Todo(item.content, item.status, item.activeForm, item.priority) for item in args.todos)
        if sum(todo.status == "in_progress" for todo in todos) > 1:
            raise ToolError("only one item may be in_progress at a time: the one that you work on now")
        before = context.session.todos
        context.session.set_todos(todos)
        left = sum(todo.status != "completed" for todo in todos)
        return Result(
            content=f"The list is updated: {left} of {len(todos)} left." if todos else "The list is empty now.",
            display=(TodosView(todos),),
            data={"oldTodos": [_plain(todo) for todo in before], "newTodos": [_plain(todo) for todo in todos]},
        )


def _plain(todo: Todo) -> dict[str, str]:
    return {"content": todo.content, "status": todo.status, "activeForm": todo.active_form}
