"""Whole turns: the real loop, tools, gate and log, on a scripted model."""

from pathlib import Path

import anyio
import pytest

import weft
from tests.integration.driving import ended, names, session, turn, until_end
from weft.agent.options import SessionOptions
from weft.errors import SessionError
from weft.schema.commands import Cancel, PermissionAnswered, Prompt, SetMode
from weft.schema.content import Text, ToolResult
from weft.schema.events import (
    AskWithdrawn,
    MessageDone,
    PermissionAsked,
    PromptAdded,
    SessionChanged,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from weft.schema.messages import Message, Usage
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import Fail, Line, ScriptedProvider, call, say


def results(message: Message) -> list[ToolResult]:
    return [block for block in message.content if isinstance(block, ToolResult)]


async def test_a_turn_reads_edits_and_reports(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("hello\n")
    script = [
        [say("I'll look."), call("Read", file_path=str(file))],
        call("Edit", file_path=str(file), old_string="hello", new_string="bye"),
        "Done.",
    ]
    async with session(tmp_path, script, mode="acceptEdits") as (connection, provider):
        events = await turn(connection, "greet differently")
    assert file.read_text() == "bye\n"
    end = ended(events)
    assert (end.reason, end.text, end.steps) == ("completed", "Done.", 3)
    assert end.usage == Usage(input_tokens=300, output_tokens=60)
    assert "1\thello" in str(results(provider.requests[1].messages[-1])[0].content)
    assert names(events) == [
        "SessionStarted",
        "TurnStarted",
        "PromptAdded",
        *["Streamed", "BlockDone", "Streamed", "BlockDone", "Streamed", "MessageDone", "UsageChanged"],
        *["ToolCalled", "ToolEnded"],
        *["Streamed", "BlockDone", "Streamed", "MessageDone", "UsageChanged"],
        *["ToolCalled", "ToolEnded"],
        *["Streamed", "BlockDone", "Streamed", "MessageDone", "UsageChanged"],
        "TurnEnded",
    ]


async def test_a_write_that_nobody_can_allow_is_denied_and_the_model_is_told(tmp_path: Path):
    script = [call("Write", file_path=str(tmp_path / "x"), content="x"), "I could not."]
    async with session(tmp_path, script) as (connection, provider):
        events = await turn(connection, "write x")
    assert not (tmp_path / "x").exists()
    end = ended(events)
    assert [denial.tool_name for denial in end.denials] == ["Write"]
    assert end.reason == "completed"
    refused = results(provider.requests[1].messages[-1])[0]
    assert refused.is_error
    assert "permission" in str(refused.content)


async def test_the_person_is_asked_and_their_word_counts(tmp_path: Path):
    script = [call("Write", file_path=str(tmp_path / "x"), content="x"), "ok"]
    async with session(tmp_path, [*script, *script], asks=frozenset({"permission"})) as (connection, provider):
        for behavior, expected in (("deny", False), ("allow", True)):
            await connection.send(Prompt("write x"))
            async for event in connection.events():
                if isinstance(event, PermissionAsked):
                    assert event.use.name == "Write"
                    await connection.send(PermissionAnswered(event.request_id, behavior, message="not now"))
                if isinstance(event, TurnEnded):
                    break
            assert (tmp_path / "x").exists() is expected
    assert results(provider.requests[1].messages[-1])[0].content == "not now"


async def test_what_the_person_changed_is_what_runs(tmp_path: Path):
    script = [call("Write", file_path=str(tmp_path / "x"), content="theirs"), "ok"]
    async with session(tmp_path, script, asks=frozenset({"permission"})) as (connection, _provider):
        await connection.send(Prompt("write x"))
        async for event in connection.events():
            if isinstance(event, PermissionAsked):
                changed = {**event.use.input, "content": "mine"}
                await connection.send(PermissionAnswered(event.request_id, "allow", input=changed))
            if isinstance(event, TurnEnded):
                break
    assert (tmp_path / "x").read_text() == "mine"


async def test_a_cancel_while_text_streams_keeps_what_was_said(tmp_path: Path):
    provider = ScriptedProvider(["a long answer that never ends", "next"], chunk=6, gate=None)
    hold = anyio.Event()
    count = 0

    async def gate() -> None:
        nonlocal count
        count += 1
        if count == 3:
            hold.set()
            await anyio.sleep_forever()

    provider = ScriptedProvider(["a long answer that never ends", "next"], chunk=6, gate=gate)
    async with session(tmp_path, provider) as (connection, _provider):
        await connection.send(Prompt("go on"))
        await hold.wait()
        await connection.send(Cancel())
        events = await until_end(connection)
        end = ended(events)
        assert (end.reason, end.interrupted) == ("cancelled", "streaming")
        cut = [event for event in events if isinstance(event, MessageDone)]
        assert [(event.aborted, event.reply.text) for event in cut] == [(True, "a long answe")]
        count = 10
        again = ended(await turn(connection, "and now?"))
        assert again.text == "next"
    roles = [message.role for message in provider.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert "[Request interrupted by user]" in provider.requests[1].messages[2].text


async def test_a_cancel_while_a_question_is_open_withdraws_it_and_answers_the_call(tmp_path: Path):
    script = [call("Write", file_path=str(tmp_path / "x"), content="x"), "fine"]
    async with session(tmp_path, script, asks=frozenset({"permission"})) as (connection, provider):
        await connection.send(Prompt("write x"))
        seen = []
        async for event in connection.events():
            seen.append(event)
            if isinstance(event, PermissionAsked):
                await connection.send(Cancel())
            if isinstance(event, TurnEnded):
                break
        assert ended(seen).interrupted == "tools"
        assert any(isinstance(event, AskWithdrawn) for event in seen)
        assert [event.outcome for event in seen if isinstance(event, ToolEnded)] == ["cancelled"]
        await turn(connection, "never mind")
    messages = provider.requests[1].messages
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert len(results(messages[2])) == 1


async def test_prompts_wait_and_each_gets_its_turn(tmp_path: Path):
    async with session(tmp_path, ["one", "two"]) as (connection, _provider):
        await connection.send(Prompt("a", steer=False))
        await connection.send(Prompt("b", steer=False))
        assert ended(await until_end(connection)).text == "one"
        assert ended(await until_end(connection)).text == "two"


async def test_a_prompt_that_comes_while_tools_run_joins_the_turn(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    script = [call("Read", file_path=str(tmp_path / "a")), "done"]
    async with session(tmp_path, script) as (connection, provider):
        await connection.send(Prompt("read a"))
        await connection.send(Prompt("and be brief", id="steered"))
        events = await until_end(connection)
    assert ended(events).steps == 2
    assert provider.requests[1].messages[-1].content[-1] == Text("and be brief")
    assert "steered" in [event.id for event in events if isinstance(event, PromptAdded)]
    assert len([event for event in events if isinstance(event, TurnStarted)]) == 1


async def test_the_turn_limit_lets_the_last_tools_run(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    script = [call("Read", file_path=str(tmp_path / "a"))] * 5
    async with session(tmp_path, script, max_turns=2) as (connection, provider):
        events = await turn(connection, "read forever")
    assert ended(events).reason == "max_turns"
    assert len(provider.requests) == 2
    assert len([event for event in events if isinstance(event, ToolEnded)]) == 2


async def test_the_same_call_again_and_again_is_stopped(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    script = [call("Read", file_path=str(tmp_path / "a"))]
    async with session(tmp_path, ScriptedProvider(script, cycle=True)) as (connection, provider):
        end = ended(await turn(connection, "read forever"))
    assert end.reason == "loop"
    assert end.error is not None
    assert "6 times" in end.error
    assert len(provider.requests) == 6


async def test_a_model_that_fails_ends_the_turn_with_a_sentence_and_the_next_one_works(tmp_path: Path):
    async with session(tmp_path, [Fail("overloaded", "The model is busy.", 529), "hello"]) as (connection, _provider):
        end = ended(await turn(connection, "hi"))
        assert (end.reason, end.error, end.error_kind, end.error_status) == (
            "error",
            "The model is busy.",
            "overloaded",
            529,
        )
        assert ended(await turn(connection, "again")).text == "hello"


async def test_a_reply_that_was_cut_is_asked_to_go_on(tmp_path: Path):
    script = [Line((Text("first half"),), stop_reason="max_tokens"), "second half"]
    async with session(tmp_path, script) as (connection, provider):
        assert ended(await turn(connection, "tell me")).text == "second half"
    assert provider.requests[1].messages[1].text == "first half"


async def test_whole_blocks_before_a_broken_stream_count(tmp_path: Path):
    script = [Fail("cut", "The connection broke.", None, partial=(Text("so far"),)), "and the rest"]
    async with session(tmp_path, script) as (connection, provider):
        assert ended(await turn(connection, "tell me")).text == "and the rest"
    assert provider.requests[1].messages[1].text == "so far"


async def test_read_only_calls_run_at_once_and_answer_in_their_order(tmp_path: Path):
    for name in "abc":
        (tmp_path / name).write_text(name)
    calls = [call("Read", file_path=str(tmp_path / name)) for name in "abc"]
    async with session(tmp_path, [calls, "done"]) as (connection, provider):
        await turn(connection, "read all")
    assert [str(result.content)[-1] for result in results(provider.requests[1].messages[-1])] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (call("Raed", file_path="/x"), "no tool named Raed"),
        (call("Read"), "file_path"),
        (call("Read", file_path=7), "file_path"),
    ],
)
async def test_a_wrong_call_comes_back_as_a_sentence(tmp_path: Path, use: object, words: str):
    async with session(tmp_path, [use, "sorry"]) as (connection, provider):
        await turn(connection, "go")
    answer = results(provider.requests[1].messages[-1])[0]
    assert answer.is_error
    assert words in str(answer.content)


async def test_a_mode_that_policy_forbids_is_a_notice_and_changes_nothing(tmp_path: Path):
    async with session(tmp_path, ["ok"]) as (connection, _provider):
        await connection.send(SetMode("plan"))
        await connection.send(SetMode("bypassPermissions"))
        events = await turn(connection, "hi")
    modes = [event.info.mode for event in events if isinstance(event, SessionChanged)]
    assert modes == ["plan"]


async def test_a_resumed_session_goes_on_where_it_was(tmp_path: Path):
    async with session(tmp_path, ["nice to meet you"]) as (connection, _provider):
        await turn(connection, "my name is Ada")
        session_id = connection.info.session_id
    async with session(tmp_path, ["Ada"], resume=session_id, replay=True) as (connection, provider):
        events = await turn(connection, "what is my name?")
    assert [message.text.splitlines()[-1] for message in provider.requests[0].messages] == [
        "my name is Ada",
        "nice to meet you",
        "what is my name?",
    ]
    shown = [event for event in events if isinstance(event, PromptAdded) and event.replay]
    assert [block for event in shown for block in event.content] == [Text("my name is Ada")]
    assert ended(events).total_cost >= 0


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        ('{"behavior":"allow"}', True),
        ('{"behavior":"deny","message":"the tool says no"}', False),
        ("yes please", False),
    ],
)
async def test_a_tool_answers_for_the_person(tmp_path: Path, answer: str, made: bool):
    @weft.tool
    async def judge(tool_name: str, input: dict[str, object], tool_use_id: str) -> str:
        """Judges calls."""
        assert tool_name == "Write"
        return answer

    provider = ScriptedProvider([call("Write", file_path=str(tmp_path / "x"), content="x"), "ok"])
    options = SessionOptions(cwd=tmp_path, permission_tool="judge")
    with anyio.fail_after(30):
        async with connect(options, Overrides(provider=provider, tools=(judge,))) as connection:
            end = ended(await turn(connection, "write"))
    assert (tmp_path / "x").exists() is made
    assert len(end.denials) == (0 if made else 1)


async def test_a_cut_that_would_drop_another_turn_is_refused(tmp_path: Path):
    async with session(tmp_path, ["one", "two", "three"]) as (connection, _provider):
        first = [e for e in await turn(connection, "a") if isinstance(e, MessageDone)][-1]
        second = [e for e in await turn(connection, "b") if isinstance(e, PromptAdded)][-1]
        session_id = connection.info.session_id
    where = {"resume": session_id, "resume_at": first.uuid}
    with pytest.raises(SessionError, match="Resume rejected by --resume-drops-turn"):
        async with session(tmp_path, ["x"], resume_drops="another", **where):
            pass
    async with session(tmp_path, ["again"], resume_drops=second.id, **where) as (connection, provider):
        assert ended(await turn(connection, "c")).text == "again"
    assert "b" not in [message.text.splitlines()[-1] for message in provider.requests[0].messages]
