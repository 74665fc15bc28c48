"""Our events as ACP updates: the whole table."""

from typing import get_args

import msgspec
import pytest

from weft.schema import events as e
from weft.schema.content import Text, Thinking, ToolResult, ToolUse
from weft.schema.display import DiffView, Todo
from weft.schema.messages import Reply, ThinkingConfig
from weft.schema.stream import BlockDelta, BlockStart, InputDelta, StreamEvent, TextDelta, ThinkingDelta
from weft.serve.acp.voice import Audience, Voice

INFO = e.SessionInfo("s", "/w", "m1", models=(e.ModelInfo("m1", "One"), e.ModelInfo("m2")))
USE = ToolUse("t1", "Bash", {"command": "ls"})
RESULT = ToolResult("t1", "out")
ALL = Audience(notices=True, compaction=True)


def streamed(delta: StreamEvent, parent: str | None = None) -> e.Streamed:
    return e.Streamed(message_id="msg", delta=delta, parent=parent)


TABLE: list[tuple[e.AgentEvent, list[dict[str, object]]]] = [
    (e.SessionStarted(info=INFO), []),
    (
        e.SessionStarted(info=msgspec.structs.replace(INFO, commands=(e.CommandInfo("init", "Begin", "[dir]"),))),
        [
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [{"name": "init", "description": "Begin", "input": {"hint": "[dir]"}}],
            }
        ],
    ),
    (
        e.SessionChanged(info=msgspec.structs.replace(INFO, title="T")),
        [{"sessionUpdate": "session_info_update", "title": "T"}],
    ),
    (e.TurnStarted(turn_id="1"), []),
    (e.TurnEnded(turn_id="1", reason="completed"), []),
    (e.PromptAdded(id="p", content=(Text("hi"),)), []),
    (
        e.PromptAdded(id="p", content=(Text("hi"),), replay=True),
        [{"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}}],
    ),
    (e.QueueChanged(), []),
    (
        streamed(BlockDelta(0, TextDelta("a"))),
        [
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "a"},
                "messageId": "msg",
            }
        ],
    ),
    (
        streamed(BlockDelta(0, ThinkingDelta("b"))),
        [
            {
                "sessionUpdate": "agent_thought_chunk",
                "content": {"type": "text", "text": "b"},
                "messageId": "msg",
            }
        ],
    ),
    (streamed(BlockDelta(0, InputDelta("{"))), []),
    (streamed(BlockStart(0, Text(""))), []),
    (streamed(BlockDelta(0, TextDelta("a")), parent="t9"), []),
    (e.BlockDone(message_id="m", index=0, block=Text("a")), []),
    (
        e.MessageDone(reply=Reply("r", "m", (Thinking("b"), Text("a"))), replay=True),
        [
            {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "b"}, "messageId": "r"},
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}, "messageId": "r"},
        ],
    ),
    (e.MessageDone(reply=Reply("r", "m", (Text("a"),)), error="overloaded"), []),
    (
        e.ToolCalled(use=USE, title="ls", kind="execute", locations=("/w/a.py:3", "/w/b")),
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "t1",
                "title": "ls",
                "name": "Bash",
                "kind": "execute",
                "status": "pending",
                "locations": [{"path": "/w/a.py", "line": 3}, {"path": "/w/b"}],
                "rawInput": {"command": "ls"},
            }
        ],
    ),
    (e.ToolProgressed(tool_use_id="unknown", output="x"), []),
    (
        e.ToolEnded(tool_use_id="t1", name="Bash", result=RESULT),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t1",
                "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "out"}}],
            }
        ],
    ),
    (
        e.ToolEnded(tool_use_id="t1", name="Edit", result=RESULT, edits=(DiffView("/w/a", "a", "b"),)),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t1",
                "status": "completed",
                "content": [{"type": "diff", "path": "/w/a", "oldText": "a", "newText": "b"}],
            }
        ],
    ),
    (
        e.ToolEnded(tool_use_id="t1", name="Bash", result=RESULT, outcome="denied"),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t1",
                "status": "failed",
                "content": [{"type": "content", "content": {"type": "text", "text": "out"}}],
            }
        ],
    ),
    (e.PermissionAsked(request_id="r", use=USE), []),
    (e.QuestionAsked(request_id="r", tool_use_id="t1", questions=()), []),
    (e.PlanProposed(request_id="r", tool_use_id="t1", plan="p"), []),
    (e.InputRequested(request_id="r", server="s", message="m"), []),
    (e.AskWithdrawn(request_id="r"), []),
    (
        e.TodosChanged(todos=(Todo("do", "in_progress"),)),
        [
            {
                "sessionUpdate": "plan",
                "entries": [{"content": "do", "priority": "medium", "status": "in_progress"}],
            }
        ],
    ),
    (e.TodosChanged(todos=(Todo("do"),), parent="t9"), []),
    (
        e.UsageChanged(context_tokens=5, context_window=100, total_cost=0.5),
        [{"sessionUpdate": "usage_update", "used": 5, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}}],
    ),
    (e.UsageChanged(context_tokens=5), []),
    (
        e.Retrying(attempt=1, max_retries=2, delay=3, error="overloaded", message="busy"),
        [
            {
                "sessionUpdate": "notice",
                "severity": "warning",
                "title": "busy",
                "description": "attempt 1, again in 3 s",
            }
        ],
    ),
    (
        e.Compacted(state="done", summary="s", uuid="c1"),
        [
            {
                "sessionUpdate": "compaction_update",
                "compactionId": "c1",
                "status": "completed",
                "summary": [{"type": "text", "text": "s"}],
            }
        ],
    ),
    (e.Notice(text="n"), [{"sessionUpdate": "notice", "severity": "info", "title": "n"}]),
    (e.TaskChanged(task=e.TaskInfo("1", "shell", "x")), []),
    (e.Reported(report=e.HookRan(hook_id="h", name="n", hook_event="Stop")), []),
    (e.Reported(report=e.Completed(id="c1")), []),
]


@pytest.mark.parametrize(("event", "updates"), TABLE, ids=[type(row[0]).__name__ for row in TABLE])
def test_each_event_has_its_updates(event: e.AgentEvent, updates: list[dict[str, object]]) -> None:
    told = Voice(ALL, INFO).updates(event)
    assert [msgspec.json.decode(msgspec.json.encode(update)) for update in told] == updates


def test_the_table_has_every_event() -> None:
    assert {type(event) for event, _ in TABLE} == set(get_args(e.AgentEvent))


def test_notices_and_compaction_are_told_only_to_those_who_announced_them() -> None:
    voice = Voice(Audience(), INFO)
    assert voice.updates(e.Notice(text="n")) == []
    assert voice.updates(e.Compacted(state="done")) == []


def test_a_changed_mode_is_told_in_both_ways() -> None:
    changed = msgspec.structs.replace(INFO, mode="plan", thinking=ThinkingConfig("adaptive", effort="high"))
    told = [type(update).__name__ for update in Voice(ALL, INFO).updates(e.SessionChanged(info=changed))]
    assert told == ["CurrentMode", "ConfigOptions"]


def test_what_was_streamed_is_not_said_again_when_the_message_is_done() -> None:
    voice = Voice(ALL, INFO)
    voice.updates(e.Streamed(message_id="r", delta=BlockDelta(0, TextDelta("a"))))
    assert voice.updates(e.MessageDone(reply=Reply("r", "m", (Text("a"),)))) == []


def test_output_so_far_is_repeated_and_a_terminal_replaces_it() -> None:
    voice = Voice(ALL, INFO)
    voice.updates(e.ToolCalled(use=USE, title="ls"))
    voice.updates(e.ToolProgressed(tool_use_id="t1", output="a"))
    (update,) = voice.updates(e.ToolProgressed(tool_use_id="t1", output="b"))
    assert b'"text":"ab"' in msgspec.json.encode(update)
    shown = voice.terminal("term-1", "cd /w && ls")
    assert shown is not None
    assert b'"terminalId":"term-1"' in msgspec.json.encode(shown)
    assert voice.updates(e.ToolProgressed(tool_use_id="t1", output="c")) == []
    (ended,) = voice.updates(e.ToolEnded(tool_use_id="t1", name="Bash", result=RESULT))
    assert b'"terminalId":"term-1"' in msgspec.json.encode(ended)


def test_iflow_clients_get_their_fields_and_standard_ones_never_do() -> None:
    for iflow in (True, False):
        voice = Voice(Audience(iflow=iflow), INFO)
        data = b"".join(
            msgspec.json.encode(update)
            for event in (
                e.ToolCalled(use=USE, title="ls"),
                e.ToolEnded(tool_use_id="t1", name="Bash", result=RESULT),
                e.Streamed(message_id="m", delta=BlockDelta(0, TextDelta("a")), parent="t9"),
            )
            for update in voice.updates(event)
        )
        for field in (b'"toolName":"run_shell_command"', b'"args"', b'"agentId":"subagent-t9-1-'):
            assert (field in data) is iflow
