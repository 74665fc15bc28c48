"""Agents that Weft hosts ask through the proxy, and `weft proxy --run` runs any command."""

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from weft.connect.agents import AgentRequest, open_agent
from weft.connect.availability import check
from weft.connect.registry import known_agents
from weft.errors import ConnectionLost
from weft.paths import weft_home
from weft.proxy.calls import CallLog
from weft.proxy.session import session
from weft.schema.commands import PermissionAnswered, Prompt
from weft.schema.content import Text, ToolUse
from weft.schema.events import PermissionAsked, TurnEnded
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.transports.process import Child, spawn

KEY = "sk-real-hosted-0123456789"
SHOW = "echo key=$ANTHROPIC_API_KEY token=$ANTHROPIC_AUTH_TOKEN other=$MY_COPY url=$ANTHROPIC_BASE_URL"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def ask(name: str, cwd: Path) -> str:
    """The end of a turn in which the agent shows its variables."""
    async with await open_agent(name, AgentRequest(cwd=cwd, mode="bypassPermissions")) as agent:
        await agent.send(Prompt(content=(Text("show"),)))
        with anyio.fail_after(60):
            async for event in agent.events():
                if isinstance(event, PermissionAsked):
                    await agent.send(PermissionAnswered(request_id=event.request_id, behavior="allow"))
                if isinstance(event, TurnEnded):
                    return event.reason
    return "nothing"


def _script(body: dict[str, object]) -> Answer:
    if "tool_result" in json.dumps(body["messages"]):
        return Answer(blocks=(Text("done"),))
    return Answer(blocks=(ToolUse("t1", "Bash", {"command": SHOW, "description": "show"}),))


async def test_a_hosted_agent_asks_with_a_nonce_and_never_sees_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeAnthropic(_script, key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("MY_COPY", KEY)
        assert await ask("weft", tmp_path) == "completed"
        shown = json.dumps(server.requests[-1].body["messages"])
        calls = list(CallLog().read())
    assert "key=weft-" in shown and KEY not in shown and server.url not in shown
    assert {call.who for call in calls} == {"weft"} and len(calls) == len(server.requests)


PORT_ONLY = """
[port-weft]
title = "Weft on a port"
command = "weft"
port = ["acp", "--port", "{port}", "--no-token"]
proxy = ["anthropic", "openai"]
"""


async def test_an_agent_that_is_started_on_a_port_works_and_never_sees_the_key_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft_home().mkdir(parents=True, exist_ok=True)
    (weft_home() / "agents.toml").write_text(PORT_ONLY)
    async with FakeAnthropic(_script, key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("MY_COPY", KEY)
        assert await ask("port-weft", tmp_path) == "completed"
        shown = json.dumps(server.requests[-1].body["messages"])
    assert "key=weft-" in shown and KEY not in shown and server.url not in shown
    found = await check(known_agents()["port-weft"], cwd=tmp_path)
    assert (found.answers, found.agent_name, found.protocols) == (True, "weft", ("acp-port",))


async def test_an_agent_that_ends_before_it_listens_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft_home().mkdir(parents=True, exist_ok=True)
    (weft_home() / "agents.toml").write_text(PORT_ONLY.replace("--no-token", "--no-such-flag"))
    with pytest.raises(ConnectionLost, match="unrecognized arguments: --no-such-flag"):
        await ask("port-weft", tmp_path)


async def test_the_switch_turns_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session("claude", {"ANTHROPIC_API_KEY": KEY}, dialects=("anthropic",)) is not None
    assert session("claude", {"ANTHROPIC_API_KEY": KEY, "WEFT_PROXY": "off"}, dialects=("anthropic",)) is None
    assert session("claude", {}, dialects=("anthropic",)) is None
    assert session("qwen", {"ANTHROPIC_API_KEY": KEY}, dialects=("openai",)) is None


async def start(cwd: Path, server: FakeAnthropic, script: str, *arguments: str) -> Child:
    env = {**os.environ, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url, "MY_COPY": KEY}
    command = [sys.executable, "-m", "weft", "proxy", *arguments, "--run", sys.executable, "-c", script]
    return await spawn(command, cwd=cwd, env=env, stderr="merge")


async def output(child: Child) -> str:
    data = b""
    assert child.stdout is not None
    with anyio.fail_after(60):
        async for part in child.stdout:
            data += part
    return data.decode()


ASK = """
import json, os, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"]
body = json.dumps({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
head = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
request = urllib.request.Request(url + "/v1/messages", body.encode(), head)
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
print(json.dumps(dict(os.environ)))
sys.exit(7)
"""


async def test_a_command_runs_with_the_nonce_and_its_exit_code_is_ours(tmp_path: Path) -> None:
    async with FakeAnthropic(["from the model"], key=KEY) as server:
        child = await start(tmp_path, server, ASK)
        text, variables = (await output(child)).splitlines()
        assert await child.wait() == 7
        child.close()
    env = json.loads(variables)
    assert text == "from the model" and KEY not in variables and "MY_COPY" not in env
    assert env["ANTHROPIC_API_KEY"] == env["OPENAI_API_KEY"] and env["ANTHROPIC_API_KEY"].startswith("weft-")
    assert env["OPENAI_BASE_URL"] == env["ANTHROPIC_BASE_URL"] + "/v1"
    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1" and "127.0.0.1" in env["NO_PROXY"]
    with pytest.raises(OSError):
        await anyio.connect_tcp("127.0.0.1", int(env["ANTHROPIC_BASE_URL"].rsplit(":", 1)[1]))


WAIT = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print(os.getpid(), open(f"/proc/{os.getppid()}/cmdline").read().replace(chr(0), " "), flush=True)
time.sleep(60)
"""


async def test_a_signal_is_handed_on_and_the_key_is_in_no_process_list(tmp_path: Path) -> None:
    async with FakeAnthropic() as server:
        child = await start(tmp_path, server, WAIT)
        assert child.stdout is not None
        with anyio.fail_after(60):
            line = (await child.stdout.receive()).decode()
        inner = int(line.split()[0])
        assert KEY not in line
        owner = os.stat(f"/proc/{child.pid}/environ").st_uid
        assert owner == 0
        os.kill(child.pid, signal.SIGTERM)
        with anyio.fail_after(60):
            assert await child.wait() == 3
        child.close()
    assert not Path(f"/proc/{inner}").exists()


async def test_a_command_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    env = {**os.environ, "ANTHROPIC_API_KEY": KEY}
    child = await spawn([sys.executable, "-m", "weft", "proxy", "--run", "no-such-command"], cwd=tmp_path, env=env)
    text = await output(child)
    assert await child.wait() == 1 and "no-such-command" in text and KEY not in text
    child.close()
    child = await spawn([sys.executable, "-m", "weft", "proxy"], cwd=tmp_path, env=os.environ)
    text = await output(child)
    assert await child.wait() == 1 and "ANTHROPIC_API_KEY" in text
    child.close()
