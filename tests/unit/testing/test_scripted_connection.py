from collections.abc import AsyncIterator

import anyio
import pytest

from weft.errors import ConnectionLost
from weft.schema.commands import Cancel, DropPrompt, PermissionAnswered, Prompt, SetMode
from weft.schema.content import ToolUse
from weft.schema.events import (
    AgentEvent,
    AskWithdrawn,
    MessageDone,
    PermissionAsked,
    QueueChanged,
    SessionChanged,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from weft.testing.connection import ScriptedConnection, Stage, said


async def until(events: AsyncIterator[AgentEvent], kind: type[AgentEvent]) -> list[AgentEvent]:
    seen: list[AgentEvent] = []
    with anyio.fail_after(30):
        async for event in events:
            seen.append(event)
            if isinstance(event, kind):
                break
    return seen


async def test_a_turn_is_started_played_and_ended() -> None:
    async with ScriptedConnection([said("Hello there")]) as connection:
        events = connection.events()
        await connection.send(Prompt("hi"))
        seen = await until(events, TurnEnded)
    assert isinstance(seen[0], SessionStarted)
    assert any(isinstance(event, TurnStarted) for event in seen)
    replies = [event for event in seen if isinstance(event, MessageDone)]
    assert replies[0].reply.text == "Hello there"
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].reason == "completed"


async def test_a_question_waits_for_its_answer() -> None:
    asked = PermissionAsked(request_id="r1", use=ToolUse("t1", "Bash", {"command": "ls"}))

    async def turn(stage: Stage, prompt: Prompt) -> None:
        answer = await stage.ask(asked)
        assert isinstance(answer, PermissionAnswered)
        await stage.say(answer.behavior)

    async with ScriptedConnection([turn]) as connection:
        events = connection.events()
        await connection.send(Prompt("go"))
        await until(events, PermissionAsked)
        await connection.send(PermissionAnswered("r1", "deny"))
        seen = await until(events, TurnEnded)
    assert [event.reply.text for event in seen if isinstance(event, MessageDone)] == ["deny"]


async def test_cancel_withdraws_the_question_and_ends_the_turn() -> None:
    asked = PermissionAsked(request_id="r1", use=ToolUse("t1", "Bash", {}))
    async with ScriptedConnection([[asked]]) as connection:
        events = connection.events()
        await connection.send(Prompt("go"))
        await until(events, PermissionAsked)
        await connection.send(Cancel())
        seen = await until(events, TurnEnded)
    assert any(isinstance(event, AskWithdrawn) for event in seen)
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].reason == "cancelled"


async def test_prompts_wait_in_a_queue_that_can_be_edited() -> None:
    asked = PermissionAsked(request_id="r1", use=ToolUse("t1", "Bash", {}))
    async with ScriptedConnection([[asked], said("second")]) as connection:
        events = connection.events()
        await connection.send(Prompt("one"))
        await until(events, PermissionAsked)
        await connection.send(Prompt("two", id="p-two"))
        await connection.send(DropPrompt("p-two", replace="three"))
        await connection.send(SetMode("plan"))
        seen = await until(events, SessionChanged)
        queues = [event.prompts for event in seen if isinstance(event, QueueChanged)]
        assert [[p.text for p in prompts] for prompts in queues] == [["two"], ["three"]]


async def test_a_dead_agent_closes_its_turn_and_then_its_events() -> None:
    asked = PermissionAsked(request_id="r1", use=ToolUse("t1", "Bash", {}))
    async with ScriptedConnection([[asked]]) as connection:
        events = connection.events()
        await connection.send(Prompt("go"))
        await until(events, PermissionAsked)
        await connection.die()
        with anyio.fail_after(30):
            rest = [event async for event in events]
        assert isinstance(rest[-1], TurnEnded)
        with pytest.raises(ConnectionLost):
            await connection.send(Prompt("again"))
