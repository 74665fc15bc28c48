"""Faults between each pair of our own parts: the turn ends with a reason, and the next one or the next agent works."""

import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.suites.processes import SOURCE
from weft.agent.options import ALL_ASKS, SessionOptions
from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import ChildAgent
from weft.connect.port import Connection
from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions
from weft.errors import WeftError
from weft.schema.commands import Prompt
from weft.schema.events import TurnEnded
from weft.sdk.compose import connect
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.faulty_pipe import FAULTS, plan
from weft.testing.faulty_socket import FaultySocket

WEFT = (sys.executable, "-m", "weft")
Opener = Callable[[tuple[str, ...], Path, dict[str, str]], Connection]


def stream_json(command: tuple[str, ...], cwd: Path, env: dict[str, str]) -> Connection:
    return StreamJsonConnection(StreamJsonOptions(command=command, cwd=cwd, env=env, name="weft"))


def acp(command: tuple[str, ...], cwd: Path, env: dict[str, str]) -> Connection:
    return AcpConnection(ChildAgent((*command, "acp"), cwd=cwd, env=env), AcpOptions(cwd=cwd))


def variables(url: str, home: Path) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "k",
        "HOME": str(home),
        "PYTHONPATH": str(SOURCE),
        "WEFT_MAX_RETRIES": "0",
    }


async def ends(connection: Connection, text: str) -> TurnEnded | None:
    """The end of a turn; None when the agent was gone before one could begin."""
    try:
        await connection.send(Prompt(text))
    except WeftError:
        return None
    async for event in connection.events():
        if isinstance(event, TurnEnded):
            return event
    return None


@pytest.mark.parametrize("seed", range(8))
async def test_between_us_and_the_model(seed: int, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["Hello. " * 200], cycle=True) as server:
        port = int(server.url.rsplit(":", 1)[1])
        async with FaultySocket(port, seed=seed) as relay:
            options = SessionOptions(cwd=tmp_path, asks=ALL_ASKS, env=variables(relay.url, fresh_home), persist=False)
            with anyio.fail_after(30):
                async with connect(options) as connection:
                    good = 0
                    for number in range(12):
                        end = await ends(connection, f"turn {number}")
                        assert end is not None
                        assert end.reason == "completed" or end.error, end
                        good += end.reason == "completed" and end.text == ("Hello. " * 200)
                    assert good, relay.faults


@pytest.mark.parametrize("opener", [stream_json, acp], ids=["stream-json", "acp"])
@pytest.mark.parametrize("seed", range(len(FAULTS)), ids=FAULTS)
async def test_between_a_host_and_its_agent(seed: int, opener: Opener, tmp_path: Path, fresh_home: Path):
    fault, _ = plan(seed)
    relay = (sys.executable, "-m", "weft.testing.faulty_pipe", str(seed), "--", *WEFT)
    async with FakeAnthropic(["Hello. " * 20], cycle=True) as server:
        env = variables(server.url, fresh_home)
        with anyio.fail_after(40):
            try:
                async with opener(relay, tmp_path, env) as connection:
                    for number in range(2):
                        end = await ends(connection, f"turn {number}")
                        if end is None:
                            assert fault in ("cut", "torn", "garbage", "binary"), fault
                            break
                        assert end.reason == "completed" or end.error, end
            except WeftError as error:
                assert fault in ("cut", "torn", "garbage", "binary"), error
                assert str(error)
            # What failed leaves nothing behind that keeps the next one from working.
            async with opener(WEFT, tmp_path, env) as connection:
                end = await ends(connection, "again")
                assert end is not None and end.reason == "completed"
