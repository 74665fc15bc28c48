"""Start-up never waits for servers, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio

from tests.integration.mcp.conftest import OpenHost, hostile
from weft.schema.content import Json
from weft.testing.fake_anthropic import FakeAnthropic
from weft.transports.process import spawn

RUN = """
import json, sys, time
from pathlib import Path
import anyio
from weft.agent.options import SessionOptions
from weft.schema.commands import Prompt
from weft.schema.events import TurnEnded
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import ScriptedProvider

servers = json.loads(sys.argv[1])
first = []

def cue(request):
    first.append(time.monotonic())
    return "hello"

async def main():
    began = time.monotonic()
    options = SessionOptions(cwd=Path.cwd(), mcp_configs=(json.dumps({"mcpServers": servers}),), persist=False)
    async with connect(options, Overrides(provider=ScriptedProvider([cue]))) as connection:
        await connection.send(Prompt("hi"))
        async for event in connection.events():
            if isinstance(event, TurnEnded):
                break
    print(json.dumps({"first": first[0] - began, "mcp": sorted(m for m in sys.modules if m.split(".")[0] in
        ("mcp", "mcp_types", "pydantic", "httpx2", "jsonschema") or m.startswith(("weft.mcp", "weft.tools.mcp")))}))

anyio.run(main)
"""


def run(folder: Path, servers: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(servers)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def entry(**spec: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", "weft.testing.mcp_server", json.dumps(spec)]}


def test_without_a_server_nothing_of_the_package_and_little_of_ours_is_loaded(tmp_path: Path):
    loaded = run(tmp_path, {})["mcp"]
    assert not [name for name in loaded if not name.startswith("weft.")]
    small = {"weft.mcp", "weft.mcp.config", "weft.mcp.expand", "weft.mcp.places", "weft.mcp.policy", "weft.mcp.sources"}
    assert set(loaded) <= small | {"weft.mcp.trust", "weft.mcp.visible"}


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def first_request(folder: Path, servers: dict[str, Any]) -> tuple[float, float]:
    """Seconds from the start of `weft -p` to its first request, on a model server that listens for real: by the
    clock, and of the processor."""
    came: list[tuple[float, float]] = []
    pids: list[int] = []
    began = 0.0

    def cue(body: Json) -> str:
        came.append((anyio.current_time() - began, processor_time(pids[0])))
        return "hello"

    async with FakeAnthropic(cue) as model:
        began = anyio.current_time()
        child = await spawn(
            [sys.executable, "-m", "weft", "-p", "hi", "--mcp-config", json.dumps({"mcpServers": servers})],
            cwd=folder,
            env={**os.environ, **model.env()},
        )
        pids.append(child.pid)
        try:
            with anyio.fail_after(30):
                while not came:
                    await anyio.sleep(0.005)
        finally:
            await child.kill(0.0)
            child.close()
    return came[0]


async def test_with_ten_servers_one_hanging_and_one_dying_the_first_request_is_not_late(tmp_path: Path):
    """By the clock; on a machine that is busy with other things, by the processor, and without any waiting."""
    servers = {f"s{n}": entry(tools=["echo"]) for n in range(8)}
    servers |= {"hangs": entry(at_start="hang"), "dies": entry(at_start="die")}
    none, ten = (60.0, 60.0), (60.0, 60.0)
    for _ in range(4):
        first, second = await first_request(tmp_path, {}), await first_request(tmp_path, servers)
        none = min(none[0], first[0]), min(none[1], first[1])
        ten = min(ten[0], second[0]), min(ten[1], second[1])
        if ten[0] - none[0] < 0.05:
            return
    assert ten[1] - none[1] < 0.05 and ten[0] - none[0] < 0.5, (none, ten)


async def test_tools_that_were_approved_are_offered_before_the_server_is_up_and_calls_wait(open_host: OpenHost):
    config = hostile(tools=["echo"], at_start="slow")
    async with open_host(config) as host:
        await host.settle(60)
    async with open_host(config) as host:
        assert [tool.name for tool in host.tools()] == ["echo"]
        assert host.servers()[0].state in ("disconnected", "connecting", "initializing")
        with anyio.fail_after(30):
            assert not (await host.call("bad", "echo", {"a": 1})).is_error


async def test_the_states_are_those_of_the_machine_in_their_order(open_host: OpenHost):
    seen: list[str] = []
    host = open_host(
        hostile(tools=["echo"]),
        on_change=lambda kind, _server: seen.append(host.servers()[0].state) if kind == "state" else None,
    )
    async with host:
        await host.settle(60)
        await host.reconnect("bad")
        with anyio.fail_after(30):
            while seen.count("ready") < 2:
                await anyio.sleep(0.02)
        await host.disable("bad")
        with anyio.fail_after(30):
            while seen[-1] != "disabled":
                await anyio.sleep(0.02)
    start = ["connecting", "initializing", "ready"]
    assert seen[: len(start)] == start
    assert seen[3:8] == ["closing", "disconnected", *start]


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_sigkill_of_the_agent_leaves_no_server_behind(tmp_path: Path):
    """Also not one that ignores the end of its input, nor its children."""
    script = """
import json, sys
from pathlib import Path
import anyio
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions

async def main():
    spec = {"tools": ["child"], "pid_file": sys.argv[1]}
    args = ("-m", "weft.testing.mcp_server", json.dumps(spec))
    config = ServerConfig(name="s", command=sys.executable, args=args, protocol="legacy")
    async with Host((config,), HostOptions(cwd=Path.cwd(), home=Path(sys.argv[2]), start_delay=0.0)) as host:
        await host.settle(60)
        result = await host.call("s", "child", {})
        print(result.content[0].text, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""
    pids = tmp_path / "pids"
    agent = subprocess.Popen(
        [sys.executable, "-c", script, str(pids), str(tmp_path / "home")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdout is not None
    child = int(agent.stdout.readline())
    server = int(pids.read_text().split()[0])
    assert alive(child) and alive(server)
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    agent.stdout.close()
    end = time.monotonic() + 10
    while (alive(child) or alive(server)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(child) and not alive(server)
