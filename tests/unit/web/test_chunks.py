from typing import get_args

import pytest

from weft.schema import events as e
from weft.schema.content import Base64Source, Image, Text, Thinking, ToolResult, ToolUse
from weft.schema.display import ExitView, Todo
from weft.schema.messages import Reply
from weft.schema.stream import BlockDelta, BlockStart, InputDelta, MessageStart, Ping, Retry, TextDelta, ThinkingDelta
from weft.surfaces.web import stream as s
from weft.surfaces.web.chunks import to_chunks

INFO = e.SessionInfo(session_id="s", cwd="/p", model="m")
USE = ToolUse("t1", "Bash", {"command": "ls"})
TASK = e.TaskInfo("a", "shell", "sleep")
QUESTION = e.Question("Which?", options=(e.QuestionOption("A"),))
RULE = e.RuleSuggestion("Bash(ls:*)", "session")

TABLE: list[tuple[e.AgentEvent, tuple[s.StreamChunk, ...]]] = [
    (e.SessionStarted(info=INFO), (s.Session(info=INFO, reason="started"),)),
    (e.SessionChanged(info=INFO, reason="mode"), (s.Session(info=INFO, reason="mode"),)),
    (e.TurnStarted(turn_id="1"), (s.TurnStart(id="1"),)),
    (e.TurnEnded(turn_id="1", reason="completed", cost=0.5), (s.TurnEnd(id="1", reason="completed", cost=0.5),)),
    (
        e.TurnEnded(turn_id="1", reason="error", error="x", error_kind="authentication_failed"),
        (
            s.ErrorChunk(message="x", kind="authentication_failed"),
            s.TurnEnd(id="1", reason="error", error="x"),
        ),
    ),
    (
        e.PromptAdded(id="p", content=(Text("hi"), Image(Base64Source("image/png", "AA")), Text("<editor-context>x"))),
        (s.UserMessage(id="p", text="hi", images=(s.Picture("image/png", "AA"),)),),
    ),
    (e.QueueChanged(prompts=(e.QueuedPrompt("p", "x"),)), (s.Queue(prompts=(e.QueuedPrompt("p", "x"),)),)),
    (e.Streamed(message_id="m", delta=BlockDelta(0, TextDelta("a"))), (s.TextChunk(id="m:0", text="a"),)),
    (e.Streamed(message_id="m", delta=BlockStart(0, Thinking(""))), (s.ThinkingStart(id="m:0"),)),
    (e.Streamed(message_id="m", delta=BlockDelta(0, ThinkingDelta("a"))), (s.ThinkingContent(id="m:0", text="a"),)),
    (
        e.Streamed(message_id="m", delta=BlockStart(1, USE)),
        (s.ToolStart(id="t1", name="Bash", title="Bash", state="streaming"),),
    ),
    (e.Streamed(message_id="m", delta=BlockDelta(1, InputDelta("{"))), ()),
    (e.Streamed(message_id="m", delta=MessageStart("m", "x")), ()),
    (e.Streamed(message_id="m", delta=Ping()), ()),
    (
        e.Streamed(message_id="m", delta=Retry(1, 3, 0.5, "overloaded")),
        (s.RetryChunk(attempt=1, max_retries=3, delay=0.5),),
    ),
    (
        e.BlockDone(message_id="m", index=0, block=Text("a"), parent="t0"),
        (s.TextChunk(id="m:0", text="a", whole=True, done=True, parent="t0"),),
    ),
    (
        e.MessageDone(reply=Reply("m", "x", (Thinking("h"), Text("a"), USE))),
        (
            s.ThinkingContent(id="m:0", text="h", whole=True),
            s.ThinkingEnd(id="m:0"),
            s.TextChunk(id="m:1", text="a", whole=True, done=True),
            s.MessageEnd(id="m", model="x"),
        ),
    ),
    (
        e.MessageDone(reply=Reply("m", "x", (Text("Overloaded."),)), error="overloaded"),
        (s.ErrorChunk(message="Overloaded.", kind="overloaded"),),
    ),
    (
        e.ToolCalled(use=USE, state="running", title="List", kind="execute"),
        (s.ToolStart(id="t1", name="Bash", title="List", kind="execute", state="running", input={"command": "ls"}),),
    ),
    (e.ToolProgressed(tool_use_id="t1", output="x"), (s.ToolOutput(id="t1", text="x"),)),
    (
        e.ToolEnded(
            tool_use_id="t1", name="Bash", result=ToolResult("t1", "out"), outcome="error", display=(ExitView("ls", 2),)
        ),
        (s.ToolEnd(id="t1", name="Bash", status="error", text="out", exit_code=2, display=(ExitView("ls", 2),)),),
    ),
    (
        e.PermissionAsked(request_id="r", use=USE, reason="why", suggestions=(RULE,)),
        (
            s.ToolConfirmation(
                request_id="r",
                tool_id="t1",
                name="Bash",
                input={"command": "ls"},
                title="Bash",
                reason="why",
                suggestions=(RULE,),
            ),
        ),
    ),
    (
        e.QuestionAsked(request_id="r", tool_use_id="t", questions=(QUESTION,)),
        (s.UserQuestion(request_id="r", tool_id="t", questions=(QUESTION,)),),
    ),
    (
        e.PlanProposed(request_id="r", tool_use_id="t", plan="# P"),
        (s.PlanApproval(request_id="r", tool_id="t", plan="# P"),),
    ),
    (
        e.InputRequested(request_id="r", server="db", message="Name?", schema={"type": "object"}),
        (s.InputRequest(request_id="r", server="db", message="Name?", schema={"type": "object"}),),
    ),
    (e.AskWithdrawn(request_id="r"), (s.AskClosed(request_id="r", reason="cancelled"),)),
    (e.TodosChanged(todos=(Todo("x"),)), (s.Plan(entries=(Todo("x"),)),)),
    (e.UsageChanged(context_tokens=5, total_cost=1.0), (s.UsageChunk(context_tokens=5, total_cost=1.0),)),
    (
        e.Retrying(attempt=1, max_retries=2, delay=1, error="overloaded", message="busy"),
        (s.RetryChunk(attempt=1, max_retries=2, delay=1, message="busy"),),
    ),
    (e.Compacted(state="done", before=9, after=1), (s.Compaction(state="done", before=9, after=1),)),
    (e.Notice(text="n"), (s.NoticeChunk(text="n"),)),
    (e.Notice(text="n", level="error", tag="k"), (s.ErrorChunk(message="n", kind="k"),)),
    (e.TaskChanged(task=TASK), (s.TaskChunk(task=TASK),)),
    (e.Reported(report=e.HookRan(hook_id="h", name="lint", hook_event="Stop")), ()),
    (e.Reported(report=e.Completed(id="c1")), ()),
    (
        e.Reported(report=e.HookRan(hook_id="h", name="lint", hook_event="Stop", outcome="blocked", stderr="bad")),
        (s.NoticeChunk(text="Hook lint: blocked. bad", level="warning"),),
    ),
]


@pytest.mark.parametrize(("event", "chunks"), TABLE, ids=lambda value: type(value).__name__)
def test_each_event_becomes_these_chunks(event: e.AgentEvent, chunks: tuple[s.StreamChunk, ...]) -> None:
    assert to_chunks(event) == chunks


def test_the_table_has_every_event_and_every_chunk_of_the_seed() -> None:
    assert {type(event) for event, _ in TABLE} == set(get_args(e.AgentEvent))
    tags = {type(chunk).__struct_config__.tag for _, chunks in TABLE for chunk in chunks}
    seed = "text thinking_start thinking_content thinking_end tool_start tool_output tool_end tool_confirmation"
    assert set(f"{seed} user_question plan plan_approval error usage".split()) <= tags
