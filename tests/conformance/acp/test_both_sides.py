"""Our client and our agent as two processes, and everything that either says held against the published schema."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import msgspec
import pytest

from tests.conformance.acp.stage import Stage, python, schema, staged
from tests.conformance.acp.test_agents import Talk, ended, of
from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import ChildAgent, GivenStream, SocketAgent
from weft.connect.port import Connection
from weft.connect.process import ManagedAgent
from weft.connect.registry import known_agents
from weft.errors import ConnectionLost
from weft.protocols.acp.frames import RpcError
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Base64Source, Image, Text
from weft.schema.display import DiffView, Todo
from weft.schema.messages import ThinkingConfig
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.draft import DraftStream
from weft.serve.acp.request import SessionRequest
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, called, said
from weft.testing.connection import Stage as TurnStage
from weft.transports.messages import MemoryStream, memory_pair
from weft.transports.rpc import RpcPeer


@asynccontextmanager
async def talking(stage: Stage, session_id: str = "", **options: Any) -> AsyncIterator[tuple[AcpConnection, Talk]]:
    child = ChildAgent([stage.command], cwd=stage.work)
    async with AcpConnection(child, AcpOptions(cwd=stage.work, session_id=session_id, **options)) as connection:
        yield connection, Talk(connection)


async def test_a_command_of_the_agent_runs_in_a_terminal_of_the_host_and_is_seen_live(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, talking(stage, mode="bypassPermissions") as (connection, talk):
        heard = await talk.turn("TERMINAL")
        tasks = [event.task for event in of(e.TaskChanged, heard)]
        assert [task.state for task in tasks] == ["running", "completed"]
        assert "echo one; echo two" in tasks[0].description
        assert "one\ntwo\n" in "".join(event.output for event in of(e.ToolProgressed, heard))
        assert "ran:" in ended(heard).text
        assert connection.info.mode == "bypassPermissions"


async def test_a_session_is_loaded_with_its_history_and_goes_on(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        async with talking(stage) as (connection, talk):
            session_id = connection.session_id
            await talk.turn("STREAM please")
        async with talking(stage, session_id) as (connection, talk):
            history = await talk.until_replayed()
            assert [event.content for event in of(e.PromptAdded, history)] == [(Text("STREAM please"),)]
            assert ended(await talk.turn("STREAM again")).text == "Hello from the scripted agent."


async def test_the_token_is_wanted_on_the_websocket(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, stage.listening() as url:
        options = AcpOptions(cwd=stage.work)
        with pytest.raises(ConnectionLost, match="401"):
            async with AcpConnection(SocketAgent(url.split("?")[0]), options):
                raise AssertionError("opened")
        async with AcpConnection(SocketAgent(url), options) as connection:
            assert ended(await Talk(connection).turn("STREAM")).reason == "completed"


async def test_iflows_query_ends_also_when_the_model_fails(tmp_path: Path) -> None:
    program = tmp_path / "query.py"
    program.write_text(
        "import asyncio, sys\n"
        "from iflow_sdk import IFlowOptions, query\n"
        "options = IFlowOptions(url=sys.argv[1], auto_start_process=False, log_level='CRITICAL')\n"
        "print('said', asyncio.run(asyncio.wait_for(query('ERROR please', options=options), 20)))\n"
    )
    async with staged(tmp_path) as stage, stage.listening("--no-token") as url:
        assert "model backend failed" in await stage.drive([python(), program, url])


async def test_weft_is_started_on_a_port_watched_stopped_and_started_again(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        agent = msgspec.structs.replace(known_agents(tmp_path)["weft"], command=stage.command, port=PORT)
        with anyio.fail_after(60):
            async with ManagedAgent(agent, cwd=stage.work) as managed:
                await managed.start()
                assert managed.has_process
                first = managed.port
                async with AcpConnection(SocketAgent(managed.url), AcpOptions(cwd=stage.work)) as connection:
                    assert ended(await Talk(connection).turn("STREAM")).reason == "completed"
                await managed.restart()
                assert managed.has_process and managed.port != first
            assert not managed.has_process


PORT = ("--port", "{port}", "--no-token")


async def test_sessions_are_listed_forked_resumed_and_deleted(tmp_path: Path) -> None:
    updates: list[dict[str, Any]] = []

    async def refuse(method: str, params: msgspec.Raw, id_: object) -> object:
        raise RpcError(-32601, method)

    async def hear(method: str, params: msgspec.Raw) -> None:
        updates.append(json.loads(bytes(params)))

    async with staged(tmp_path) as stage, ChildAgent([stage.command], cwd=stage.work) as stream:
        peer = RpcPeer(stream, on_request=refuse, on_notification=hear)

        async def ask(method: str, **params: object) -> dict[str, Any]:
            return json.loads(bytes(await peer.call(method, params, timeout=20)))

        def said_to(session: str, kind: str) -> str:
            told = [note["update"] for note in updates if note["sessionId"] == session]
            return "".join(update["content"]["text"] for update in told if update["sessionUpdate"] == kind)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.run)
            await ask("initialize", protocolVersion=1)
            cwd = str(stage.work)
            first = (await ask("session/new", cwd=cwd, mcpServers=[]))["sessionId"]
            await ask("session/prompt", sessionId=first, prompt=[{"type": "text", "text": "STREAM one"}])
            fork = (await ask("session/fork", sessionId=first, cwd=cwd, mcpServers=[]))["sessionId"]
            assert fork != first
            updates.clear()
            await ask("session/load", sessionId=fork, cwd=cwd, mcpServers=[])
            assert said_to(fork, "user_message_chunk") == "STREAM one"
            assert "scripted agent" in said_to(fork, "agent_message_chunk")

            listed = {row["sessionId"]: row for row in (await ask("session/list", cwd=cwd))["sessions"]}
            assert {first, fork} <= set(listed)
            await ask("session/close", sessionId=fork)
            updates.clear()
            await ask("session/resume", sessionId=fork, cwd=cwd)
            assert said_to(fork, "user_message_chunk") == ""
            await ask("session/prompt", sessionId=fork, prompt=[{"type": "text", "text": "STREAM two"}])

            await ask("session/delete", sessionId=fork)
            with pytest.raises(RpcError) as caught:
                await ask("session/load", sessionId=fork, cwd=cwd, mcpServers=[])
            assert caught.value.code == -32002
            tasks.cancel_scope.cancel()


# --- the schema -----------------------------------------------------------------------------------------------


class Watched:
    """One end of a pair that keeps what passes through it."""

    def __init__(self, inner: MemoryStream, kept: list[dict[str, Any]]) -> None:
        self._inner = inner
        self._kept = kept

    async def send(self, message: str | bytes) -> None:
        self._kept.append(json.loads(message))
        await self._inner.send(message)

    async def receive(self) -> str | bytes | None:
        return await self._inner.receive()

    async def close(self) -> None:
        await self._inner.close()


class Schema:
    def __init__(self, version: int = 1) -> None:
        self._document = json.loads(schema(version).read_text())
        self._names: dict[tuple[str, str, bool], str] = {}
        for name, shape in self._document["$defs"].items():
            if "x-method" in shape:
                self._names[shape["x-side"], shape["x-method"], name.endswith("Response")] = name

    def problems(self, side: str, method: str, value: object, *, answer: bool) -> list[str]:
        name = self._names.get((side, method, answer)) or self._names.get(("protocol", method, answer))
        if name is None:
            return [f"{method} is not in the schema"]
        shape = {"$ref": f"#/$defs/{name}", "$defs": self._document["$defs"]}
        found = jsonschema.Draft202012Validator(shape).iter_errors(value)
        return [f"{name}: {error.json_path}: {error.message}" for error in found]


def problems(
    sent: list[dict[str, Any]], heard: list[dict[str, Any]], handled_by: str, other: str, version: int = 1
) -> list[str]:
    """What is wrong in `sent`: requests are the other side's to handle, answers are to what was `heard`."""
    rules = Schema(version)
    asked = {frame["id"]: frame["method"] for frame in heard if "method" in frame and "id" in frame}
    out: list[str] = []
    for frame in sent:
        assert frame["jsonrpc"] == "2.0"
        if "method" in frame:
            out += rules.problems(other, frame["method"], frame.get("params"), answer=False)
        elif "result" in frame:
            out += rules.problems(handled_by, asked[frame["id"]], frame["result"], answer=True)
    return out


async def everything(stage: TurnStage, prompt: c.Prompt) -> None:
    """A turn with one of each kind of thing that an agent can do."""
    await stage.say("Let me see.", thinking="Hm.")
    await stage.emit(*called("Bash", {"command": "ls"}, id="t1", kind="execute", output="a\nb\n"))
    view = DiffView("/w/a", None, "b")
    await stage.emit(*called("Edit", {"file_path": "/w/a"}, id="t2", kind="edit", result="done", display=(view,)))
    await stage.emit(e.TodosChanged(todos=(Todo("one"), Todo("two", "completed"))))
    await stage.emit(e.UsageChanged(context_tokens=10, context_window=100, total_cost=0.1))
    await stage.emit(e.Notice(text="note"), e.Compacted(state="started", uuid="c"), e.Compacted(state="done", uuid="c"))
    use = called("Write", {"file_path": "/w/b"}, id="t3")[0]
    assert isinstance(use, e.ToolCalled)
    await stage.emit(use)
    rule = e.RuleSuggestion("Write", "session")
    await stage.ask(e.PermissionAsked(request_id="r1", use=use.use, preview=(view,), suggestions=(rule,)))
    options = (e.QuestionOption("A", "first"), e.QuestionOption("B"))
    questions = (e.Question("Which?", "W", options), e.Question("All?", "", options, True), e.Question("Name?"))
    await stage.ask(e.QuestionAsked(request_id="r2", tool_use_id="t4", questions=questions))
    await stage.ask(e.PlanProposed(request_id="r3", tool_use_id="t5", plan="# Plan"))
    form = {"type": "object", "properties": {"n": {"type": "number"}}}
    await stage.ask(e.InputRequested(request_id="r4", server="s", message="m", schema=form))
    await stage.ask(e.InputRequested(request_id="r5", server="s", message="m", url="https://example.com"))
    await stage.emit(e.AskWithdrawn(request_id="r5", reason="completed"))
    await stage.emit(*said("Done."))


async def test_everything_that_either_side_says_is_valid(tmp_path: Path) -> None:
    here, there = memory_pair()
    from_client: list[dict[str, Any]] = []
    from_agent: list[dict[str, Any]] = []

    async def open_session(request: SessionRequest) -> Connection:
        info = e.SessionInfo(request.session_id, str(request.cwd), "m1", models=(e.ModelInfo("m1"), e.ModelInfo("m2")))
        return ScriptedConnection([everything], info=info)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AcpAgent(Watched(there, from_agent), open_session, MemoryStore()).run)
            options = AcpOptions(cwd=tmp_path, directories=(tmp_path,))
            async with AcpConnection(GivenStream(Watched(here, from_client)), options) as connection:
                for command in (
                    c.SetMode("plan"),
                    c.SetModel("m2"),
                    c.SetThinking(ThinkingConfig("adaptive", effort="high")),
                    c.Prompt((Text("go"), Image(Base64Source("image/png", "aGk=")))),
                ):
                    await connection.send(command)
                over: list[str] = []
                async for event in connection.events():
                    match event:
                        case e.AskWithdrawn(request_id=id_, reason="completed"):
                            over.append(id_)
                        case e.PermissionAsked(request_id=id_):
                            await connection.send(c.PermissionAnswered(id_, "allow"))
                        case e.QuestionAsked(request_id=id_, questions=asked):
                            answers = {question.question: "A" for question in asked}
                            await connection.send(c.QuestionAnswered(id_, answers))
                        case e.PlanProposed(request_id=id_):
                            await connection.send(c.PlanAnswered(id_, True))
                        case e.InputRequested(request_id=id_):
                            await connection.send(c.InputGiven(id_, "accept", {"n": 1}))
                        case e.TurnEnded():
                            break
                        case _:
                            pass
                assert (connection.info.model, connection.info.mode) == ("m2", "plan")
                assert len(over) == 1
            tasks.cancel_scope.cancel()
    methods = {frame.get("method") for frame in (*from_client, *from_agent)}
    assert {
        "session/prompt",
        "session/set_config_option",
        "elicitation/create",
        "elicitation/complete",
        "session/request_permission",
    } <= methods
    assert problems(from_client, from_agent, "client", "agent") == []
    assert problems(from_agent, from_client, "agent", "client") == []


async def test_the_draft_of_version_2_is_valid_and_only_for_those_who_ask(tmp_path: Path) -> None:
    here, there = memory_pair()
    sent: list[dict[str, Any]] = []
    told: list[dict[str, Any]] = []

    async def open_session(request: SessionRequest) -> Connection:
        commands = (e.CommandInfo("init", "Begin", "[dir]"),)
        info = e.SessionInfo(request.session_id, str(request.cwd), "m1", commands=commands)
        return ScriptedConnection([everything], info=info)

    async def say(id_: int, method: str, **params: object) -> None:
        sent.append({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        await here.send(json.dumps(sent[-1]))

    async def hear() -> dict[str, Any]:
        text = await here.receive()
        assert text is not None
        told.append(json.loads(text))
        return told[-1]

    async def answer(id_: int) -> dict[str, Any]:
        while (frame := await hear()).get("id") != id_ or "method" in frame:
            pass
        return frame["result"]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AcpAgent(DraftStream(there), open_session, MemoryStore()).run)
            forms = {"elicitation": {"form": {}, "url": {}}}
            await say(1, "initialize", protocolVersion=2, info={"name": "c", "version": "1"}, capabilities=forms)
            assert (await answer(1))["protocolVersion"] == 2
            await say(2, "session/new", cwd=str(tmp_path))
            session = (await answer(2))["sessionId"]
            await say(3, "session/set_config_option", sessionId=session, configId="mode", type="id", value="plan")
            assert (await answer(3))["configOptions"][0]["currentValue"] == "plan"
            await say(4, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            assert (await answer(4))["messageId"]
            states: list[str] = []
            while "idle" not in states:
                frame = await hear()
                update = frame.get("params", {}).get("update", {})
                if update.get("sessionUpdate") == "state_update":
                    states.append(update["state"])
                if frame.get("method") == "session/request_permission":
                    chosen = frame["params"]["options"][0]["optionId"]
                    result: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": chosen}}
                elif frame.get("method") == "elicitation/create":
                    result = {"action": "accept", "content": {}}
                else:
                    continue
                await here.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}))
            await here.close()
    assert states == ["running", "requires_action", "running", "requires_action", "running", "idle"]
    assert update["stopReason"] == "end_turn"
    kinds = {frame["params"]["update"]["sessionUpdate"] for frame in told if frame.get("method") == "session/update"}
    assert {"agent_message_chunk", "tool_call_update", "plan_update", "user_message", "usage_update"} <= kinds
    assert problems(told, sent, "agent", "client", version=2) == []
    assert problems(sent, told, "client", "agent", version=2) == []
