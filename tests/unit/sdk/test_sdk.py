"""The public API, on scripted models."""

from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest

import weft
from weft.errors import SessionError
from weft.schema.commands import PermissionAnswered
from weft.schema.content import Json, ToolResult
from weft.schema.events import AgentEvent, PermissionAsked, PlanProposed, QuestionAsked, TurnEnded
from weft.schema.records import UserRecord
from weft.sdk.client import TurnFailed
from weft.sdk.iflow import IFlowClient, IFlowError, IFlowOptions, RawDataClient, ValidationError, query, query_stream
from weft.sdk.iflow_messages import AssistantMessage, PlanMessage, TaskFinishMessage, ToolCallMessage
from weft.testing.scripted import Fail, ScriptedProvider, call, say, think


@weft.tool(read_only=True)
async def add(a: int, b: Annotated[int, msgspec.Meta(description="the other")] = 1) -> int:
    """Adds two numbers."""
    return a + b


def options(cwd: Path, *script: Any, **more: Any) -> weft.Options:
    return weft.Options(cwd=cwd, provider=ScriptedProvider(script), **more)


def result_of(provider: object) -> ToolResult:
    assert isinstance(provider, ScriptedProvider)
    block = provider.requests[-1].messages[-1].content[0]
    assert isinstance(block, ToolResult)
    return block


async def test_a_query_is_awaited_for_its_answer(tmp_path: Path):
    answer = await weft.query("hi", options(tmp_path, "hello"))
    assert (answer.text, answer.steps) == ("hello", 1)
    assert answer.session_id


async def test_a_query_is_iterated_for_its_events_and_may_be_left_early(tmp_path: Path):
    seen: list[AgentEvent] = []
    with anyio.fail_after(30):
        async for event in weft.query("hi", options(tmp_path, "hello")):
            seen.append(event)
            if len(seen) == 3:
                break
        events = [event async for event in weft.query("hi", options(tmp_path, "hello"))]
    assert len(seen) == 3
    assert isinstance(events[-1], TurnEnded)


async def test_a_turn_that_fails_is_an_exception_with_the_reason(tmp_path: Path):
    with pytest.raises(TurnFailed) as caught:
        await weft.query("hi", options(tmp_path, Fail("overloaded", "busy", 529)))
    assert caught.value.ended.error_status == 529


async def test_a_function_is_a_tool(tmp_path: Path):
    chosen = options(tmp_path, call("add", a=2, b=3), "five", own_tools=[add])
    assert (await weft.query("add", chosen)).text == "five"
    answer = result_of(chosen.provider)
    assert str(answer.content).count("5")
    assert add.input_schema["required"] == ["a"]
    assert await add(1, 2) == 3


async def test_wrong_arguments_reach_the_model_and_not_the_function(tmp_path: Path):
    chosen = options(tmp_path, call("add", a="two"), "sorry", own_tools=[add])
    await weft.query("add", chosen)
    assert result_of(chosen.provider).is_error


def test_a_tool_without_words_or_types_is_refused_at_once():
    async def silent(a: int) -> int:
        return a

    async def untyped(a):  # type: ignore[no-untyped-def]
        """Has words."""

    with pytest.raises(TypeError, match="docstring"):
        weft.tool(silent)
    with pytest.raises(TypeError, match="annotation"):
        weft.tool(untyped)


async def test_structured_output_is_a_value_of_the_type(tmp_path: Path):
    class Point(msgspec.Struct):
        x: int
        y: int

    chosen = options(tmp_path, call("StructuredOutput", x=1, y=2), output=Point)
    assert (await weft.query("where?", chosen)).value == Point(1, 2)


@pytest.mark.parametrize(
    ("verdict", "made"),
    [(True, True), (False, False), ("because", False), (PermissionAnswered("", "allow"), True)],
)
async def test_the_permission_callback_decides(tmp_path: Path, verdict: Any, made: bool):
    async def decide(asked: PermissionAsked) -> Any:
        assert asked.use.name == "Write"
        return verdict

    chosen = options(tmp_path, call("Write", file_path=str(tmp_path / "x"), content="x"), "ok", permission=decide)
    answer = await weft.query("write", chosen)
    assert (tmp_path / "x").exists() is made
    assert len(answer.denials) == (0 if made else 1)
    if verdict == "because":
        assert result_of(chosen.provider).content == "because"


async def test_questions_and_plans_are_answered_by_callbacks(tmp_path: Path):
    async def answer(asked: QuestionAsked) -> dict[str, str]:
        return {asked.questions[0].question: "Blue"}

    async def approve(proposed: PlanProposed) -> bool:
        return "step" in proposed.plan

    colours = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    ask = call("AskUserQuestion", questions=[{"question": "Colour?", "header": "C", "options": colours}])
    chosen = options(
        tmp_path, ask, call("ExitPlanMode", plan="one step"), "ok", questions=answer, plans=approve, mode="plan"
    )
    assert (await weft.query("go", chosen)).text == "ok"
    assert isinstance(chosen.provider, ScriptedProvider)
    assert "Blue" in str(chosen.provider.requests[1].messages[-1])


async def test_hooks_are_functions(tmp_path: Path):
    seen: list[str] = []

    async def before(given: Json, tool_use_id: str | None) -> Json | None:
        seen.append(str(given["tool_name"]))
        return {"decision": "block", "reason": "not this one"}

    (tmp_path / "a").write_text("a")
    chosen = options(tmp_path, call("Read", file_path=str(tmp_path / "a")), "ok", hooks={"PreToolUse": [before]})
    await weft.query("read", chosen)
    assert seen == ["Read"]
    assert "not this one" in str(result_of(chosen.provider).content)


async def test_a_client_keeps_its_conversation(tmp_path: Path):
    chosen = options(tmp_path, "one", "two")
    async with weft.Client(chosen) as client:
        assert (await client.ask("a")).text == "one"
        await client.set_mode("plan")
        assert (await client.ask("b")).text == "two"
        session_id = client.info.session_id
        assert client.info.mode == "plan"
    rows = weft.list_sessions(tmp_path)
    assert [row.session_id for row in rows] == [session_id]
    assert weft.read_session(session_id)
    fork = weft.fork_session(session_id, cwd=tmp_path)
    assert fork != session_id
    weft.delete_session(fork)
    assert len(weft.list_sessions(tmp_path)) == 1


async def test_every_verb_for_sessions_is_there_and_none_touches_another_file(tmp_path: Path):
    async with weft.Client(options(tmp_path, "one", "two")) as client:
        await client.ask("the first thing")
        await client.ask("the second thing")
        session_id = client.info.session_id
    (row,) = weft.list_sessions(tmp_path)
    assert (row.first_prompt, row.last_prompt) == ("the first thing", "the second thing")
    source = next((Path.home() / ".weft").glob(f"projects/*/{session_id}.jsonl"))
    bytes_before = source.read_bytes()
    copy = weft.fork_session(session_id, cwd=tmp_path)
    weft.rename_session(copy, "A  better name")
    assert {row.title for row in weft.list_sessions(tmp_path)} == {"", "A better name"}
    prompts = [record for record in weft.read_session(copy) if isinstance(record, UserRecord) and not record.meta]
    assert weft.rewind_session(copy, prompts[1].origin.uuid) == "the second thing"
    async with weft.Client(options(tmp_path, "three", resume=copy)) as client:
        answer = await client.ask("the third thing")
    assert answer.text == "three" and source.read_bytes() == bytes_before
    hits = weft.search_sessions("third thing", tmp_path)
    assert [hit.session.session_id for hit in hits] == [copy]
    assert weft.search_sessions("nowhere at all") == []
    markdown, html = weft.export_session(copy), weft.export_session(copy, "html")
    assert "# A better name" in markdown and "the third thing" in markdown and "the second thing" not in markdown
    assert html.lower().startswith("<!doctype html") and "the first thing" in html
    for name in (weft.rename_session, weft.rewind_session):
        with pytest.raises(SessionError):
            name("11111111-1111-4111-8111-111111111111", "x")
    async with weft.Client(options(tmp_path, "four", continue_latest=True)) as client:
        assert client.info.session_id == copy
    weft.delete_session(copy)
    assert [row.session_id for row in weft.list_sessions(tmp_path)] == [session_id]


def test_the_public_names_are_these():
    assert sorted(weft.__all__) == [
        "Answer",
        "Client",
        "Options",
        "TurnFailed",
        "__version__",
        "delete_session",
        "export_session",
        "fork_session",
        "list_sessions",
        "query",
        "read_session",
        "rename_session",
        "rewind_session",
        "search_sessions",
        "tool",
    ]
    assert all(getattr(weft, name) is not None for name in weft.__all__)
    with pytest.raises(AttributeError):
        weft.nothing  # type: ignore[attr-defined]


def iflow(cwd: Path, *script: Any, **more: Any) -> IFlowOptions:
    return IFlowOptions(cwd=cwd, provider=ScriptedProvider(script), **more)


async def test_iflow_queries_give_text(tmp_path: Path):
    assert await query("hi", options=iflow(tmp_path, "hello there")) == "hello there"
    pieces = [piece async for piece in query_stream("hi", options=iflow(tmp_path, "a long answer, in pieces"))]
    assert "".join(pieces) == "a long answer, in pieces"
    with pytest.raises(IFlowError, match="busy"):
        await query("hi", options=iflow(tmp_path, Fail("overloaded", "busy", 529)))


async def test_iflow_messages_are_typed_and_approvals_go_by_id(tmp_path: Path):
    todo = call("TodoWrite", todos=[{"content": "look", "status": "pending", "activeForm": "looking"}])
    write = call("Write", file_path=str(tmp_path / "x"), content="x")
    async with IFlowClient(iflow(tmp_path, [think("hm"), say("On it."), todo], write, "done")) as client:
        await client.send_message("go")
        seen = []
        async for message in client.receive_messages():
            seen.append(message)
            if isinstance(message, ToolCallMessage) and message.request_id is not None:
                await client.approve_tool_call(message.request_id)
    assert (tmp_path / "x").exists()
    assert any(isinstance(one, AssistantMessage) and one.thought == "hm" for one in seen)
    assert any(isinstance(one, PlanMessage) and one.entries[0].content == "look" for one in seen)
    assert seen[-1] == TaskFinishMessage("end_turn")


async def test_the_raw_client_has_both_streams_and_counts(tmp_path: Path):
    async with RawDataClient(iflow(tmp_path, "hello")) as client:
        await client.send_raw({"command": "Prompt", "content": "hi"})
        pairs = [pair async for pair in client.receive_dual_stream()]
        with pytest.raises(ValidationError):
            await client.send_raw({"command": "Explode"})
    assert [raw["event"] for raw, _ in pairs][-1] == "TurnEnded"
    assert any(messages for _, messages in pairs)
    stats = client.get_protocol_stats()
    assert stats["total"] == len(pairs) == len(client.get_raw_history())
