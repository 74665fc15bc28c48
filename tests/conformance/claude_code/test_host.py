"""The real Claude Code command, driven by our host: a turn with tools, a permission denied, an interrupt, a resume."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin
from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions
from weft.schema.commands import Cancel, PermissionAnswered, Prompt
from weft.schema.content import Text, ToolUse
from weft.schema.events import (
    AgentEvent,
    MessageDone,
    PermissionAsked,
    SessionStarted,
    Streamed,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Answer, Cue

Opened = Callable[..., AbstractAsyncContextManager[StreamJsonConnection]]


@pytest.fixture
def claude(tmp_path: Path, fresh_home: Path) -> Opened:
    project = tmp_path / "project"
    project.mkdir()

    @asynccontextmanager
    async def opened(*cues: Cue, resume: str = "") -> AsyncIterator[StreamJsonConnection]:
        async with FakeAnthropic(list(cues)) as server:
            env = {
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "k",
                "HOME": str(fresh_home),
                "IS_SANDBOX": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "ENABLE_TOOL_SEARCH": "0",
                "CLAUDE_CODE_MAX_RETRIES": "1",
            }
            options = StreamJsonOptions(
                command=(str(peer_bin("claude")),), cwd=project, env=env, name="claude", resume=resume
            )
            with anyio.fail_after(90):
                async with StreamJsonConnection(options) as connection:
                    yield connection

    return opened


async def turn(connection: StreamJsonConnection, text: str, *, allow: bool = True) -> list[AgentEvent]:
    await connection.send(Prompt(text))
    seen: list[AgentEvent] = []
    async for event in connection.events():
        seen.append(event)
        if isinstance(event, PermissionAsked):
            await connection.send(
                PermissionAnswered(event.request_id, "allow" if allow else "deny", message="not today")
            )
        if isinstance(event, TurnEnded):
            return seen
    raise AssertionError("the events ended in the middle of a turn")


def of(events: list[AgentEvent], kind: type[AgentEvent]) -> list[AgentEvent]:
    return [event for event in events if isinstance(event, kind)]


async def test_a_turn_with_a_tool(claude: Opened, tmp_path: Path):
    file = tmp_path / "project" / "made.txt"
    async with claude(ToolUse("toolu_1", "Write", {"file_path": str(file), "content": "hello\n"}), "Done.") as agent:
        events = await turn(agent, "write the file")
    assert file.read_text() == "hello\n"
    assert isinstance(events[0], SessionStarted)
    assert len(of(events, TurnStarted)) == 1
    ended = next(event for event in events if isinstance(event, ToolEnded))
    assert (ended.name, ended.outcome) == ("Write", "ok")
    assert [(edit.before, edit.after) for edit in ended.edits] == [(None, "hello\n")]
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert (last.reason, last.text) == ("completed", "Done.")


async def test_a_permission_asked_and_denied(claude: Opened, tmp_path: Path):
    file = tmp_path / "project" / "made.txt"
    async with claude(ToolUse("toolu_1", "Write", {"file_path": str(file), "content": "x"}), "I see.") as agent:
        events = await turn(agent, "write the file", allow=False)
    assert not file.exists()
    asked = of(events, PermissionAsked)
    assert len(asked) == 1
    ended = next(event for event in events if isinstance(event, ToolEnded))
    assert ended.result.is_error
    assert "not today" in str(ended.result.content)
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert [denial.tool_name for denial in last.denials] == ["Write"]


async def test_an_interrupt_ends_the_turn_and_the_next_one_works(claude: Opened):
    slow = Answer(blocks=(Text("word " * 200),), piece=5, delay=0.05)
    async with claude(slow, "after") as agent:
        await agent.send(Prompt("go on"))
        asked = False
        async for event in agent.events():
            if isinstance(event, Streamed) and not asked:
                asked = True
                await agent.send(Cancel())
            if isinstance(event, TurnEnded):
                assert event.reason == "cancelled"
                break
        events = await turn(agent, "and now?")
        assert "".join(event.reply.text for event in events if isinstance(event, MessageDone)) == "after"


async def test_a_resume_knows_what_was_said(claude: Opened):
    async with claude("Nice to meet you.") as agent:
        await turn(agent, "my name is Ada")
        session_id = agent.info.session_id
    async with claude("Ada.", resume=session_id) as agent:
        events = await turn(agent, "what is my name?")
        assert agent.info.session_id == session_id
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert last.text == "Ada."


async def test_other_settings_start_it_anew_in_the_same_conversation(claude: Opened):
    async with claude("Nice to meet you.", "Ada.") as agent:
        await turn(agent, "my name is Ada")
        session_id = agent.info.session_id
        await agent.restart(arguments=("--model", "claude-haiku-4-5"))
        events = await turn(agent, "what is my name?")
        assert agent.info.session_id == session_id
        assert agent.info.model.startswith("claude-haiku-4-5")
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert last.text == "Ada."
