"""Our ACP agent as a client sees it, frame by frame, over a pair in memory."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from weft.connect.port import Connection
from weft.errors import ProviderError, SettingsError
from weft.protocols.acp import session as s
from weft.protocols.acp.content import McpServer
from weft.protocols.acp.frames import RpcError
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import ToolUse
from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.request import SessionRequest, to_request
from weft.sessions.store import MemoryStore
from weft.testing.connection import ScriptedConnection, Stage, said
from weft.transports.messages import MemoryStream, memory_pair


class Client:
    """Raw frames in and out. `until` reads on to the answer of an id and keeps everything before it."""

    def __init__(self, stream: MemoryStream, connections: list[ScriptedConnection]) -> None:
        self._stream = stream
        self.connections = connections
        self.heard: list[dict[str, Any]] = []

    async def send(self, method: str, params: object, id_: object = None) -> None:
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        await self._stream.send(json.dumps(frame if id_ is None else {**frame, "id": id_}))

    async def raw(self, frame: object) -> None:
        await self._stream.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def read(self) -> Any:
        text = await self._stream.receive()
        assert text is not None
        return text if str(text).startswith("//") else json.loads(text)

    async def until(self, id_: object) -> dict[str, Any]:
        while True:
            frame = await self.read()
            if "method" not in frame and frame["id"] == id_:
                return frame
            self.heard.append(frame)

    async def ask(self, method: str, params: object, id_: object = 7) -> dict[str, Any]:
        await self.send(method, params, id_)
        return await self.until(id_)

    async def open(self, **capabilities: object) -> str:
        await self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        return (await self.ask("session/new", {"cwd": "/tmp", "mcpServers": []}))["result"]["sessionId"]


@asynccontextmanager
async def agent(
    turns: Iterable[Any] = (), *, greets: bool = False, fails: Exception | None = None
) -> AsyncIterator[Client]:
    here, there = memory_pair()
    connections: list[ScriptedConnection] = []

    async def open_session(request: SessionRequest) -> Connection:
        if fails:
            raise fails
        info = e.SessionInfo(request.session_id, str(request.cwd), "m1", mode=request.mode or "default")
        connections.append(ScriptedConnection(list(turns), info=info))
        return connections[-1]

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AcpAgent(there, open_session, MemoryStore(), greets=greets).run)
            yield Client(here, connections)
            await here.close()


async def test_the_version_is_our_own_whatever_was_asked() -> None:
    async with agent() as client:
        answer = await client.ask("initialize", {"protocolVersion": 65535})
        assert answer["result"]["protocolVersion"] == 1
        assert answer["result"]["agentInfo"]["name"] == "weft"
        assert "isAuthenticated" not in answer["result"]


async def test_a_standard_client_is_never_told_ready() -> None:
    async with agent([said("hi")], greets=True) as client:
        await client.open()
        await anyio.sleep(0.15)
        answer = await client.ask("authenticate", {"methodId": "weft"})
        assert answer["result"] == {}
        assert client.heard == []


async def test_a_client_that_waits_is_told_ready_and_spoken_to_in_iflows_dialect() -> None:
    async def ask(stage: Stage, prompt: c.Prompt) -> None:
        use = ToolUse("t1", "Bash", {"command": "ls"})
        await stage.emit(e.ToolCalled(use=use, title="ls", kind="execute"))
        await stage.ask(e.PermissionAsked(request_id="r", use=use, kind="execute"))

    async with agent([ask], greets=True) as client:
        assert await client.read() == "//ready"
        first = await client.ask("initialize", {"protocolVersion": 1})
        assert first["result"]["isAuthenticated"] is False
        login = {"methodId": "iflow", "methodInfo": {"apiKey": "k", "baseUrl": "http://127.0.0.1:1", "modelName": "m"}}
        assert (await client.ask("authenticate", login))["result"] == {"methodId": "iflow"}
        opened = await client.ask("session/new", {"cwd": "/tmp", "settings": {"permission_mode": "yolo"}})
        session = opened["result"]["sessionId"]
        assert opened["result"]["modes"]["currentModeId"] == "bypassPermissions"
        thinks = await client.ask("session/set_think", {"sessionId": session, "thinkEnabled": True})
        assert thinks["result"] == {"success": True}
        assert client.connections[0].info.thinking.kind == "adaptive"

        await client.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}, 9)
        frame = await client.read()
        while frame.get("method") != "session/request_permission":
            frame = await client.read()
        assert isinstance(frame["id"], int)
        assert frame["params"]["toolCall"]["toolName"] == "run_shell_command"
        # While the request is unanswered nothing else is sent; a cancel withdraws it and lets the rest through.
        assert (await client.ask("session/cancel", {"sessionId": session}, 10))["result"] is None
        assert (await client.until(9))["result"] == {"stopReason": "cancelled"}


async def test_a_failing_turn_is_an_error_with_words_and_no_null() -> None:
    class Failing(ScriptedConnection):
        async def _play(self, prompt: c.Prompt) -> None:
            await self.emit(e.TurnStarted(turn_id="t", prompt_ids=(prompt.id,)))
            await self.emit(e.TurnEnded(turn_id="t", reason="error", error="the model said no"))

    async with agent() as client:
        session = await client.open()
        client.connections[0].__class__ = Failing
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        error = (await client.ask("session/prompt", prompt))["error"]
        assert (error["code"], error["message"]) == (-32603, "the model said no")
        assert error["data"]["details"] == "the model said no"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (SettingsError("settings.json: line 3 is broken", hint="mend it"), -32603),
        (ProviderError("no key", kind="authentication_failed"), -32000),
    ],
)
async def test_a_session_that_cannot_be_opened_is_an_answer(failure: Exception, code: int) -> None:
    async with agent(fails=failure) as client:
        await client.ask("initialize", {"protocolVersion": 1})
        answer = await client.ask("session/new", {"cwd": "/tmp", "mcpServers": []})
        assert (answer["error"]["code"], answer["error"]["message"]) == (code, str(failure))


async def test_a_prompt_cancelled_by_its_request_id_ends_as_a_turn_does() -> None:
    async def forever(stage: Stage, prompt: c.Prompt) -> None:
        await stage.emit(*said("a")[:3])
        await anyio.sleep_forever()

    async with agent([forever]) as client:
        session = await client.open()
        await client.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}, "p")
        await client.send("$/cancel_request", {"requestId": "p"})
        assert (await client.until("p"))["result"] == {"stopReason": "cancelled"}


async def test_a_question_without_forms_is_a_choice_and_a_withdrawn_one_is_cancelled() -> None:
    question = e.Question("Which?", "W", (e.QuestionOption("A"), e.QuestionOption("B")))

    async def ask(stage: Stage, prompt: c.Prompt) -> None:
        answer = await stage.ask(e.QuestionAsked(request_id="q", tool_use_id="t", questions=(question,)))
        assert isinstance(answer, c.QuestionAnswered)
        await stage.say(answer.answers["Which?"])
        await stage.ask(e.QuestionAsked(request_id="q2", tool_use_id="t", questions=(question,)))

    async with agent([ask]) as client:
        session = await client.open()
        await client.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}, 9)
        asked = await client.read()
        assert asked["method"] == "session/request_permission"
        assert [option["name"] for option in asked["params"]["options"]] == ["A", "B", "No answer"]
        chosen = {"outcome": {"outcome": "selected", "optionId": "answer_1"}}
        await client.raw({"jsonrpc": "2.0", "id": asked["id"], "result": chosen})
        frame = await client.read()
        words = ""
        while frame.get("method") == "session/update":
            words += frame["params"]["update"]["content"]["text"]
            frame = await client.read()
        assert words == "B"
        await client.send("session/cancel", {"sessionId": session})
        assert (await client.until(9))["result"] == {"stopReason": "cancelled"}
        withdrawn = [f["params"] for f in client.heard if f.get("method") == "$/cancel_request"]
        assert withdrawn == [{"requestId": frame["id"]}]


async def test_what_is_wrong_is_refused_and_the_connection_goes_on() -> None:
    async with agent([said("hi")]) as client:
        await client.raw("{not json")
        assert (await client.read())["error"]["code"] == -32700
        await client.raw('{"foo":"bar"}')
        assert (await client.read())["error"]["code"] == -32600
        assert (await client.ask("no/such", {}))["error"]["code"] == -32601
        relative = await client.ask("session/new", {"cwd": "not/absolute", "mcpServers": []})
        assert relative["error"]["code"] == -32602
        assert (await client.ask("session/new", {"cwd": "/tmp"}))["error"]["code"] == -32602
        assert (await client.ask("session/load", {"sessionId": "x", "cwd": "/tmp", "mcpServers": []}))["error"][
            "code"
        ] == -32002
        session = await client.open()
        await client.ask("session/close", {"sessionId": session})
        gone = await client.ask("session/prompt", {"sessionId": session, "prompt": []})
        assert gone["error"]["code"] == -32002


def test_what_iflow_clients_give_becomes_a_request_of_ours(tmp_path: Path) -> None:
    opened = s.OpenSession(
        cwd=str(tmp_path),
        mcp_servers=(
            McpServer(name="a", command="run", args=("x",), env=[{"name": "K", "value": "V"}]),
            McpServer(name="b", type="http", http_url="http://127.0.0.1:1", headers={"H": "1"}),
            McpServer(name="c", url="http://127.0.0.1:2"),
        ),
        settings=s.SessionSettings(
            permission_mode="plan", append_system_prompt="Be brief.", max_turns=5, add_dirs=[str(tmp_path)]
        ),
        hooks={"Stop": []},
        agents=[
            {"agentType": "reviewer", "whenToUse": "for reviews", "systemPrompt": "Review.", "allowedTools": ["*"]}
        ],
        commands=[{"name": "/ship", "content": "Ship it."}],
    )
    request = to_request(opened, "id", login={"apiKey": "k", "baseUrl": "http://127.0.0.1:3", "modelName": "m"})
    assert request.mcp_servers == {
        "a": {"command": "run", "args": ["x"], "env": {"K": "V"}},
        "b": {"type": "http", "url": "http://127.0.0.1:1", "headers": {"H": "1"}},
        "c": {"type": "sse", "url": "http://127.0.0.1:2", "headers": {}},
    }
    assert (request.mode, request.append_system_prompt, request.max_turns) == ("plan", "Be brief.", 5)
    assert (request.directories, request.hooks) == ((tmp_path,), {"Stop": []})
    assert request.agents == {"reviewer": {"description": "for reviews", "prompt": "Review."}}
    assert request.commands == {"ship": "Ship it."}
    assert (request.model, request.api_key, request.base_url) == ("m", "k", "http://127.0.0.1:3")


def test_a_server_without_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RpcError):
        to_request(s.OpenSession(cwd=str(tmp_path), mcp_servers=(McpServer(name="x"),)), "id")


async def test_what_only_the_agent_knows_completes_a_prompt_by_a_method_of_our_own() -> None:
    async with agent() as client:
        session = await client.open()
        item = e.Completion("Paris", "Paris", "city")
        client.connections[0].completes = lambda text: (len(text) - 3, (item,))
        answer = await client.ask("_weft/complete", {"sessionId": session, "text": "/mcp__maps__find Par"})
        shown = {"label": "Paris", "insert": "Paris", "detail": "city", "more": False}
        assert answer["result"] == {"start": 17, "items": [shown]}


@pytest.mark.parametrize("answered", [True, False])
async def test_the_client_is_told_when_the_person_has_been_at_the_address(answered: bool) -> None:
    seen = anyio.Event()

    async def turn(stage: Stage, prompt: c.Prompt) -> None:
        asked = e.InputRequested(request_id="r", server="s", message="m", url="https://example.com")
        if answered:
            await stage.ask(asked)
        else:
            await stage.emit(asked)
            await seen.wait()
        await stage.emit(e.AskWithdrawn(request_id="r", reason="completed"), *said("Done."))

    async with agent([turn]) as client:
        session = await client.open(elicitation={"url": {}})
        await client.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}, 9)
        while (frame := await client.read()).get("method") != "elicitation/create":
            pass
        visit, number = frame["params"]["elicitationId"], frame["id"]
        seen.set()
        if answered:
            await client.raw({"jsonrpc": "2.0", "id": number, "result": {"action": "accept"}})
        assert (await client.until(9))["result"] == {"stopReason": "end_turn"}
    told = {frame["method"]: frame["params"] for frame in client.heard if "method" in frame}
    assert told["elicitation/complete"] == {"elicitationId": visit}
    assert answered or told["$/cancel_request"] == {"requestId": number}
