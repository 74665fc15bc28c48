"""The real Claude Code command, driven by our host: a turn with tools, a permission denied, an interrupt, a resume; the
queue of prompts, its edits, its list of what is left, and what happens when it dies."""

import signal
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin
from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions
from weft.errors import AgentEnded
from weft.schema.commands import Cancel, DropPrompt, PermissionAnswered, Prompt
from weft.schema.content import Text, ToolUse
from weft.schema.events import (
    AgentEvent,
    MessageDone,
    PermissionAsked,
    PromptAdded,
    QueueChanged,
    SessionStarted,
    Streamed,
    TodosChanged,
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
    async def opened(
        *cues: Cue, resume: str = "", arguments: tuple[str, ...] = ()
    ) -> AsyncIterator[StreamJsonConnection]:
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
                command=(str(peer_bin("claude")),),
                cwd=project,
                env=env,
                name="claude",
                resume=resume,
                arguments=arguments,
            )
            with anyio.fail_after(180):
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


SLOW = Answer(blocks=(Text("word " * 200),), piece=5, delay=0.05)


async def test_prompts_wait_in_their_order_and_can_be_taken_back(claude: Opened):
    first, second, third = (str(uuid.uuid4()) for _ in range(3))
    queues: list[tuple[str, ...]] = []
    turns: list[tuple[str, ...]] = []
    ended: list[str] = []
    async with claude(SLOW, "the second") as agent:
        await agent.send(Prompt("one", id=first))
        asked = False
        async for event in agent.events():
            if isinstance(event, Streamed) and not asked:
                asked = True
                await agent.send(Prompt("two", id=second))
                await agent.send(Prompt("three", id=third))
            if isinstance(event, QueueChanged):
                queues.append(tuple(prompt.text for prompt in event.prompts))
                if len(event.prompts) == 2:
                    await agent.send(DropPrompt(third))
            if isinstance(event, TurnStarted):
                turns.append(event.prompt_ids)
            if isinstance(event, TurnEnded):
                ended.append(event.text)
                if len(ended) == 2:
                    break
    assert queues == [("two",), ("two", "three"), ("two",), ()]
    assert turns == [(first,), (second,)]
    assert ended[1] == "the second"


async def test_its_edits_are_followed_before_and_after(claude: Opened, tmp_path: Path):
    file = tmp_path / "project" / "a.txt"
    file.write_text("one\ntwo\n")
    path = {"file_path": str(file)}
    edit = ToolUse("toolu_2", "Edit", {**path, "old_string": "one", "new_string": "1"})
    async with claude(ToolUse("toolu_1", "Read", path), edit, "Done.") as agent:
        events = await turn(agent, "change it")
    edits = [view for event in events if isinstance(event, ToolEnded) for view in event.edits]
    assert [(view.path, view.before, view.after) for view in edits] == [(str(file), "one\ntwo\n", "1\ntwo\n")]


async def test_its_list_of_what_is_left_is_ours_too(claude: Opened):
    def task(number: int, name: str, **given: object) -> ToolUse:
        return ToolUse(f"toolu_{number}", name, given)

    cues = (
        task(1, "TaskCreate", subject="Look", description="Look around", activeForm="Looking"),
        task(2, "TaskCreate", subject="Fix", description="Fix it", activeForm="Fixing"),
        task(3, "TaskUpdate", taskId="1", status="in_progress"),
        task(4, "TaskUpdate", taskId="1", status="completed"),
        task(5, "TaskUpdate", taskId="2", status="deleted"),
        "done",
    )
    async with claude(*cues, arguments=("--model", "claude-haiku-4-5")) as agent:
        events = await turn(agent, "go")
    lists = [event.todos for event in events if isinstance(event, TodosChanged)]
    assert [[(todo.content, todo.status) for todo in todos] for todos in lists] == [
        [("Look", "pending")],
        [("Look", "pending"), ("Fix", "pending")],
        [("Look", "in_progress"), ("Fix", "pending")],
        [("Look", "completed"), ("Fix", "pending")],
        [("Look", "completed")],
    ]


async def test_when_it_dies_its_turn_ends_and_the_next_prompt_goes_on_where_it_was(claude: Opened):
    async with claude("Nice to meet you.", SLOW, "Ada.") as agent:
        await turn(agent, "my name is Ada")
        session_id = agent.info.session_id
        await agent.send(Prompt("go on"))
        killed = False
        async for event in agent.events():
            if isinstance(event, Streamed) and not killed:
                killed = True
                assert agent.child is not None
                agent.child.signal(signal.SIGKILL)
            if isinstance(event, TurnEnded):
                assert event.reason == "error"
                break
        events = await turn(agent, "what is my name?")
        assert agent.info.session_id == session_id
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert last.text == "Ada."
    assert [event.content for event in events if isinstance(event, PromptAdded)] == [(Text("what is my name?"),)]


async def test_what_it_complains_about_is_in_the_error(claude: Opened):
    with pytest.raises(AgentEnded) as caught:
        async with claude(arguments=("--no-such-flag",)):
            raise AssertionError("it started")
    assert "no-such-flag" in str(caught.value.hint)
