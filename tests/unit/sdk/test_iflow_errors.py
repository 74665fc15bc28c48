"""Every error class of iFlow's SDK, raised where it happens."""

import builtins
import json
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from weft.sdk import iflow
from weft.sdk.iflow import IFlowClient, IFlowOptions, RawDataClient, query
from weft.sdk.iflow_messages import AssistantMessage, ErrorMessage, TaskFinishMessage
from weft.testing.scripted import Fail, ScriptedProvider, call

LIMIT = 60

AGENT = """
import json, sys
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    found = answers.get(asked["method"], {"result": {}})
    if found == "leave":
        sys.exit(7)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **found}), flush=True)
"""
OPENED = {
    "initialize": {"result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}},
    "session/new": {"result": {"sessionId": "s1"}},
}


def agent(**answers: Any) -> str:
    """The command line of an agent that gives these answers."""
    words = {name.replace("_", "/"): value for name, value in answers.items()}
    return shlex.join([sys.executable, "-c", AGENT, json.dumps({**OPENED, **words})])


def refused(code: int, message: str) -> Any:
    return {"error": {"code": code, "message": message}}


async def connect(tmp_path: Path, **options: Any) -> None:
    with anyio.fail_after(LIMIT):
        async with IFlowClient(IFlowOptions(cwd=tmp_path, timeout=options.pop("timeout", 45.0), **options)):
            raise AssertionError("it connected")


async def test_an_agent_that_is_not_on_this_machine(tmp_path: Path, fresh_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(iflow.IFlowNotInstalledError):
        await connect(tmp_path, agent="iflow")


async def test_a_process_that_ends_before_it_answers(tmp_path: Path):
    with pytest.raises(iflow.IFlowProcessError):
        await connect(tmp_path, agent=agent(initialize="leave"))


async def test_a_port_that_is_taken(tmp_path: Path, fresh_home: Path, monkeypatch: pytest.MonkeyPatch):
    command = tmp_path / "iflow"
    command.write_text("#!/bin/sh\nexit 0\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(iflow.PortNotAvailableError, match=str(taken.getsockname()[1])):
            await connect(tmp_path, agent="iflow", port=taken.getsockname()[1])


async def test_an_address_where_nobody_listens(tmp_path: Path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(iflow.ConnectionError):
        await connect(tmp_path, url=f"ws://127.0.0.1:{port}/acp")


async def test_an_agent_that_says_nothing(tmp_path: Path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(iflow.TimeoutError):
            await connect(tmp_path, url=f"ws://127.0.0.1:{silent.getsockname()[1]}/acp", timeout=0.5)


async def test_a_connection_that_breaks_later(tmp_path: Path):
    with anyio.fail_after(LIMIT):
        async with IFlowClient(IFlowOptions(cwd=tmp_path, agent=agent(session_prompt="leave"))) as client:
            await client.send_message("hi")
            seen = [message async for message in client.receive_messages()]
            assert isinstance(seen[-2], ErrorMessage)
            assert isinstance(seen[-1], TaskFinishMessage)
            with pytest.raises(iflow.TransportError):
                await client.send_message("still there?")


async def test_an_agent_that_refuses_the_protocol(tmp_path: Path):
    with pytest.raises(iflow.ProtocolError, match="not today"):
        await connect(tmp_path, agent=agent(initialize=refused(-32603, "not today")))


async def test_an_agent_that_wants_a_login(tmp_path: Path):
    with pytest.raises(iflow.AuthenticationError):
        await connect(tmp_path, agent=agent(session_new=refused(-32000, "log in first")))


async def test_a_key_that_is_refused(tmp_path: Path):
    provider = ScriptedProvider([Fail("authentication_failed", "bad key", 403)])
    with anyio.fail_after(LIMIT), pytest.raises(iflow.AuthenticationError, match="bad key"):
        await query("hi", options=IFlowOptions(cwd=tmp_path, provider=provider))


async def test_text_that_is_not_json_and_data_that_is_no_command(tmp_path: Path):
    with anyio.fail_after(LIMIT):
        async with RawDataClient(IFlowOptions(cwd=tmp_path, provider=ScriptedProvider(["hello"]))) as client:
            with pytest.raises(iflow.JSONDecodeError):
                await client.send_raw('{"command": ')
            for wrong in ("[]", '{"command": "Explode"}'):
                with pytest.raises(iflow.ValidationError):
                    await client.send_raw(wrong)
            await client.send_raw('{"command": "Prompt", "content": "hi"}')
            pairs = [pair async for pair in client.receive_dual_stream()]
    assert any(isinstance(one, AssistantMessage) and one.text for _raw, messages in pairs for one in messages)


async def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    opened = Path.open

    def guarded(path: Path, *args: Any, **more: Any) -> Any:
        if path == secret:
            raise builtins.PermissionError(13, "Permission denied")
        return opened(path, *args, **more)

    with anyio.fail_after(LIMIT):
        async with IFlowClient(IFlowOptions(cwd=tmp_path, provider=ScriptedProvider([]))) as client:
            monkeypatch.setattr(Path, "open", guarded)
            with pytest.raises(iflow.PermissionError):
                await client.send_message("look", files=[secret])
            with pytest.raises(iflow.ValidationError):
                await client.send_message("look", files=[tmp_path / "nothing.png"])


async def test_options_that_make_no_sense(tmp_path: Path):
    for wrong in ({"approval_mode": "sleepy"}, {"session_id": "nobody"}):
        with pytest.raises(iflow.ValidationError):
            await connect(tmp_path, provider=ScriptedProvider([]), **wrong)


async def test_a_client_that_is_not_connected(tmp_path: Path):
    with pytest.raises(iflow.ConnectionError):
        await IFlowClient(IFlowOptions(cwd=tmp_path)).send_message("hi")


def test_every_class_of_the_seed_is_there_and_has_one_base():
    names = """TimeoutError JSONDecodeError IFlowNotInstalledError IFlowProcessError PortNotAvailableError
    ConnectionError TransportError PermissionError ValidationError ProtocolError AuthenticationError"""
    for name in names.split():
        assert issubclass(getattr(iflow, name), iflow.IFlowError)
        assert name in iflow.__all__


async def test_a_session_is_loaded_in_place_of_another(tmp_path: Path):
    provider = ScriptedProvider(["one", "two", "three"])
    with anyio.fail_after(LIMIT):
        async with IFlowClient(IFlowOptions(cwd=tmp_path, provider=provider)) as client:
            await client.send_message("first")
            assert [message async for message in client.receive_messages()]
            first = client.session_id
        async with IFlowClient(IFlowOptions(cwd=tmp_path, provider=provider)) as client:
            assert client.session_id != first
            await client.load_session(first)
            assert client.session_id == first
            await client.send_message("second")
            assert [message async for message in client.receive_messages()]
    assert "first" in str(provider.requests[-1].messages)


async def test_an_agent_of_another_process_stays_when_the_session_changes_and_only_then_is_it_loaded(tmp_path: Path):
    started, loaded = tmp_path / "started", tmp_path / "loaded"
    noted = AGENT.replace("    found =", "    open(sys.argv[2], 'a').write(asked['method'] + '\\n')\n    found =")
    able = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []}}
    answers = json.dumps({**OPENED, "initialize": able})
    inner = shlex.join([sys.executable, "-c", noted, answers, str(loaded)])
    command = shlex.join(["/bin/sh", "-c", f"echo started >> {started}; exec {inner}"])
    with anyio.fail_after(LIMIT):
        async with IFlowClient(IFlowOptions(cwd=tmp_path, agent=command, timeout=45.0)) as client:
            assert client.session_id == "s1"
            await client.load_session("s2")
            await client.load_session("s2")
            assert client.session_id == "s2"
    assert started.read_text().splitlines() == ["started"]
    assert loaded.read_text().splitlines() == ["initialize", "session/new", "session/load"]


async def test_in_the_manual_mode_the_program_is_asked_about_reading_too(tmp_path: Path):
    outside = tmp_path / "outside.txt"
    outside.write_text("far away")
    project = tmp_path / "project"
    project.mkdir()
    for mode, asked in (("auto", 0), ("manual", 1)):
        provider = ScriptedProvider([call("Read", file_path=str(outside)), "done"])
        options = IFlowOptions(cwd=project, provider=provider, permission_mode=mode)
        count = 0
        with anyio.fail_after(LIMIT):
            async with IFlowClient(options) as client:
                await client.send_message("read it")
                async for message in client.receive_messages():
                    request = getattr(message, "request_id", None)
                    if request is not None and mode == "manual":
                        count += 1
                        await client.approve_tool_call(request, iflow.ToolCallConfirmationOutcome.REJECT)
        assert count == asked
        assert ("far away" in str(provider.requests[-1].messages)) is (mode == "auto")
