"""Events in, entries out: the view model as a table."""

import pytest

from weft.schema import events as e
from weft.schema.content import Text, Thinking, ToolResult, ToolUse
from weft.schema.display import Todo
from weft.schema.messages import Reply, Usage
from weft.schema.stream import BlockDelta, BlockStart, MessageStart, Retry, TextDelta
from weft.surfaces.terminal.entries import Entry, NoticeEntry, PromptEntry, ReplyEntry, ThinkingEntry, ToolEntry
from weft.surfaces.terminal.model import Model
from weft.testing.connection import called, said

INFO = e.SessionInfo(session_id="s1", cwd="/w", model="m")
USE = ToolUse("t1", "Bash", {"command": "ls"})


def shown(entries: list[Entry]) -> list[object]:
    """The entries, short enough for a table."""
    out: list[object] = []
    for entry in entries:
        match entry:
            case PromptEntry(text=text, shell=shell):
                out.append(("prompt", text) if shell is None else ("shell", text, shell))
            case ReplyEntry(pieces=pieces):
                out.append(("reply", pieces.text()))
            case ThinkingEntry(text=text):
                out.append(("thinking", text))
            case ToolEntry(name=name, state=state, children=children):
                out.append(("tool", name, state, shown(children)) if children else ("tool", name, state))
            case NoticeEntry(text=text, level=level):
                out.append((level, text))
    return out


def fold(*events: e.AgentEvent) -> Model:
    model = Model()
    for event in events:
        model.apply(event, 1.0)
    return model


def prompt(text: str, **more: object) -> e.PromptAdded:
    return e.PromptAdded(id="p1", content=(Text(text),), **more)  # type: ignore[arg-type]


REPLY = Reply("m9", "m", (Thinking("hm", "s"), Text("hello")), "end_turn", usage=Usage())
ENDED = e.TurnEnded(turn_id="1", reason="completed")

TABLE: dict[str, tuple[list[e.AgentEvent], list[object]]] = {
    "a prompt is what was typed": ([prompt("hi")], [("prompt", "hi")]),
    "a synthetic prompt is not shown": ([prompt("hi", synthetic=True)], []),
    "reminders are not shown": (
        [e.PromptAdded(id="p", content=(Text("<system-reminder>x</system-reminder>"), Text("hi")))],
        [("prompt", "hi")],
    ),
    "a slash command is shown as it was typed": (
        [prompt("<command-name>/fix</command-name><command-args>all</command-args>")],
        [("prompt", "/fix all")],
    ),
    "a shell line has its output": (
        [prompt("<bash-input>ls</bash-input>\n<bash-stdout>a\nb</bash-stdout>")],
        [("shell", "ls", "a\nb")],
    ),
    "a streamed message is one reply": ([*said("one two", chunk=3)], [("reply", "one two")]),
    "thinking stands before the words": (
        [*said("yes", thinking="hm")],
        [("thinking", "hm"), ("reply", "yes")],
    ),
    "a message that was not streamed is shown when it is done": (
        [e.MessageDone(reply=REPLY)],
        [("thinking", "hm"), ("reply", "hello")],
    ),
    "a request that is made again throws away what came of it": (
        [
            e.Streamed(message_id="a", delta=MessageStart("a", "m")),
            e.Streamed(message_id="a", delta=BlockStart(0, Text(""))),
            e.Streamed(message_id="a", delta=BlockDelta(0, TextDelta("half"))),
            e.Streamed(message_id="a", delta=Retry(1, 3, 0.1, "overloaded")),
        ],
        [],
    ),
    "a tool runs and ends": ([*called("Bash", {"command": "ls"}, output="a\n")], [("tool", "Bash", "ok")]),
    "a subagent's work stands inside its call": (
        [
            e.ToolCalled(use=ToolUse("t9", "Task", {}), state="running"),
            *called("Read", {}, parent="t9"),
            *said("found it", parent="t9"),
        ],
        [("tool", "Task", "running", [("tool", "Read", "ok"), ("reply", "found it")])],
    ),
    "a turn's end closes every open tool": (
        [e.TurnStarted(turn_id="1"), e.ToolCalled(use=USE, state="running"), ENDED],
        [("tool", "Bash", "cancelled")],
    ),
    "an interrupt is said": (
        [e.TurnStarted(turn_id="1"), e.TurnEnded(turn_id="1", reason="cancelled")],
        [("info", "Interrupted.")],
    ),
    "a failure is said once": (
        [
            e.MessageDone(reply=Reply("x", "m", (Text("No key."),)), error="authentication_failed"),
            e.TurnEnded(turn_id="1", reason="error", error="No key."),
        ],
        [("error", "No key.")],
    ),
    "what a command of the session says is shown": (
        [e.TurnEnded(turn_id="1", reason="local_command", text="Mode: plan")],
        [("info", "Mode: plan")],
    ),
    "another session begins with nothing": (
        [e.SessionStarted(info=INFO), prompt("hi"), e.SessionChanged(info=e.SessionInfo("s2", "/w", "m"))],
        [],
    ),
    "compaction is one line that changes": (
        [e.Compacted(state="started"), e.Compacted(state="done", before=2000, after=100)],
        [("info", "The conversation was made shorter: 2,000 tokens to 100.")],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_events_become_entries(name: str) -> None:
    events, wanted = TABLE[name]
    assert shown(fold(*events).entries) == wanted


def test_the_same_events_give_the_same_model() -> None:
    events = [event for rows, _ in TABLE.values() for event in rows]
    assert shown(fold(*events).entries) == shown(fold(*events).entries)


def test_only_the_top_level_entry_is_touched_by_what_a_subagent_does() -> None:
    model = fold(e.ToolCalled(use=ToolUse("t9", "Task", {}), state="running"))
    model.touched.clear()
    for event in called("Read", {}, parent="t9"):
        model.apply(event)
    assert list(model.touched.values()) == model.entries


def test_a_question_is_open_until_it_is_answered_or_withdrawn() -> None:
    ask = e.PermissionAsked(request_id="r1", use=USE)
    model = fold(e.ToolCalled(use=USE), ask)
    entry = model.tool("t1")
    assert entry is not None and entry.asked and list(model.asks) == ["r1"]
    model.apply(e.AskWithdrawn(request_id="r1"))
    assert not entry.asked and not model.asks


def test_the_foot_knows_usage_queue_and_todos() -> None:
    model = fold(
        e.SessionStarted(info=INFO),
        e.QueueChanged(prompts=(e.QueuedPrompt("q", "later"),)),
        e.UsageChanged(context_tokens=50, context_window=100, total_cost=0.5),
        e.TodosChanged(todos=(Todo("a"),)),
        e.TodosChanged(todos=(), parent="t9"),
    )
    assert (model.context_tokens, model.context_window, model.cost) == (50, 100, 0.5)
    assert [each.text for each in model.queue] == ["later"]
    assert [todo.content for todo in model.todos] == ["a"]


def test_a_rewind_forgets_the_message_and_all_after_it() -> None:
    model = fold(prompt("one"), *said("first"), e.PromptAdded(id="p2", content=(Text("two"),)), *said("second"))
    model.going_back = "p2"
    model.apply(e.Notice(text="Back.", tag="rewind"))
    assert shown(model.entries) == [("prompt", "one"), ("reply", "first"), ("info", "Back.")]


def test_a_long_output_keeps_its_end() -> None:
    model = fold(e.ToolCalled(use=USE, state="running"))
    for number in range(5000):
        model.apply(e.ToolProgressed(tool_use_id="t1", output=f"{number:0100}\n"))
    entry = model.tool("t1")
    assert entry is not None
    assert "".join(entry.output).endswith("4999\n") and entry.output_size <= 200_200


def test_a_result_without_a_call_is_shown_all_the_same() -> None:
    model = fold(e.ToolEnded(tool_use_id="zz", name="Read", result=ToolResult("zz", "text")))
    assert shown(model.entries) == [("tool", "Read", "ok")]
