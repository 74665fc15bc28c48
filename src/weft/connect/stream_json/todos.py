"""The agent's list of what is left, whichever of its tools keeps it: one that writes the whole list, or those that
make and change single entries."""

from typing import Literal, cast

import msgspec

from weft.connect.stream_json.fields import text
from weft.protocols.stream_json import is_json
from weft.schema.content import Json, ToolUse
from weft.schema.display import Todo


class TodoList:
    """Follows the results of those tools. Entries without an id of their own are numbered as they come."""

    def __init__(self) -> None:
        self._todos: dict[str, Todo] = {}

    def follow(self, use: ToolUse, data: object) -> tuple[Todo, ...] | None:
        """The whole list after a call that went well; None when it is as it was."""
        before = dict(self._todos)
        found = data if is_json(data) else {}
        match use.name:
            case "TodoWrite":
                self._todos = {str(number): todo for number, todo in enumerate(_written(use.input))}
            case "TaskCreate":
                task = found.get("task")
                self._todos[text(task, "id") if is_json(task) else text(use.input, "subject")] = Todo(
                    text(use.input, "subject"), active_form=text(use.input, "activeForm")
                )
            case "TaskUpdate":
                self._update(use.input)
            case "TaskList":
                self._listed(found)
            case _:
                return None
        return tuple(self._todos.values()) if self._todos != before else None

    def _update(self, given: Json) -> None:
        task_id = text(given, "taskId")
        todo = self._todos.get(task_id)
        if todo is None:
            return
        if given.get("status") == "deleted":
            del self._todos[task_id]
            return
        self._todos[task_id] = Todo(
            text(given, "subject") or todo.content,
            _status(given.get("status"), todo),
            text(given, "activeForm") or todo.active_form,
            todo.priority,
        )

    def _listed(self, found: Json) -> None:
        rows = found.get("tasks")
        if not isinstance(rows, list):
            return
        listed: dict[str, Todo] = {}
        for row in cast("list[object]", rows):
            if is_json(row):
                todo = self._todos.get(text(row, "id")) or Todo(text(row, "subject"))
                listed[text(row, "id")] = msgspec.structs.replace(todo, status=_status(row.get("status"), todo))
        self._todos = listed


def _status(value: object, todo: Todo) -> Literal["pending", "in_progress", "completed"]:
    return value if value in ("pending", "in_progress", "completed") else todo.status


def _written(value: Json) -> list[Todo]:
    rows = value.get("todos")
    found: list[Todo] = []
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        if is_json(row):
            status = row.get("status")
            found.append(
                Todo(
                    content=str(row.get("content") or ""),
                    status=status if status in ("in_progress", "completed") else "pending",
                    active_form=str(row.get("activeForm") or ""),
                )
            )
    return found
