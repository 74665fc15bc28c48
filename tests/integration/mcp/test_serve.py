"""Weft's tools for others: behind the gate, on this machine alone (T30)."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.integration.mcp.conftest import OpenHost, Person
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import InputAnswer
from weft.schema.content import text_of

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def served(folder: Path, *arguments: str, **more: Any) -> ServerConfig:
    return ServerConfig(
        name="weft", command=sys.executable, args=("-m", "weft", "mcp", "serve", *arguments), cwd=str(folder), **more
    )


async def ready(host: Host) -> None:
    with anyio.fail_after(60):
        await host.settle(60)
    assert host.servers()[0].state == "ready", host.servers()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_reading_is_allowed_and_writing_asks_the_clients_person(open_host: OpenHost, project: Path, era: str):
    person = Person(InputAnswer("decline"), InputAnswer("accept"))
    async with open_host(served(project, protocol=era), ask_input=person, start_timeout=20.0) as host:
        await ready(host)
        read = await host.call("weft", "Read", {"file_path": str(project / "a.txt")})
        assert not read.is_error and "alpha" in text_of(read.content) and person.shown == []
        write = {"file_path": str(project / "b.txt"), "content": "beta"}
        refused = await host.call("weft", "Write", write)
        assert refused.is_error and not (project / "b.txt").exists()
        assert "b.txt" in person.shown[0]
        allowed = await host.call("weft", "Write", write)
        assert not allowed.is_error and (project / "b.txt").read_text() == "beta"


async def test_a_client_that_cannot_ask_is_told_which_rule_would_allow_it(open_host: OpenHost, project: Path):
    async with open_host(served(project), start_timeout=20.0) as host:
        await ready(host)
        refused = await host.call("weft", "Bash", {"command": "touch pwned"})
        assert refused.is_error and "Permission is needed" in text_of(refused.content)
        assert not (project / "pwned").exists()
    async with open_host(served(project, "--allow", "Bash(touch:*)", "--tools", "Bash"), start_timeout=20.0) as host:
        await ready(host)
        assert [tool.name for tool in host.tools()] == ["Bash"]
        assert not (await host.call("weft", "Bash", {"command": "touch fine"})).is_error
        assert (project / "fine").exists()


@pytest.fixture
def address(project: Path) -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "weft", "mcp", "serve", "--http", "0"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()


async def test_t30_over_http_it_wants_its_token_its_own_name_and_no_web_page(address: str, open_host: OpenHost):
    base, token = address.removesuffix("/mcp").rsplit("/", 1)
    assert base.startswith("http://127.0.0.1:")
    accept = {"Accept": "application/json, text/event-stream"}

    async def status(url: str, **headers: str) -> int:
        async with httpx2.AsyncClient() as client:
            return (await client.post(url, json=HELLO, headers={**accept, **headers})).status_code

    assert await status(address) == 200
    assert await status(f"{base}/mcp", Authorization=f"Bearer {token}") == 200
    assert await status(f"{base}/mcp") == 401
    assert await status(f"{base}/wrong/mcp") == 401
    assert await status(f"{base}/mcp?token={token}") == 401
    assert await status(f"{base}/mcp", Authorization=f"Bearer {token}x") == 401
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        assert await status(address, Origin=origin) == 403
    assert await status(address, Host="evil.example") == 403
    config = ServerConfig(name="weft", transport="http", url=address)
    async with open_host(config) as host:
        await ready(host)
        assert "Read" in [tool.name for tool in host.tools()]
