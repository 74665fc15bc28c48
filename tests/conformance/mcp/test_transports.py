"""Unix socket, server-sent events and streamable HTTP, with servers of the official package."""

import sys
from pathlib import Path

import anyio
import pytest

from tests.conformance.mcp.test_host import ready
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions
from weft.schema.content import text_of

SERVER = """
import sys
import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

server = MCPServer("served")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def big(n: int) -> str:
    return "x" * n

kind, where = sys.argv[1], sys.argv[2]
plain = TransportSecuritySettings(enable_dns_rebinding_protection=False)
app = server.sse_app() if kind == "sse" else server.streamable_http_app(transport_security=plain)
place = {"uds": where} if kind == "unix" else {"host": "127.0.0.1", "port": int(where)}
config = uvicorn.Config(app, log_level="error", **place)
uvicorn.Server(config).run()
"""


async def listening(kind: str, where: str) -> None:
    with anyio.fail_after(60):
        while True:
            try:
                if kind == "unix":
                    stream = await anyio.connect_unix(where)
                else:
                    stream = await anyio.connect_tcp("127.0.0.1", int(where))
            except OSError:
                await anyio.sleep(0.05)
                continue
            await stream.aclose()
            return


@pytest.mark.parametrize("kind", ["unix", "sse", "http"])
async def test_the_packages_servers_are_reached_over_each_transport(tmp_path: Path, kind: str):
    from weft.transports.mcp_callback import free_port
    from weft.transports.process import spawn

    where = str(tmp_path / "s.sock") if kind == "unix" else str(free_port())
    child = await spawn([sys.executable, "-c", SERVER, kind, where], stderr="null")
    try:
        await listening(kind, where)
        configs = {
            "unix": ServerConfig(name="s", transport="http", url="http://localhost/mcp", socket=where),
            "sse": ServerConfig(name="s", transport="sse", url=f"http://127.0.0.1:{where}/sse"),
            "http": ServerConfig(name="s", transport="http", url=f"http://127.0.0.1:{where}/mcp"),
        }
        for era in ("auto", "legacy"):
            options = HostOptions(cwd=tmp_path, home=tmp_path / era, protocol=era, start_delay=0.0)
            async with Host((configs[kind],), options) as host:
                await ready(host)
                assert text_of((await host.call("s", "add", {"a": 1, "b": 2})).content) == "3"
                if kind == "http":
                    result = await host.call("s", "big", {"n": 2_000_000})
                    assert not result.is_error and len(text_of(result.content)) == 2_000_000
    finally:
        await child.kill(0.2)
        child.close()
