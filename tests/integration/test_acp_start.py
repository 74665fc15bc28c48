"""What `weft acp` loads until its first session is open: the protocol and the agent, nothing for other ways to run."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from tests.integration.test_cli import environment
from weft.testing.fake_anthropic import FakeAnthropic

UNUSED = {
    *("argparse", "difflib", "hmac", "secrets", "shutil", "tempfile", "websockets"),
    *("weft.agent.replay", "weft.protocols.acp.draft2", "weft.serve.acp.draft", "weft.transports.websocket"),
}


@pytest.mark.parametrize("files", [True, False])
async def test_the_first_session_loads_nothing_that_it_does_not_use(
    tmp_path: Path, fresh_home: Path, files: bool
) -> None:
    offered = {"fs": {"readTextFile": files, "writeTextFile": files}, "terminal": files}
    asked = [
        {"id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": offered}},
        {"id": 1, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
    async with FakeAnthropic([]) as server:
        with anyio.fail_after(60):
            process = await anyio.open_process(
                [sys.executable, "-X", "importtime", "-m", "weft", "acp"],
                cwd=tmp_path,
                env=environment(server, fresh_home),
            )
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            said, told = bytearray(), bytearray()

            async def collect() -> None:
                async for data in process.stderr:
                    told.extend(data)

            async with process, anyio.create_task_group() as group:
                group.start_soon(collect)
                await process.stdin.send(lines.encode())
                while b'"sessionId"' not in said:
                    said += await process.stdout.receive()
                await process.stdin.aclose()
                await process.wait()
    loaded = {row.rsplit("|", 1)[1].strip() for row in told.decode().splitlines() if row.startswith("import time:")}
    assert "weft.serve.acp.agent" in loaded and loaded & UNUSED == set()
