"""Prompts wait in order, can be changed, and some may join a running turn."""

import anyio

from weft.agent.inbox import Inbox
from weft.schema.commands import DropPrompt, Prompt
from weft.schema.events import QueuedPrompt


def prompt(text: str, **options: bool) -> Prompt:
    return Prompt(text, id=text, **options)


async def test_prompts_come_in_order_and_the_end_is_none():
    inbox = Inbox(lambda _queue: None)
    inbox.put(prompt("a"), busy=False)
    inbox.put(prompt("b"), busy=True)
    inbox.close()
    with anyio.fail_after(30):
        assert [await inbox.next() for _ in range(3)] == [prompt("a"), prompt("b"), None]


async def test_a_waiting_prompt_can_be_changed_or_taken_back():
    seen: list[tuple[QueuedPrompt, ...]] = []
    inbox = Inbox(seen.append)
    inbox.put(prompt("a"), busy=True)
    inbox.put(prompt("b"), busy=True)
    assert inbox.drop(DropPrompt("a"))
    assert inbox.drop(DropPrompt("b", replace="better"))
    assert not inbox.drop(DropPrompt("gone"))
    assert seen[-1] == (QueuedPrompt("b", "better"),)
    first = await inbox.next()
    assert first is not None
    assert first.content == "better"


def test_only_plain_prompts_join_a_running_turn():
    inbox = Inbox(lambda _queue: None)
    for one in (prompt("also"), prompt("/compact"), prompt("!ls"), prompt("later", steer=False)):
        inbox.put(one, busy=True)
    assert inbox.take_steering() == [prompt("also")]
    assert len(inbox) == 3
