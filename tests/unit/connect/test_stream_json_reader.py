"""What a stream-json agent says about prompts, todos and failures, as events."""

import itertools
from typing import Any

import pytest

from weft.connect.stream_json.read import Reader
from weft.connect.stream_json.todos import TodoList
from weft.schema.content import Text, ToolUse
from weft.schema.display import Todo
from weft.schema.events import (
    MessageDone,
    PromptAdded,
    QueueChanged,
    Retrying,
    TodosChanged,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)


def reader() -> Reader:
    numbers = itertools.count(1)
    return Reader(lambda: f"turn{next(numbers)}")


def lifecycle(prompt_id: str, state: str) -> dict[str, Any]:
    return {"type": "command_lifecycle", "command_uuid": prompt_id, "state": state}


def init(*prompts: str) -> dict[str, Any]:
    named = {"user_message_uuids": list(prompts)} if prompts else {}
    return {"type": "system", "subtype": "init", "session_id": "s", "model": "m", **named}


def result(total: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": "x", "total_cost_usd": total, **more}


def test_a_prompt_that_starts_in_a_running_turn_has_joined_it():
    read = reader()
    read.expect("a", (Text("first"),))
    read.expect("b", (Text("steer"),))
    read.feed(init("a"))
    assert [type(event) for event in read.feed(lifecycle("b", "queued"))] == [QueueChanged]
    events = read.feed(lifecycle("b", "started"))
    assert events == [QueueChanged(), PromptAdded(id="b", content=(Text("steer"),))]
    read.feed(result())
    read.expect("c", (Text("next"),))
    started = [event for event in read.feed(init()) if isinstance(event, TurnStarted)]
    assert [event.prompt_ids for event in started] == [("c",)]


def test_a_prompt_that_was_taken_back_is_never_a_turns():
    read = reader()
    for name in ("a", "b", "c"):
        read.expect(name, (Text(name),))
    read.feed(init("a"))
    read.feed(lifecycle("b", "queued"))
    read.feed(lifecycle("b", "cancelled"))
    read.feed(result())
    started = [event for event in read.feed(init()) if isinstance(event, TurnStarted)]
    assert [event.prompt_ids for event in started] == [("c",)]


def test_a_turn_costs_what_the_session_cost_more():
    read = reader()
    costs = []
    for total in (0.5, 0.75):
        read.feed(init())
        ended = read.feed(result(total, ttft_ms=250))[-1]
        assert isinstance(ended, TurnEnded)
        assert ended.first_token == 0.25
        costs.append(ended.cost)
    assert costs == [0.5, 0.25]


def test_failures_have_their_kind():
    read = reader()
    read.feed(init())
    retry = read.feed(
        {"type": "system", "subtype": "api_retry", "attempt": 1, "error": "overloaded", "error_status": 529}
    )
    assert isinstance(retry[0], Retrying)
    assert (retry[0].error, retry[0].status) == ("overloaded", 529)
    told = {"id": "m", "model": "x", "content": [{"type": "text", "text": "no"}]}
    line = {"type": "assistant", "message": told, "error": "authentication_failed", "api_error_status": 403}
    done = read.feed(line)[-1]
    assert isinstance(done, MessageDone)
    assert (done.error, done.error_status) == ("authentication_failed", 403)
    ended = read.feed({**result(), "is_error": True})[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.error_kind) == ("error", "authentication_failed")
    strange = read.feed({"type": "system", "subtype": "api_retry", "attempt": 1, "error": "moon phase"})
    assert isinstance(strange[0], Retrying)
    assert strange[0].error == "unknown"


def called(read: Reader, use: ToolUse, data: object, *, failed: bool = False) -> list[Any]:
    block = {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}
    read.feed({"type": "assistant", "message": {"id": use.id, "model": "m", "content": [block]}})
    answer = {"type": "tool_result", "tool_use_id": use.id, "content": "ok", "is_error": failed}
    return read.feed({"type": "user", "message": {"role": "user", "content": [answer]}, "tool_use_result": data})


@pytest.mark.parametrize("failed", [False, True])
def test_the_list_changes_when_the_tool_has_written_it(failed: bool):
    read = reader()
    read.feed(init())
    rows = [{"content": "look", "status": "in_progress", "activeForm": "looking"}]
    events = called(read, ToolUse("t1", "TodoWrite", {"todos": rows}), None, failed=failed)
    assert isinstance(events[-1], ToolEnded)
    lists = [event.todos for event in events if isinstance(event, TodosChanged)]
    assert lists == ([] if failed else [(Todo("look", "in_progress", "looking"),)])


def test_entries_that_are_made_and_changed_one_by_one():
    todos = TodoList()
    made = ToolUse("t", "TaskCreate", {"subject": "Look", "activeForm": "Looking"})
    assert todos.follow(made, {"task": {"id": "7"}}) == (Todo("Look", "pending", "Looking"),)
    changed = ToolUse("t", "TaskUpdate", {"taskId": "7", "status": "completed", "subject": "Look twice"})
    assert todos.follow(changed, {}) == (Todo("Look twice", "completed", "Looking"),)
    assert todos.follow(changed, {}) is None
    assert todos.follow(ToolUse("t", "TaskUpdate", {"taskId": "none", "status": "completed"}), {}) is None
    listed = {"tasks": [{"id": "8", "subject": "Fix", "status": "pending"}]}
    assert todos.follow(ToolUse("t", "TaskList", {}), listed) == (Todo("Fix"),)
    assert todos.follow(ToolUse("t", "TaskUpdate", {"taskId": "8", "status": "deleted"}), {}) == ()
    assert todos.follow(ToolUse("t", "Read", {}), {}) is None
