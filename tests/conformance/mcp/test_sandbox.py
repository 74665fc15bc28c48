"""A server whose entry wants VS Code's sandbox, in a real one."""

import json
import os
import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from tests.peers import peer_bin
from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions
from weft.schema.content import text_of

SERVER = """
import json, sys, socket
def out(m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
def tried(work):
    try: work(); return "yes"
    except OSError as error: return "no"
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        out({"id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
             "serverInfo": {"name": "s", "version": "1"}}})
    elif m.get("method") == "tools/list":
        out({"id": m["id"], "result": {"tools": [{"name": "try", "inputSchema": {"type": "object"}}]}})
    elif m.get("method") == "tools/call":
        found = {
            "inside": tried(lambda: open(sys.argv[1] + "/a", "w")),
            "outside": tried(lambda: open(sys.argv[2] + "/a", "w")),
            "secret": tried(lambda: open(sys.argv[3] + "/key").read()),
            "network": tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[4])), 1)),
        }
        out({"id": m["id"], "result": {"content": [{"type": "text", "text": json.dumps(found)}]}})
"""


async def test_a_sandboxed_server_writes_and_reads_only_where_it_may(tmp_path: Path):
    peer_bin("bubblewrap")
    for name in ("inside", "outside", "secret", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret/key").write_text("k")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    folders = [str(tmp_path / name) for name in ("inside", "outside", "secret")]
    config = ServerConfig(
        name="s",
        command=sys.executable,
        args=("-c", SERVER, *folders, str(port)),
        protocol="legacy",
        sandbox={
            "filesystem": {"allowWrite": [folders[0]], "denyRead": [folders[2]]},
            "network": {"deniedDomains": ["*"]},
        },
    )
    options = HostOptions(cwd=tmp_path, home=tmp_path / "home", start_delay=0.0, env=dict(os.environ))
    async with listener, Host((config,), options) as host:
        with anyio.fail_after(60):
            await host.settle(20)
        assert host.servers()[0].state == "ready", host.servers()
        found = json.loads(text_of((await host.call("s", "try", {})).content))
    assert found == {"inside": "yes", "outside": "no", "secret": "no", "network": "no"}


async def test_a_sandbox_that_cannot_be_kept_is_not_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = ServerConfig(name="s", command=sys.executable, sandbox={"network": {"allowedDomains": ["a.example"]}})
    options = HostOptions(cwd=tmp_path, home=tmp_path, start_delay=0.0, reconnects=0)
    peer_bin("bubblewrap")
    async with Host((config,), options) as host:
        with anyio.fail_after(30):
            await host.settle(10)
        assert "cannot be enforced" in (host.servers()[0].error or "")
    monkeypatch.setenv("PATH", "/nowhere")
    plain = msgspec.structs.replace(config, sandbox={})
    async with Host((plain,), options) as host:
        with anyio.fail_after(30):
            await host.settle(10)
        assert "bubblewrap is not installed" in (host.servers()[0].error or "")
