"""The loop, on ports of a few lines each."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.agent.history import Addition, History, Scribe
from weft.agent.loop import Answered, Loop, TurnOver, interrupted
from weft.schema.content import Text, ToolResult, ToolUse
from weft.schema.messages import Message, Reply
from weft.schema.records import AssistantRecord, UserRecord
from weft.sessions.store import MemoryStore


def reply(*blocks: Text | ToolUse) -> Reply:
    return Reply(id="m", model="m", content=blocks)


def use(name: str) -> ToolUse:
    return ToolUse(name, "Read", {})


class Model:
    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)

    async def ask(self, history: History) -> Reply:
        answer = self.replies.pop(0)
        history.add_reply(answer)
        return answer


class Tools:
    """Answers the first `good` calls, then does what `then` says."""

    def __init__(self, good: int = 99, then: BaseException | None = None, answered: Answered | None = None) -> None:
        self.good = good
        self.then = then
        self.answered = answered or Answered()

    async def answer(self, uses: Sequence[ToolUse], results: dict[str, ToolResult], logged: set[str]) -> Answered:
        for number, one in enumerate(uses):
            if number >= self.good:
                if self.then is not None:
                    raise self.then
                await anyio.sleep_forever()
            results[one.id] = ToolResult(one.id, "ok")
        return self.answered


class Closing:
    def __init__(self, *more: Addition) -> None:
        self.more = list(more)

    async def after(self, reply: Reply) -> Addition | None:
        return self.more.pop(0) if self.more else None


def new_history() -> History:
    log = MemoryStore().create("s", Path("/"))
    history = History(Scribe(log, session_id="s", cwd=lambda: Path("/"), version="0"))
    history.add_prompt((Text("go"),))
    return history


def assert_valid(messages: Sequence[Message]) -> None:
    """Roles alternate, and every tool use is answered in the message after it."""
    for number, message in enumerate(messages):
        assert message.role == ("user" if number % 2 == 0 else "assistant")
        if message.tool_uses:
            after = messages[number + 1].content
            answered = [block.tool_use_id for block in after if isinstance(block, ToolResult)]
            assert answered == [one.id for one in message.tool_uses]


async def test_a_turn_without_tools_is_one_reply():
    history = new_history()
    last = await Loop(Model(reply(Text("hi"))), Tools(), Closing()).run(history)
    assert last.text == "hi"
    assert [message.role for message in history.messages] == ["user", "assistant"]


async def test_results_go_back_until_nothing_is_asked():
    history = new_history()
    model = Model(reply(use("a"), use("b")), reply(use("c")), reply(Text("done")))
    await Loop(model, Tools(), Closing()).run(history)
    assert_valid(history.messages)
    assert len(history.messages) == 6


@pytest.mark.parametrize("good", [0, 1, 2])
async def test_a_cancel_in_the_middle_leaves_every_use_answered(good: int):
    history = new_history()
    uses = (use("a"), use("b"), use("c"))
    with anyio.move_on_after(0.01):
        await Loop(Model(reply(*uses)), Tools(good=good), Closing()).run(history)
    assert_valid(history.messages)
    results = history.messages[-1].content
    assert results[good:] == tuple(interrupted(one) for one in uses[good:])


@given(st.integers(0, 3))
def test_a_turn_that_is_over_leaves_a_valid_history(good: int):
    async def scenario() -> None:
        history = new_history()
        loop = Loop(Model(reply(use("a"), use("b"), use("c"))), Tools(good, TurnOver("budget")), Closing())
        if good < 3:
            with pytest.raises(TurnOver):
                await loop.run(history)
            assert_valid(history.messages)

    anyio.run(scenario)


async def test_what_a_person_said_meanwhile_follows_the_results():
    history = new_history()
    steering = Answered(additions=(Addition((Text("also this"),), id="p2"),))
    await Loop(Model(reply(use("a")), reply(Text("ok"))), Tools(answered=steering), Closing()).run(history)
    assert history.messages[2].content == (ToolResult("a", "ok"), Text("also this"))


async def test_closing_may_send_the_model_back_to_work():
    history = new_history()
    closing = Closing(Addition((Text("not yet"),), synthetic=True))
    await Loop(Model(reply(Text("one")), reply(Text("two"))), Tools(), closing).run(history)
    assert [message.text for message in history.messages] == ["go", "one", "not yet", "two"]


async def test_the_log_has_a_record_for_each_block_and_each_result_after_its_use():
    store = MemoryStore()
    log = store.create("s", Path("/"))
    history = History(Scribe(log, session_id="s", cwd=lambda: Path("/"), version="0"))
    history.add_prompt((Text("go"),), record_id="p")
    await Loop(Model(reply(Text("look"), use("a")), reply(Text("done"))), Tools(), Closing()).run(history)
    records = [record for record in store.load("s") if isinstance(record, UserRecord | AssistantRecord)]
    assert [type(record).__name__[0] for record in records] == ["U", "A", "A", "U", "A"]
    assert records[0].origin.uuid == "p"
    assert records[3].origin.parent_uuid == records[2].origin.uuid
    assert records[4].origin.parent_uuid == records[3].origin.uuid
