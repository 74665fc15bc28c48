"""The contract of `Connection`: every way to a live agent, the fake one included, behaves the same."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from weft.agent.options import ALL_ASKS, SessionOptions
from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import ChildAgent
from weft.connect.port import Connection
from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions
from weft.schema.commands import Cancel, PermissionAnswered, Prompt
from weft.schema.content import Text, ToolUse
from weft.schema.events import (
    AgentEvent,
    MessageDone,
    PermissionAsked,
    SessionStarted,
    Streamed,
    ToolCalled,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from weft.sdk.child import open_child
from weft.sdk.compose import connect
from weft.sdk.options import Options
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Answer, Cue

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
Opener = Callable[[Path, dict[str, str]], Connection]
WEFT = (sys.executable, "-m", "weft")


def local(cwd: Path, env: dict[str, str]) -> Connection:
    return connect(SessionOptions(cwd=cwd, asks=ALL_ASKS, env=env))


def stream_json(cwd: Path, env: dict[str, str]) -> Connection:
    return StreamJsonConnection(StreamJsonOptions(command=WEFT, cwd=cwd, env=env, name="weft"))


def acp(cwd: Path, env: dict[str, str]) -> Connection:
    return AcpConnection(ChildAgent((*WEFT, "acp"), cwd=cwd, env=env), AcpOptions(cwd=cwd))


async def asked(_event: object) -> Any:
    """Says that questions can be put; the tests answer what they see in the events themselves."""
    raise AssertionError("nobody calls this")


def child(cwd: Path, env: dict[str, str]) -> Connection:
    return open_child(Options(cwd=cwd, env=env, permission=asked, questions=asked, plans=asked, process=True))


@pytest.fixture(params=[local, child, stream_json, acp], ids=["local", "child", "stream-json", "acp"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, fresh_home: Path) -> Callable[..., object]:
    @asynccontextmanager
    async def open_on(*cues: Cue) -> AsyncIterator[Connection]:
        async with FakeAnthropic(list(cues)) as server:
            env = {
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "k",
                "HOME": str(fresh_home),
                "PYTHONPATH": SOURCE,
                "WEFT_MAX_RETRIES": "0",
            }
            with anyio.fail_after(30):
                async with request.param(tmp_path, env) as connection:
                    yield connection

    return open_on


Opened = Callable[..., AbstractAsyncContextManager[Connection]]


async def turn(connection: Connection, text: str, allow: bool | None = None) -> list[AgentEvent]:
    await connection.send(Prompt(text))
    seen: list[AgentEvent] = []
    async for event in connection.events():
        seen.append(event)
        if isinstance(event, PermissionAsked) and allow is not None:
            await connection.send(PermissionAnswered(event.request_id, "allow" if allow else "deny", message="no"))
        if isinstance(event, TurnEnded):
            return seen
    raise AssertionError("the events ended in the middle of a turn")


def last(events: list[AgentEvent]) -> TurnEnded:
    end = events[-1]
    assert isinstance(end, TurnEnded)
    return end


async def test_the_session_is_told_first_and_a_turn_is_closed(opened: Opened):
    async with opened("Hello there.") as connection:
        events = await turn(connection, "hi")
        assert isinstance(events[0], SessionStarted)
        assert connection.info.session_id
        started = [index for index, event in enumerate(events) if isinstance(event, TurnStarted)]
        assert len(started) == 1
        assert any(isinstance(event, Streamed) for event in events[started[0] :])
        assert last(events).reason == "completed"
        said = [event.reply.text for event in events if isinstance(event, MessageDone)]
        assert "".join(said) == "Hello there."


async def test_a_tool_is_called_once_and_ended_once(opened: Opened, tmp_path: Path):
    (tmp_path / "a.txt").write_text("content of a\n")
    async with opened(ToolUse("t1", "Read", {"file_path": str(tmp_path / "a.txt")}), "done") as connection:
        events = await turn(connection, "read")
    called = [event for event in events if isinstance(event, ToolCalled)]
    ended = [event for event in events if isinstance(event, ToolEnded)]
    assert {event.use.id for event in called} == {ended[0].tool_use_id}
    assert len(ended) == 1
    assert ended[0].outcome == "ok"


@pytest.mark.parametrize("allow", [True, False])
async def test_a_question_is_answered_by_its_id(opened: Opened, tmp_path: Path, allow: bool):
    use = ToolUse("t1", "Write", {"file_path": str(tmp_path / "made.txt"), "content": "x"})
    async with opened(use, "done") as connection:
        events = await turn(connection, "write", allow=allow)
    assert (tmp_path / "made.txt").exists() is allow
    asked = [event for event in events if isinstance(event, PermissionAsked)]
    assert len(asked) == 1
    ended = next(event for event in events if isinstance(event, ToolEnded))
    assert (ended.outcome == "ok") is allow
    assert last(events).reason == "completed"


async def test_a_cancel_ends_the_turn_and_not_the_session(opened: Opened):
    async with opened(Answer(blocks=(Text("never finished"),), hang_after=3), "again") as connection:
        await connection.send(Prompt("go"))
        asked = False
        async for event in connection.events():
            if isinstance(event, Streamed) and not asked:
                asked = True
                await connection.send(Cancel())
            if isinstance(event, TurnEnded):
                assert event.reason == "cancelled"
                break
        assert last(await turn(connection, "once more")).text in ("again", "")


async def test_prompts_are_answered_in_their_order(opened: Opened):
    async with opened("one", "two") as connection:
        first, second = await turn(connection, "a"), await turn(connection, "b")
    texts = ["".join(e.reply.text for e in events if isinstance(e, MessageDone)) for events in (first, second)]
    assert texts == ["one", "two"]
