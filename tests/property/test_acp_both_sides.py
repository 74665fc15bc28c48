"""Our ACP client against our ACP agent, over a pair in memory."""

from collections.abc import Sequence
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import GivenStream
from weft.connect.port import Connection
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Text, Thinking, ToolUse
from weft.schema.display import Todo
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.request import SessionRequest
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, called, said
from weft.transports.messages import memory_pair

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


def message(index: int, text: str, thinking: str, chunk: int) -> list[e.AgentEvent]:
    return said(text, chunk=chunk, thinking=thinking)


def tool(index: int, output: str, good: bool) -> list[e.AgentEvent]:
    return called(
        "Bash",
        {"command": output},
        id=f"tool-{index}",
        kind="execute",
        output=output,
        outcome="ok" if good else "error",
    )


@st.composite
def turns(draw: st.DrawFn) -> list[e.AgentEvent]:
    """Messages in order; the events of tools that run at once, interleaved in any way that keeps each one's order."""
    out: list[e.AgentEvent] = []
    for step in range(draw(st.integers(1, 3))):
        out += message(step, draw(words), draw(st.sampled_from(["", "hm"])), draw(st.integers(1, 9)))
        strands = [tool(step * 10 + n, draw(words), draw(st.booleans())) for n in range(draw(st.integers(0, 3)))]
        if draw(st.booleans()):
            strands.append([e.TodosChanged(todos=(Todo(draw(words)),))])
        while any(strands):
            picked = draw(st.sampled_from([strand for strand in strands if strand]))
            out.append(picked.pop(0))
    return out


def conversation(events: Sequence[e.AgentEvent]) -> object:
    """What a person would have read: text, thoughts, tools and their results, the list of things to do."""
    said_: list[str] = []
    tools: dict[str, tuple[str, object, str, bool]] = {}
    names: dict[str, ToolUse] = {}
    todos: object = ()
    for event in events:
        match event:
            case e.MessageDone(reply=reply):
                for block in reply.content:
                    if isinstance(block, Text):
                        said_.append(block.text)
                    elif isinstance(block, Thinking):
                        said_.append("~" + block.thinking)
            case e.ToolCalled(use=use):
                names[use.id] = use
            case e.ToolEnded(tool_use_id=id_, result=result, outcome=outcome):
                tools[id_] = (names[id_].name, names[id_].input, str(result.content), outcome == "ok")
            case e.TodosChanged(todos=list_):
                todos = tuple(todo.content for todo in list_)
            case _:
                pass
    return said_, tools, todos


async def through_acp(script: list[e.AgentEvent]) -> list[e.AgentEvent]:
    here, there = memory_pair()

    async def open_session(request: SessionRequest) -> Connection:
        info = e.SessionInfo(request.session_id, str(request.cwd), "scripted")
        return ScriptedConnection([script], info=info)

    heard: list[e.AgentEvent] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AcpAgent(there, open_session, MemoryStore()).run)
            async with AcpConnection(GivenStream(here), AcpOptions(cwd=Path("/tmp"))) as connection:
                await connection.send(c.Prompt("go"))
                async for event in connection.events():
                    heard.append(event)
                    if isinstance(event, e.TurnEnded):
                        break
            tasks.cancel_scope.cancel()
    return heard


@settings(max_examples=40, deadline=None)
@given(turns())
def test_any_interleaving_of_updates_gives_the_same_conversation(script: list[e.AgentEvent]) -> None:
    assert conversation(anyio.run(through_acp, script)) == conversation(script)


def test_a_turn_ends_with_its_last_text_and_begins_with_the_session() -> None:
    heard = anyio.run(
        through_acp, said("Hello there", thinking="So.") + called("Read", {"file_path": "/a"}, result="x")
    )
    ended = [event for event in heard if isinstance(event, e.TurnEnded)]
    assert [(event.reason, event.text) for event in ended] == [("completed", "Hello there")]
    assert isinstance(heard[0], e.SessionStarted)
