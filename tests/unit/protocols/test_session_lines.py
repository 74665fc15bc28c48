"""What one Weft tells another on a pipe is read as what was written."""

from typing import get_args

import msgspec
import pytest

from weft.errors import RemoteProtocolError
from weft.protocols import session_lines as lines
from weft.schema import commands, event_wire, events
from weft.schema.commands import Command, PermissionAnswered, Prompt, SetThinking
from weft.schema.content import Base64Source, Image, Text, Thinking, ToolResult, ToolUse, Unknown
from weft.schema.display import DiffView, TextView, Todo
from weft.schema.events import AgentEvent
from weft.schema.messages import Reply, ThinkingConfig, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    Ping,
    TextDelta,
)

STRANGE = Unknown(b'{"type":"hologram","depth":3}')
INFO = events.SessionInfo(session_id="s", cwd="/x", model="m", commands=(events.CommandInfo("help"),))
ASKED = ToolUse("t", "Read", {"file_path": "ü"})

EVENTS: list[AgentEvent] = [
    events.SessionStarted(info=INFO, resumed=True),
    events.SessionChanged(info=INFO, reason="mode"),
    events.TurnStarted(turn_id="1", prompt_ids=("p",)),
    events.TurnEnded(
        turn_id="1",
        reason="completed",
        text="x",
        models={"m": events.ModelUsage(usage=Usage(1, 2), cost=0.5)},
        denials=(events.Denial("Write", "t", {"a": [1, None]}),),
        structured={"n": 1},
        has_structured=True,
        first_token=0.25,
    ),
    events.PromptAdded(id="p", content=(Text("hi"), Image(Base64Source("image/png", "aa")), STRANGE)),
    events.QueueChanged(prompts=(events.QueuedPrompt("p", "later"),)),
    events.Streamed(message_id="m", delta=MessageStart("m", "model", Usage(3), "req")),
    events.Streamed(message_id="m", delta=BlockStart(0, STRANGE), parent="t"),
    events.Streamed(message_id="m", delta=BlockStart(1, Thinking("", ""))),
    events.Streamed(message_id="m", delta=BlockDelta(0, TextDelta("a\u2028\n"))),
    events.Streamed(message_id="m", delta=BlockDelta(0, InputDelta('{"a'))),
    events.Streamed(message_id="m", delta=BlockStop(0)),
    events.Streamed(message_id="m", delta=MessageDelta("end_turn", None, Usage(1, 2))),
    events.Streamed(message_id="m", delta=Ping()),
    events.BlockDone(message_id="m", index=0, block=STRANGE, model="x", usage=Usage(1)),
    events.MessageDone(reply=Reply("m", "x", (Text("a"), ASKED, STRANGE), "tool_use"), uuid="u", error="overloaded"),
    events.ToolCalled(use=ASKED, state="running", title="Reads", kind="read", locations=("a",)),
    events.ToolProgressed(tool_use_id="t", output="o", fraction=0.5),
    events.ToolEnded(
        tool_use_id="t",
        name="Read",
        result=ToolResult("t", (Text("a"), STRANGE), is_error=True),
        outcome="denied",
        display=(TextView("v"), DiffView("p", None, "x")),
        data={"a": [1]},
        edits=(DiffView("p", "a", "b"),),
        decision_source="hook",
    ),
    events.ToolEnded(tool_use_id="t", name="Read", result=ToolResult("t", "plain")),
    events.PermissionAsked(
        request_id="r", use=ASKED, suggestions=(events.RuleSuggestion("Read", "session"),), preview=(TextView("v"),)
    ),
    events.QuestionAsked(request_id="r", tool_use_id="t", questions=(events.Question("Why?"),)),
    events.PlanProposed(request_id="r", tool_use_id="t", plan="p"),
    events.InputRequested(request_id="r", server="s", message="m", schema={"type": "object"}),
    events.AskWithdrawn(request_id="r", reason="answered"),
    events.TodosChanged(todos=(Todo("look"),)),
    events.UsageChanged(context_tokens=1, usage=Usage(1), models={"m": events.ModelUsage()}),
    events.Retrying(attempt=1, max_retries=2, delay=0.5, error="overloaded"),
    events.Compacted(state="done", before=2, after=1),
    events.Notice(text="n", level="warning", display=(TextView("v"),), data={"a": 1}),
    events.TaskChanged(task=events.TaskInfo("1", "shell", "d")),
    events.Reported(report=events.Completed(id="c", start=2, items=(events.Completion("x", "xy"),))),
    events.Reported(report=events.HookRan(hook_id="h", name="n", hook_event="Stop", outcome="ok", exit_code=0)),
]

COMMANDS: list[Command] = [
    Prompt("hi"),
    Prompt((Text("a"), STRANGE), id="p", steer=False, verbatim=True),
    commands.DropPrompt("p", "other"),
    commands.Cancel(drop_queue=True),
    PermissionAnswered("r", "allow", {"a": 1}, (events.RuleSuggestion("Read", "user"),), mode="plan"),
    commands.QuestionAnswered("r", {"Why?": "so"}),
    commands.PlanAnswered("r", True, "acceptEdits"),
    commands.InputGiven("r", "accept", {"a": 1}),
    commands.SetMode("plan"),
    commands.SetModel(None),
    SetThinking(ThinkingConfig("enabled", 100)),
    commands.SetTitle("t"),
    commands.Compact("short"),
    commands.Rewind("u", files=False),
    commands.StopTask("1"),
    commands.ServerCommand("s", "disable"),
    commands.Complete("c", "/he"),
    commands.AppCall("i", "s", "t", {"a": 1}),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_read_as_it_was_written(event: AgentEvent):
    line = lines.encode_event(event)
    assert b"\n" not in line
    assert lines.decode_session_line(line) == event
    assert event_wire.decode_event(msgspec.json.encode(msgspec.json.decode(line)["event"])) == event


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_a_command_is_read_as_it_was_written(command: Command):
    line = lines.encode_command(command)
    assert lines.decode_host_line(line) == command
    assert event_wire.decode_command(msgspec.json.encode(msgspec.json.decode(line)["command"])) == command


def test_every_kind_of_event_and_command_is_tried():
    assert {type(event) for event in EVENTS} == set(get_args(AgentEvent))
    assert {type(command) for command in COMMANDS} == set(get_args(Command))


def test_what_is_read_in_two_steps_has_the_fields_of_what_it_becomes():
    shadows = [kind for kind in get_args(event_wire.WireEvent) if kind.__name__.startswith("_")]
    assert len(shadows) == 5
    for shadow in shadows:
        assert shadow.__struct_fields__ == getattr(events, shadow.__name__[1:]).__struct_fields__
    prompt = get_args(event_wire.WireCommand)[0]
    assert prompt.__struct_fields__ == Prompt.__struct_fields__


@pytest.mark.parametrize(
    "line",
    [
        lines.Open(options={"cwd": "/x"}, tools=(lines.OwnTool(name="a", manual="m", input_schema={}),)),
        lines.Answered(1, {"a": 1}),
        lines.Close(),
    ],
)
def test_the_other_lines_of_a_host(line: lines.Open | lines.Answered | lines.Close):
    assert lines.decode_host_line(lines.encode_line(line)) == line


@pytest.mark.parametrize(
    "line",
    [
        lines.ToolCall(1, "add", {"a": 1}),
        lines.HookCall(2, "Stop", 0, {}, None),
        lines.Withdrawn(1),
        lines.Failed("UsageError", "no", "do this"),
    ],
)
def test_the_other_lines_of_a_session(line: lines.Call | lines.Withdrawn | lines.Failed):
    assert lines.decode_session_line(lines.encode_line(line)) == line


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"line":"dance"}', b'{"line":"told"}', b'{"line":"do"}', b"\xff"])
def test_anything_else_is_the_peers_fault(text: bytes):
    for decode in (lines.decode_host_line, lines.decode_session_line):
        with pytest.raises(RemoteProtocolError):
            decode(text)
