"""Who may not attach to the editor's server, and what those who may cannot do to it."""

import json
from pathlib import Path

import anyio
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.integration.ide.desk import Desk
from weft.protocols.ide import AUTH_HEADER


def address(desk: Desk) -> str:
    return f"ws://127.0.0.1:{desk.server.port}/"


async def status(desk: Desk, headers: dict[str, str], url: str = "", **more: object) -> int:
    try:
        async with connect(url or address(desk), additional_headers=headers, subprotocols=["mcp"], proxy=None, **more):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


async def test_only_the_right_token_in_the_right_header_opens_the_socket(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            token = desk.server.lock.token or ""
            assert await status(desk, {AUTH_HEADER: token}) == 101
            for headers in ({}, {AUTH_HEADER: ""}, {AUTH_HEADER: token[:-1]}, {AUTH_HEADER: token + "x"}):
                assert await status(desk, headers) == 401
            assert await status(desk, {}, f"{address(desk)}?token={token}") == 401
            assert await status(desk, {"Authorization": f"Bearer {token}"}) == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil", "http://localhost"])
async def test_a_web_page_is_refused_even_with_the_token(tmp_path: Path, origin: str) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            assert await status(desk, {AUTH_HEADER: desk.server.lock.token or ""}, origin=origin) == 403


async def test_a_rebound_name_is_refused(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            stream = await anyio.connect_tcp("127.0.0.1", desk.server.port)
            request = (
                "GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                f"{AUTH_HEADER}: {desk.server.lock.token}\r\n\r\n"
            )
            async with stream:
                await stream.send(request.encode())
                assert b" 403 " in await stream.receive()


async def test_it_listens_on_the_loopback_only(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            port = f":{desk.server.port:04X}"
            rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            assert {row[1] for row in rows if row[1].endswith(port) and row[3] == "0A"} == {f"0100007F{port}"}


async def test_noise_ends_at_most_its_own_socket(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            headers = {AUTH_HEADER: desk.server.lock.token or ""}
            async with connect(address(desk), additional_headers=headers, subprotocols=["mcp"], proxy=None) as socket:
                for noise in ("nonsense", "[" * 100_000, "[]", b"\x00\xff", '{"id": NaN}', "x" * 1_000_000):
                    await socket.send(noise)
                    assert "error" in json.loads(await socket.recv())
                await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
                assert json.loads(await socket.recv())["result"] == {}
            async with connect(address(desk), additional_headers=headers, subprotocols=["mcp"], proxy=None) as socket:
                socket.transport.write(b"\x81\xff" + (65 << 20).to_bytes(8, "big") + b"mask")
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
            while len(desk.server.agents) > 1:
                await anyio.sleep(0.002)
            assert await status(desk, headers) == 101


async def test_one_agent_cannot_answer_or_close_for_another(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk, desk.second() as other, anyio.create_task_group() as group:
            group.start_soon(desk.work.propose_edit, desk.file, "x\n")
            await desk.pending(1)
            (diff,) = desk.server.toolbox.diffs.pending()
            for name, arguments in (("close_tab", {"tab_name": diff.title}), ("closeAllDiffTabs", {})):
                await other.call(name, arguments)
            assert len(desk.server.toolbox.diffs) == 1
            group.cancel_scope.cancel()


async def test_the_token_is_in_no_log_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    caplog.set_level("INFO", "websockets.client")  # The test's own client, not Weft's.
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            await status(desk, {AUTH_HEADER: "wrong"})
            assert (desk.server.lock.token or "?") not in caplog.text
