"""Updates of real agents, odd ones too, as our events."""

from weft.connect.acp.fold import Fold, parent_of
from weft.protocols.acp import updates as u
from weft.protocols.acp.content import DiffContent, TextContent, ToolContentBlock, text
from weft.schema import events as e
from weft.schema.content import Text, ToolUse


def fold() -> Fold:
    return Fold(e.SessionInfo("s", "/w", "m"))


def kinds(events: list[e.AgentEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def shown(value: str) -> tuple[ToolContentBlock, ...]:
    return (ToolContentBlock(content=TextContent(text=value)),)


def test_a_call_that_was_never_announced_is_announced_by_its_first_update() -> None:
    one = fold()
    events = one.feed(u.ToolCallUpdate(tool_call_id="t", status="completed", title="Run", content=shown("out")))
    assert kinds(events) == [
        "Streamed",
        "Streamed",
        "BlockDone",
        "Streamed",
        "MessageDone",
        "ToolCalled",
        "ToolCalled",
        "ToolEnded",
    ]
    ended = events[-1]
    assert isinstance(ended, e.ToolEnded)
    assert (ended.outcome, ended.result.content) == ("ok", "out")


def test_a_call_announced_twice_is_one_call() -> None:
    one = fold()
    call = u.ToolCall(tool_call_id="t", title="Run", status="pending")
    assert kinds(one.feed(call)).count("ToolCalled") == 1
    assert one.feed(call) == []


def test_a_call_that_ended_hears_nothing_more() -> None:
    one = fold()
    one.feed(u.ToolCall(tool_call_id="t", title="Run", status="completed"))
    assert one.feed(u.ToolCallUpdate(tool_call_id="t", status="in_progress")) == []


def test_only_new_output_is_told() -> None:
    one = fold()
    one.feed(u.ToolCall(tool_call_id="t", title="Run", status="in_progress"))
    first = one.feed(u.ToolCallUpdate(tool_call_id="t", content=shown("a")))
    second = one.feed(u.ToolCallUpdate(tool_call_id="t", content=shown("ab")))
    assert [event.output for event in (*first, *second) if isinstance(event, e.ToolProgressed)] == ["a", "b"]


def test_a_refused_call_ends_as_refused() -> None:
    one = fold()
    one.feed(u.ToolCall(tool_call_id="t", title="Run"))
    one.denied.add("t")
    (ended,) = one.feed(u.ToolCallUpdate(tool_call_id="t", status="failed"))[-1:]
    assert isinstance(ended, e.ToolEnded)
    assert ended.outcome == "denied"


def test_the_end_of_a_turn_closes_the_message_and_every_call() -> None:
    one = fold()
    one.feed(u.AgentChunk(content=text("Hel")))
    one.feed(u.ToolCall(tool_call_id="t", title="Run"))
    one.feed(u.AgentChunk(content=text("lo")))
    events = one.close("cancelled")
    assert kinds(events) == ["BlockDone", "Streamed", "MessageDone", "ToolEnded"]
    assert isinstance(events[-1], e.ToolEnded)
    assert events[-1].outcome == "cancelled"
    assert one.text == "lo"


def test_a_new_message_id_begins_a_new_message() -> None:
    one = fold()
    one.feed(u.AgentChunk(content=text("a"), message_id="1"))
    events = [*one.feed(u.AgentChunk(content=text("b"), message_id="2")), *one.close()]
    done = [event.reply.text for event in events if isinstance(event, e.MessageDone)]
    assert done == ["a", "b"]


def test_history_that_is_replayed_comes_whole_and_marked() -> None:
    one = fold()
    one.replaying = True
    events = one.feed(u.UserChunk(content=text("do ")))
    events += one.feed(u.UserChunk(content=text("it")))
    events += one.feed(u.AgentChunk(content=text("done")))
    events += one.close()
    assert kinds(events) == ["PromptAdded", "MessageDone"]
    assert isinstance(events[0], e.PromptAdded)
    assert events[0].content == (Text("do it"),)
    assert isinstance(events[1], e.MessageDone)
    assert events[1].replay


def test_a_difference_is_an_edit_that_is_shown() -> None:
    one = fold()
    diff = DiffContent(path="/w/a", old_text="a", new_text="b")
    (*_, ended) = one.feed(u.ToolCall(tool_call_id="t", title="Edit", status="completed", content=(diff,)))
    assert isinstance(ended, e.ToolEnded)
    assert [(edit.path, edit.before, edit.after) for edit in ended.edits] == [("/w/a", "a", "b")]


def test_input_that_is_no_object_is_kept_under_a_name() -> None:
    one = fold()
    one.feed(u.ToolCall(tool_call_id="t", title="Run", raw_input="ls"))
    assert one.use_of("t") == ToolUse("t", "tool", {"value": "ls"})


def test_a_subagents_words_have_the_call_that_started_it_as_parent() -> None:
    assert parent_of("subagent-toolu_1-2-1735123456789") == "toolu_1"
    events = fold().feed(u.AgentChunk(content=text("hi"), agent_id="subagent-toolu_1-2-1735123456789"))
    assert all(isinstance(event, e.Streamed) and event.parent == "toolu_1" for event in events)
