"""One event out, one command in, matched by id."""

import anyio

from weft.agent.asks import Asks
from weft.agent.options import ALL_ASKS
from weft.schema.commands import InputGiven, PermissionAnswered, PlanAnswered, QuestionAnswered
from weft.schema.content import ToolUse
from weft.schema.events import AgentEvent, AskWithdrawn, InputRequested, PermissionAsked, Question, QuestionAsked
from weft.tools.port import PlanVerdict

USE = ToolUse("t", "Bash", {"command": "ls"})


async def test_a_surface_that_cannot_ask_gets_no_event_and_no_answer():
    events: list[AgentEvent] = []
    asks = Asks(events.append, frozenset())
    assert await asks.permission(PermissionAsked(request_id="r", use=USE)) is None
    assert await asks.question("t", [Question("why?")]) is None
    assert await asks.plan("t", "do it") is None
    assert await asks.input("server", "name?", {}, None) is None
    assert events == []


async def test_the_first_answer_counts_and_strangers_are_ignored():
    asks = Asks(lambda event: replies(event), ALL_ASKS)

    def replies(event: AgentEvent) -> None:
        if isinstance(event, PermissionAsked):
            asks.answer(PermissionAnswered("another", "deny"))
            asks.answer(PermissionAnswered(event.request_id, "allow"))
            asks.answer(PermissionAnswered(event.request_id, "deny"))

    with anyio.fail_after(30):
        answer = await asks.permission(PermissionAsked(request_id=asks.next_id(), use=USE))
    assert answer is not None
    assert answer.behavior == "allow"


async def test_a_cancelled_question_is_withdrawn():
    events: list[AgentEvent] = []
    asks = Asks(events.append, ALL_ASKS)
    with anyio.move_on_after(0):
        await asks.question("t", [Question("why?")])
    asked, withdrawn = events
    assert isinstance(asked, QuestionAsked)
    assert withdrawn == AskWithdrawn(request_id=asked.request_id, reason="cancelled")


async def test_answers_of_each_kind_reach_their_asker():
    asks = Asks(lambda event: reply(event), ALL_ASKS)

    def reply(event: AgentEvent) -> None:
        if isinstance(event, QuestionAsked):
            asks.answer(QuestionAnswered(event.request_id, {"why?": "because"}))
        elif not isinstance(event, AskWithdrawn):
            asks.answer(PlanAnswered(event.request_id, approved=True, mode="acceptEdits"))  # type: ignore[union-attr]

    with anyio.fail_after(30):
        assert await asks.question("t", [Question("why?")]) == {"why?": "because"}
        assert await asks.plan("t", "do it") == PlanVerdict(approved=True, mode="acceptEdits")


async def test_a_visit_that_was_made_is_told_after_the_answer():
    events: list[AgentEvent] = []
    asks = Asks(events.append, ALL_ASKS)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: asks.input("s", "go", None, "https://example.com", visit="v"))
            while not events:
                await anyio.sleep(0)
            asks.answer(InputGiven("ask_1", "accept"))
    asks.visited("another")
    asks.visited("v")
    asks.visited("v")
    assert [event.reason for event in events if isinstance(event, AskWithdrawn)] == ["answered", "completed"]


async def test_a_visit_that_was_made_answers_the_question_that_is_still_open():
    asks = Asks(lambda event: made(event), ALL_ASKS)
    reasons: list[str] = []

    def made(event: AgentEvent) -> None:
        if isinstance(event, InputRequested):
            asks.visited("v")
        elif isinstance(event, AskWithdrawn):
            reasons.append(event.reason)

    with anyio.fail_after(30):
        given = await asks.input("s", "go", None, "https://example.com", visit="v")
    assert given is not None and given.action == "accept" and reasons == ["completed"]


async def test_a_visit_that_was_declined_is_never_completed():
    asks = Asks(lambda event: refuse(event), ALL_ASKS)
    reasons: list[str] = []

    def refuse(event: AgentEvent) -> None:
        if isinstance(event, InputRequested):
            asks.answer(InputGiven(event.request_id, "decline"))
        elif isinstance(event, AskWithdrawn):
            reasons.append(event.reason)

    with anyio.fail_after(30):
        await asks.input("s", "go", None, "https://example.com", visit="v")
    asks.visited("v")
    assert reasons == ["answered"]
