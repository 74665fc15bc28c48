"""A connection that is kept for many turns, against our own agent in memory."""

from pathlib import Path

import anyio

from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.reuse import ReusedConnection, Wanted
from weft.connect.acp.start import GivenStream
from weft.connect.port import Connection
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Text
from weft.schema.messages import Message, Reply
from weft.schema.records import AssistantRecord, Origin, UserRecord
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.request import SessionRequest
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, said
from weft.transports.messages import memory_pair


class Agents:
    """Makes a connection to a new agent each time; all of them keep their sessions in one store."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        self.store = MemoryStore()
        self.loaded: list[str] = []

    async def connect(self, wanted: Wanted) -> AcpConnection:
        here, there = memory_pair()
        self._tasks.start_soon(AcpAgent(there, self._open, self.store).run)
        options = AcpOptions(cwd=wanted.cwd, session_id=wanted.session_id, directories=wanted.directories)
        return AcpConnection(GivenStream(here), options)

    async def _open(self, request: SessionRequest) -> Connection:
        if request.resume:
            self.loaded.append(request.session_id)
        else:
            self._remember(request)
        info = e.SessionInfo(request.session_id, str(request.cwd), "m")
        return ScriptedConnection([said("Hello")], info=info)

    def _remember(self, request: SessionRequest) -> None:
        log = self.store.create(request.session_id, request.cwd)
        asked = Origin(uuid="u1", session_id=request.session_id)
        answered = Origin(uuid="u2", parent_uuid="u1", session_id=request.session_id)
        log.append(UserRecord(origin=asked, message=Message("user", (Text("before"),))))
        log.append(AssistantRecord(origin=answered, reply=Reply("m", "m", (Text("yes"),))))


async def turn(connection: AcpConnection) -> str:
    await connection.send(c.Prompt("hi"))
    async for event in connection.events():
        if isinstance(event, e.TurnEnded):
            return event.text
    raise AssertionError("no end")


async def test_only_a_change_of_mode_folder_or_a_fault_reconnects(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            agents = Agents(tasks)
            async with ReusedConnection(agents.connect) as reused:
                wanted = Wanted(mode="default", cwd=tmp_path)
                first = await reused.ready(wanted)
                assert await turn(first) == "Hello"
                assert await reused.ready(wanted) is first
                assert await turn(first) == "Hello"
                assert reused.opened == 1

                planning = await reused.ready(Wanted(mode="plan", cwd=tmp_path))
                assert planning is not first
                elsewhere = await reused.ready(Wanted(mode="plan", cwd=other))
                assert elsewhere is not planning
                reused.fault()
                mended = await reused.ready(Wanted(mode="plan", cwd=other))
                assert mended is not elsewhere
                assert reused.opened == 4
            tasks.cancel_scope.cancel()


async def test_a_session_is_loaded_only_when_it_differs_and_stale_words_are_dropped(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            agents = Agents(tasks)
            async with ReusedConnection(agents.connect) as reused:
                held = await reused.ready(Wanted(mode="default", cwd=tmp_path))
                old = held.session_id
                await turn(held)
                assert await reused.ready(Wanted(mode="default", cwd=tmp_path, session_id=old)) is held
                assert agents.loaded == []

                reused.fault()
                held = await reused.ready(Wanted(mode="default", cwd=tmp_path))
                assert held.session_id != old
                await reused.ready(Wanted(mode="default", cwd=tmp_path, session_id=old))
                assert (held.session_id, agents.loaded) == (old, [old])
                heard: list[e.AgentEvent] = []
                await held.send(c.Prompt("hi"))
                async for event in held.events():
                    heard.append(event)
                    if isinstance(event, e.TurnEnded):
                        break
                assert not any(getattr(event, "replay", False) for event in heard)
            tasks.cancel_scope.cancel()


async def test_the_agents_end_closes_the_turn_and_the_events(tmp_path: Path) -> None:
    here, there = memory_pair()

    async def dies(request: SessionRequest) -> Connection:
        async def turn_(stage: object, prompt: object) -> None:
            await there.close()
            await anyio.sleep_forever()

        return ScriptedConnection([turn_], info=e.SessionInfo(request.session_id, str(request.cwd), "m"))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AcpAgent(there, dies, MemoryStore()).run)
            async with AcpConnection(GivenStream(here), AcpOptions(cwd=tmp_path)) as connection:
                await connection.send(c.Prompt("hi"))
                heard = [event async for event in connection.events()]
            tasks.cancel_scope.cancel()
    ends = [event for event in heard if isinstance(event, e.TurnEnded)]
    assert [(end.reason, bool(end.error)) for end in ends] == [("error", True)]
