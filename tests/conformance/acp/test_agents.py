"""Our client drives real agents, each in a home of its own, against the fake model."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.conformance.acp.stage import DRIVERS, python
from tests.peers import peer_folder
from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import ChildAgent
from weft.connect.process import free_port
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.stream import BlockDelta

# The name in agents.json, and the folder that it expects below {agents} with the peer that has it.
AGENTS = {
    "claude": {"claude": "claude-agent-acp"},
    "codex-acp": {"codex": "codex-acp"},
    "codex-acp-zed": {"codex-zed": "codex-acp-zed"},
    "gemini": {"gemini": "gemini"},
    "kimi": {"kimi": "kimi", "node22": "kimi"},
    "qwen": {"qwen": "qwen"},
    "opencode": {"opencode": "opencode"},
}
LOADS = {"claude", "codex-acp", "codex-acp-zed", "kimi", "qwen", "opencode"}
"""Gemini announces loading, and does not find a session that it has just written."""
TURN_LIMIT = 60


@asynccontextmanager
async def fake_model() -> AsyncIterator[str]:
    port = free_port()
    argv = [str(python()), str(DRIVERS / "fake_model.py"), "--port", str(port)]
    async with await anyio.open_process(argv, stderr=None, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(60):
                await process.stdout.receive()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


class Prepared:
    """An agent of agents.json, set up in `home`."""

    def __init__(self, name: str, home: Path, base: str) -> None:
        folders = home / "agents"
        folders.mkdir(parents=True)
        for folder, peer in AGENTS[name].items():
            (folders / folder).symlink_to(peer_folder(peer))
        self.cwd = home / "project"
        self.cwd.mkdir()
        (home / "tmp").mkdir()
        config = self._filled(json.loads((DRIVERS / "agents.json").read_text())[name], folders, home, base)
        for path, content in config["files"].items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content))
        self._command: list[str] = config["cmd"]
        self.env: dict[str, str] = {
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "NO_PROXY": "*",
            "TERM": "dumb",
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local" / "share"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_STATE_HOME": str(home / ".local" / "state"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            **config["env"],
        }

    def _filled(self, config: Any, agents: Path, home: Path, base: str) -> Any:
        names = {"{agents}": str(agents), "{home}": str(home), "{base}": base, "{cwd}": str(self.cwd)}
        if isinstance(config, str):
            for name, value in names.items():
                config = config.replace(name, value)
            return config
        if isinstance(config, list):
            return [self._filled(item, agents, home, base) for item in config]
        if isinstance(config, dict):
            return {key: self._filled(item, agents, home, base) for key, item in config.items()}
        return config

    def child(self) -> ChildAgent:
        # Nothing of our own environment: an agent inside an agent behaves differently.
        clean = ["env", "-i", *(f"{name}={value}" for name, value in self.env.items())]
        return ChildAgent([*clean, *self._command], cwd=self.cwd)

    def connection(self, session_id: str = "") -> AcpConnection:
        return AcpConnection(self.child(), AcpOptions(cwd=self.cwd, session_id=session_id))


class Talk:
    """One reader of a connection, and what a person would do."""

    def __init__(self, connection: AcpConnection) -> None:
        self._connection = connection
        self._events = aiter(connection.events())

    async def turn(self, prompt: str, *, allow: bool = True, cancel: bool = False) -> list[e.AgentEvent]:
        heard: list[e.AgentEvent] = []
        asked_to_stop = False
        await self._connection.send(c.Prompt(prompt))
        with anyio.fail_after(TURN_LIMIT):
            async for event in self._events:
                heard.append(event)
                match event:
                    case e.PermissionAsked(request_id=id_):
                        await self._connection.send(c.PermissionAnswered(id_, "allow" if allow else "deny"))
                    case e.Streamed(delta=BlockDelta()) if cancel and not asked_to_stop:
                        asked_to_stop = True
                        await self._connection.send(c.Cancel())
                    case e.TurnEnded():
                        return heard
                    case _:
                        pass
        raise AssertionError("the agent went away")

    async def until_replayed(self) -> list[e.AgentEvent]:
        heard: list[e.AgentEvent] = []
        with anyio.fail_after(TURN_LIMIT):
            async for event in self._events:
                heard.append(event)
                if isinstance(event, e.MessageDone):
                    break
        return heard


def ended(events: list[e.AgentEvent]) -> e.TurnEnded:
    last = events[-1]
    assert isinstance(last, e.TurnEnded)
    return last


def of(kind: type[Any], events: list[e.AgentEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", sorted(AGENTS))
async def test_a_real_agent_is_driven_through_the_port(name: str, tmp_path: Path) -> None:
    shell = "SHELL ESCALATE" if name.startswith("codex") else "SHELL"
    async with fake_model() as base:
        agent = Prepared(name, tmp_path, base)
        written = agent.cwd / "fake_shell.txt"
        async with agent.connection() as connection:
            talk = Talk(connection)
            session_id = connection.session_id
            said = await talk.turn("hello")
            assert ended(said).reason == "completed"
            assert "Hello from the fake model." in "".join(event.reply.text for event in of(e.MessageDone, said))

            denied = await talk.turn(shell, allow=False)
            assert len(of(e.PermissionAsked, denied)) == 1
            assert [event.outcome for event in of(e.ToolEnded, denied)] == ["denied"]
            assert not written.exists()

            allowed = await talk.turn(shell)
            assert len(of(e.PermissionAsked, allowed)) == 1
            assert [event.outcome for event in of(e.ToolEnded, allowed)] == ["ok"]
            assert written.read_text() == "fake-shell\n"

            stopped = await talk.turn("SLOW", cancel=True)
            assert ended(stopped).reason == "cancelled"
            assert len(of(e.TurnEnded, stopped)) == 1
        if name in LOADS:
            async with agent.connection(session_id) as connection:
                assert connection.session_id == session_id
                history = await Talk(connection).until_replayed()
                assert [event for event in of(e.PromptAdded, history) if event.replay]
                assert of(e.MessageDone, history)[0].replay


@pytest.mark.parametrize("name", ["weft-that-is-not-there"])
async def test_a_command_that_is_not_there_says_so(name: str, tmp_path: Path) -> None:
    from weft.errors import ConnectionLost

    with pytest.raises(ConnectionLost, match="no such program"):
        async with AcpConnection(ChildAgent([name], cwd=tmp_path), AcpOptions(cwd=tmp_path)):
            raise AssertionError("opened")


async def test_an_agent_that_dies_says_its_last_words(tmp_path: Path) -> None:
    from weft.errors import ConnectionLost

    argv = [sys.executable, "-c", "import sys; sys.exit('no key for this model')"]
    with pytest.raises(ConnectionLost, match="no key for this model"):
        async with AcpConnection(ChildAgent(argv, cwd=tmp_path), AcpOptions(cwd=tmp_path)):
            raise AssertionError("opened")
