"""A scripted agent behind ACP, both sides ours: it behaves as a `Connection` does."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import GivenStream
from weft.connect.port import Connection
from weft.errors import ConnectionLost
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Text, ToolUse
from weft.schema.stream import BlockDelta, TextDelta
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.request import SessionRequest
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, Stage, said
from weft.transports.messages import memory_pair

Make = Callable[[Sequence[Any]], AbstractAsyncContextManager[Connection]]


@asynccontextmanager
async def behind_acp(turns: Sequence[Any]) -> AsyncIterator[Connection]:
    here, there = memory_pair()

    async def open_session(request: SessionRequest) -> Connection:
        return ScriptedConnection(turns, info=e.SessionInfo(request.session_id, str(request.cwd), "m"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(AcpAgent(there, open_session, MemoryStore()).run)
        async with AcpConnection(GivenStream(here), AcpOptions(cwd=Path("/tmp"))) as connection:
            yield connection
        tasks.cancel_scope.cancel()


@pytest.fixture(params=[behind_acp])
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


async def until(events: AsyncIterator[e.AgentEvent], kind: type[e.AgentEvent]) -> list[e.AgentEvent]:
    heard: list[e.AgentEvent] = []
    with anyio.fail_after(30):
        async for event in events:
            heard.append(event)
            if isinstance(event, kind):
                return heard
    raise AssertionError(f"the events ended before {kind.__name__}")


async def endless(stage: Stage, prompt: c.Prompt) -> None:
    await stage.emit(*said("so far")[:3])
    await anyio.sleep_forever()


async def test_the_session_comes_first_and_a_turn_is_opened_and_closed(make: Make) -> None:
    async with make([said("Hello there")]) as connection:
        await connection.send(c.Prompt("hi"))
        heard = await until(aiter(connection.events()), e.TurnEnded)
        assert isinstance(heard[0], e.SessionStarted)
        assert heard[0].info.session_id == connection.info.session_id
        kinds = [type(event) for event in heard]
        assert kinds.count(e.TurnStarted) == kinds.count(e.TurnEnded) == 1
        deltas = [event.delta for event in heard if isinstance(event, e.Streamed)]
        texts = [one.delta.text for one in deltas if isinstance(one, BlockDelta) and isinstance(one.delta, TextDelta)]
        done = [event.reply.content for event in heard if isinstance(event, e.MessageDone)]
        assert "".join(texts) == "Hello there"
        assert done == [(Text("Hello there"),)]


async def test_a_cancel_ends_the_turn_and_the_session_goes_on(make: Make) -> None:
    async with make([endless, said("again")]) as connection:
        events = aiter(connection.events())
        await connection.send(c.Prompt("one"))
        await until(events, e.Streamed)
        await connection.send(c.Cancel())
        (*_, ended) = await until(events, e.TurnEnded)
        assert isinstance(ended, e.TurnEnded)
        assert ended.reason == "cancelled"
        await connection.send(c.Prompt("two"))
        heard = await until(events, e.TurnEnded)
        assert [event.reply.text for event in heard if isinstance(event, e.MessageDone)] == ["again"]


async def test_a_cancel_without_a_turn_does_nothing(make: Make) -> None:
    async with make([said("fine")]) as connection:
        await connection.send(c.Cancel())
        await connection.send(c.Prompt("hi"))
        (*_, ended) = await until(aiter(connection.events()), e.TurnEnded)
        assert isinstance(ended, e.TurnEnded)
        assert ended.reason == "completed"


async def test_a_prompt_in_a_turn_waits_is_told_of_and_can_be_taken_back(make: Make) -> None:
    async with make([endless, said("never")]) as connection:
        events = aiter(connection.events())
        await connection.send(c.Prompt("one"))
        await until(events, e.Streamed)
        await connection.send(c.Prompt("two", id="second", steer=False))
        queue = (await until(events, e.QueueChanged))[-1]
        assert isinstance(queue, e.QueueChanged)
        assert [(prompt.id, prompt.text) for prompt in queue.prompts] == [("second", "two")]
        await connection.send(c.DropPrompt("second"))
        queue = (await until(events, e.QueueChanged))[-1]
        assert isinstance(queue, e.QueueChanged)
        assert queue.prompts == ()


@pytest.mark.parametrize("behavior", ["allow", "deny"])
async def test_a_question_waits_for_the_answer_with_its_id(make: Make, behavior: str) -> None:
    async def ask(stage: Stage, prompt: c.Prompt) -> None:
        use = ToolUse("t", "Bash", {"command": "ls"})
        await stage.emit(e.ToolCalled(use=use, title="ls", kind="execute"))
        answer = await stage.ask(e.PermissionAsked(request_id="r", use=use, title="ls", kind="execute"))
        assert isinstance(answer, c.PermissionAnswered)
        await stage.say(answer.behavior)

    async with make([ask]) as connection:
        events = aiter(connection.events())
        await connection.send(c.Prompt("hi"))
        asked = (await until(events, e.PermissionAsked))[-1]
        assert isinstance(asked, e.PermissionAsked)
        assert asked.use.input == {"command": "ls"}
        await connection.send(c.PermissionAnswered("no such request", "allow"))
        await connection.send(c.PermissionAnswered(asked.request_id, "allow" if behavior == "allow" else "deny"))
        heard = await until(events, e.TurnEnded)
        assert [event.reply.text for event in heard if isinstance(event, e.MessageDone)] == [behavior]


async def test_a_question_whose_turn_is_cancelled_is_withdrawn(make: Make) -> None:
    async def ask(stage: Stage, prompt: c.Prompt) -> None:
        await stage.ask(e.PermissionAsked(request_id="r", use=ToolUse("t", "Bash", {}), kind="execute"))

    async with make([ask]) as connection:
        events = aiter(connection.events())
        await connection.send(c.Prompt("hi"))
        asked = (await until(events, e.PermissionAsked))[-1]
        assert isinstance(asked, e.PermissionAsked)
        await connection.send(c.Cancel())
        heard = await until(events, e.TurnEnded)
        gone = [event.request_id for event in heard if isinstance(event, e.AskWithdrawn)]
        assert gone == [asked.request_id]


async def test_a_change_of_mode_is_in_the_info_and_in_the_events(make: Make) -> None:
    async with make([]) as connection:
        events = aiter(connection.events())
        await connection.send(c.SetMode("plan"))
        changed = (await until(events, e.SessionChanged))[-1]
        assert isinstance(changed, e.SessionChanged)
        assert changed.info.mode == "plan"
        assert connection.info.mode == "plan"


async def test_once_left_the_events_end_and_nothing_can_be_sent(make: Make) -> None:
    async with make([said("hi")]) as connection:
        events = aiter(connection.events())
        await until(events, e.SessionStarted)
    with anyio.fail_after(30):
        assert [event async for event in events] == []
    with pytest.raises(ConnectionLost):
        await connection.send(c.Prompt("hi"))
