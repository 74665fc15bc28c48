"""Prompts that wait: they are told of, can be taken back, and stay when the turn before them is cancelled."""

from pathlib import Path

import anyio

from tests.integration.driving import session
from weft.schema.commands import Cancel, DropPrompt, Prompt
from weft.schema.content import text_of
from weft.schema.events import AgentEvent, QueueChanged, TurnEnded, TurnStarted
from weft.testing.scripted import ScriptedProvider


class Held:
    """A model that stops at its first word until it is let go."""

    def __init__(self, *answers: str) -> None:
        self.go = anyio.Event()
        self.provider = ScriptedProvider(list(answers), gate=self.go.wait)


def waiting(events: list[AgentEvent]) -> list[tuple[str, ...]]:
    return [tuple(each.id for each in event.prompts) for event in events if isinstance(event, QueueChanged)]


async def test_waiting_prompts_are_told_and_a_dropped_one_is_never_asked(tmp_path: Path):
    held = Held("One.", "Three.")
    seen: list[AgentEvent] = []
    async with session(tmp_path, held.provider) as (connection, provider):
        await connection.send(Prompt("first", id="p1"))
        async for event in connection.events():
            seen.append(event)
            if isinstance(event, TurnStarted) and len(provider.requests) == 0:
                await connection.send(Prompt("second", id="p2", steer=False))
                await connection.send(Prompt("third", id="p3", steer=False))
                await connection.send(DropPrompt("p2"))
                held.go.set()
            if isinstance(event, TurnEnded) and event.text == "Three.":
                break
    assert waiting(seen) == [("p2",), ("p2", "p3"), ("p3",), ()]
    said = [text_of(request.messages[-1].content) for request in provider.requests]
    assert len(said) == 2 and said[1] == "third"


async def test_a_cancelled_turn_leaves_the_queue_unless_it_is_dropped_too(tmp_path: Path):
    for drop in (False, True):
        held = Held("One.", "Two.")
        seen: list[AgentEvent] = []
        async with session(tmp_path, held.provider) as (connection, provider):
            await connection.send(Prompt("first", id="p1"))
            async for event in connection.events():
                seen.append(event)
                if isinstance(event, TurnStarted) and event.prompt_ids == ("p1",):
                    await connection.send(Prompt("second", id="p2", steer=False))
                    await connection.send(Cancel(drop_queue=drop))
                if isinstance(event, TurnEnded) and event.reason == "cancelled":
                    held.go.set()
                    if drop:
                        break
                if isinstance(event, TurnEnded) and event.reason == "completed":
                    break
        ends = [event.reason for event in seen if isinstance(event, TurnEnded)]
        assert ends == (["cancelled"] if drop else ["cancelled", "completed"])
        assert waiting(seen)[-1] == ()
        asked = [text_of(request.messages[-1].content) for request in provider.requests]
        assert any(text.endswith("second") for text in asked) is not drop
