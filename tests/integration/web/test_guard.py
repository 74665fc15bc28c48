"""Who may talk to the host: `security.md` 37 to 43, each tried over a real socket."""

import contextlib
from pathlib import Path
from typing import Any

import anyio
import pytest
import websockets

from tests.integration.web.hosting import Talk, served
from weft.errors import TransportError, UsageError
from weft.schema.content import ToolUse
from weft.schema.events import PermissionAsked
from weft.surfaces.files import Folders
from weft.surfaces.web.app import WebHost
from weft.surfaces.web.guard import Ancestors
from weft.surfaces.web.hub import Hub
from weft.testing.connection import ScriptedConnection
from weft.transports.asgi import LoopbackServer


async def test_without_the_cookie_nothing_is_given(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        for path in ("/", "/static/main.js", "/socket", "/nothing"):
            status, _, body = await site.get(path)
            assert status == 401
            assert "weft web" in body


async def test_the_link_works_once_and_gives_a_strict_cookie(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        path = site.host.link().split(str(site.host.port), 1)[1]
        status, headers, _ = await site.get(path)
        assert status == 200
        assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
        cookie = headers["set-cookie"].split(";")[0]
        assert (await site.get("/", Cookie=cookie))[0] == 200
        again, headers, _ = await site.get(path)
        assert again == 401
        assert "set-cookie" not in headers


@pytest.mark.parametrize("cookie", ["weft-{port}=", "weft-{port}=wrong", "weft-{port}=\xe9", "other=x", "=;=;"])
async def test_a_wrong_cookie_is_no_cookie(tmp_path: Path, cookie: str) -> None:
    async with served(tmp_path) as site:
        assert (await site.get("/", Cookie=cookie.format(port=site.host.port)))[0] == 401
        with pytest.raises(websockets.InvalidStatus):
            async with site.connect(cookie=cookie.format(port=site.host.port).replace("\xe9", "e")):
                pass


async def test_the_cookie_in_the_address_does_not_count(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        value = (await site.log_in()).split(";")[0].split("=", 1)[1]
        for path in (f"/?token={value}", f"/?{site.cookie}", f"/socket?{site.cookie}", f"/open/{value}"):
            assert (await site.get(path))[0] == 401


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost.evil:{port}",
        "http://127.0.0.1",
        "https://127.0.0.1:{port}",
        None,
    ],
)
async def test_another_origin_gets_no_socket_even_with_the_cookie(tmp_path: Path, origin: str | None) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        given = origin.format(port=site.host.port) if origin else None
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with site.connect(origin=given):
                pass
        assert refused.value.response.status_code == 403
        if given:
            assert (await site.get("/", Cookie=site.cookie, Origin=given))[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}"]
)
async def test_a_name_that_was_rebound_is_refused(tmp_path: Path, host: str) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        assert (await site.get("/", Cookie=site.cookie, Host=host.format(port=site.host.port)))[0] == 403


async def test_a_page_elsewhere_cannot_embed_or_fetch_us(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        for site_header in ("cross-site", "same-site"):
            status, _, _ = await site.get("/static/main.js", Cookie=site.cookie, Sec_Fetch_Site=site_header)
            assert status == 403
        navigation = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        assert (await site.get("/", Cookie=site.cookie, **navigation))[0] == 200
        frame = {**navigation, "Sec_Fetch_Dest": "iframe"}
        assert (await site.get("/", Cookie=site.cookie, **frame))[0] == 403


async def test_every_answer_has_the_strict_policy(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        refused = (await site.get("/"))[1]
        await site.log_in()
        for headers in (refused, (await site.get("/", Cookie=site.cookie))[1]):
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in headers


async def test_a_frame_is_let_in_only_where_the_person_allowed_it(tmp_path: Path) -> None:
    frame = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    async with served(tmp_path, ancestors=["vscode", "http://localhost:3000"]) as site:
        path = site.host.link().split(str(site.host.port), 1)[1]
        status, headers, body = await site.get(f"{path}?theme=dark&lang=zh&x='>&theme2=1", **frame)
        assert status == 200
        assert 'content="0;url=/?theme=dark&amp;lang=zh"' in body
        assert "HttpOnly; SameSite=None; Secure; Partitioned" in headers["set-cookie"]
        assert (
            "frame-ancestors vscode-webview: vscode-file: http://localhost:3000" in headers["content-security-policy"]
        )
        assert "x-frame-options" not in headers
        cookie = headers["set-cookie"].split(";")[0]
        assert (await site.get("/", Cookie=cookie, **frame))[0] == 200
        assert (await site.get("/static/main.js", Cookie=cookie, Sec_Fetch_Site="cross-site"))[0] == 403
        with pytest.raises(websockets.InvalidStatus):
            async with site.connect(cookie=cookie, origin="http://localhost:3000"):
                pass
        # Opened in a tab, the cookie is as strict as ever.
        assert "SameSite=Strict" in await site.log_in()


@pytest.mark.parametrize(
    "name", ["*", "https:", "http:", "file:", "data:", "'self'", "http://a b", "http://a; x *", "http://*.x", ""]
)
def test_nobody_is_allowed_to_embed_by_a_word_that_lets_anybody_in(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be allowed"):
        Ancestors([name])


async def test_only_the_page_s_own_files_are_served(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    async with served(tmp_path) as site:
        await site.log_in()
        for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/app.py", "/secret.txt", "//etc/passwd"):
            assert (await site.get(path, Cookie=site.cookie))[0] == 404


async def test_it_listens_on_127_0_0_1_only_and_on_a_port_of_chance(tmp_path: Path) -> None:
    first, second = LoopbackServer(), LoopbackServer()
    assert first.port != second.port
    assert first.address == "127.0.0.1"
    with pytest.raises(TransportError, match=str(first.port)):
        LoopbackServer(first.port)
    first.close()
    second.close()


async def test_nonsense_on_the_socket_is_answered_and_then_cut_off(tmp_path: Path) -> None:
    nonsense = ["", "{", "[]", '{"type":"nope"}', '{"a":' * 100_000, '{"type":"ready","seen":{"x":NaN}}']
    async with served(tmp_path) as site:
        await site.log_in()
        async with site.connect() as socket:
            with anyio.fail_after(30), pytest.raises(websockets.ConnectionClosed):
                for text in nonsense:
                    await socket.send(text)
                while True:
                    await socket.recv()
        async with site.connect() as socket:
            talk = Talk(socket)
            await talk.send("ready")
            await talk.frame("state")


async def test_a_frame_that_is_too_large_closes_only_that_socket(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        async with site.connect() as good, site.connect() as bad:
            with anyio.fail_after(30), pytest.raises(websockets.ConnectionClosed):
                await bad.send("x" * (33 * 1024 * 1024))
                await bad.recv()
            talk = Talk(good)
            await talk.send("ready")
            await talk.frame("state")


async def test_an_answer_counts_only_in_the_conversation_that_asked(tmp_path: Path) -> None:
    asked = PermissionAsked(request_id="r1", use=ToolUse("t", "Bash", {"command": "ls"}))
    async with served(tmp_path, [[asked]]) as site:
        await site.log_in()
        async with site.connect() as socket:
            talk = Talk(socket)
            mine = await talk.fresh()
            other = await talk.fresh()
            await talk.send("switchConversation", conversation=mine)
            await talk.send("sendMessage", conversation=mine, text="go")
            await talk.chunk("tool_confirmation")
            await talk.send("toolApproval", conversation=other, requestId="r1", outcome="allow")
            assert "answered already" in (await talk.frame("problem"))["message"]
            await talk.send("toolApproval", conversation=mine, requestId="r1", outcome="reject", reason="no")
            await talk.chunk("turn_end")
            await talk.send("toolApproval", conversation=mine, requestId="r1", outcome="allow")
            assert "answered already" in (await talk.frame("problem"))["message"]
        answers = [c for c in site.agents[0].commands if type(c).__name__ == "PermissionAnswered"]
        assert [a.behavior for a in answers] == ["deny"]


async def test_the_cookie_of_one_host_is_nothing_to_another(tmp_path: Path) -> None:
    async with served(tmp_path) as one, served(tmp_path) as other:
        value = (await one.log_in()).split(";")[0].split("=", 1)[1]
        assert (await other.get("/", Cookie=f"weft-{other.host.port}={value}"))[0] == 401


async def test_a_port_that_is_taken_is_said_so(tmp_path: Path) -> None:
    taken = LoopbackServer()
    hub = Hub(Folders([tmp_path]), lambda opening: ScriptedConnection())
    with pytest.raises(TransportError) as error:
        WebHost(hub, port=taken.port)
    assert "Leave the port out" in str(error.value.hint)
    taken.close()


async def test_connections_that_never_finish_their_head_hold_nobody_up(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(50):
                stream = await anyio.connect_tcp("127.0.0.1", site.host.port)
                await stack.enter_async_context(stream)
                await stream.send(b"GET / HTTP/1.1\r\nHost:")
            with anyio.fail_after(30):
                assert (await site.get("/", Cookie=site.cookie))[0] == 200


async def test_a_frame_that_is_not_masked_closes_the_socket(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        head = (
            f"GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{site.host.port}\r\nOrigin: http://127.0.0.1:{site.host.port}\r\n"
            f"Cookie: {site.cookie}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        async with await anyio.connect_tcp("127.0.0.1", site.host.port) as stream:
            await stream.send(head.encode())
            with anyio.fail_after(30), contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                assert b" 101 " in await stream.receive()
                await stream.send(b"\x81\x02{}")
                while True:
                    await stream.receive()


@pytest.mark.parametrize("heads", [(b"",), (b"GET / HTTP/1.1\r\nHost:",), (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"G")])
async def test_a_head_that_does_not_come_whole_in_time_ends_its_connection(heads: tuple[bytes, ...]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    server = LoopbackServer(head_limit=0.3 if len(heads) == 1 else 2.0)
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, app)
        data = b""
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
                for head in heads[:-1]:
                    await stream.send(head)
                    data += await stream.receive()
                await stream.send(heads[-1])
                with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    while True:
                        data += await stream.receive()
        assert data.endswith(b"Content-Length: 0\r\n\r\n")
        assert data.count(b" 408 ") == 1
        assert data.count(b" 204 ") == len(heads) - 1
        group.cancel_scope.cancel()
    server.close()


async def test_a_socket_outlives_the_time_limit_of_heads(tmp_path: Path) -> None:
    async with served(tmp_path, head_limit=2.0) as site:
        await site.log_in()
        async with site.connect() as socket:
            with anyio.fail_after(30):
                async with await anyio.connect_tcp("127.0.0.1", site.host.port) as slow:
                    assert b" 408 " in await slow.receive()
            talk = Talk(socket)
            await talk.send("ready")
            await talk.frame("state")


async def test_pieces_and_a_flood_of_pings_do_no_harm(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        await site.log_in()
        async with site.connect() as socket:
            for _ in range(2_000):
                await socket.ping()
            await socket.send(['{"type":', '"rea', 'dy"}'])
            await Talk(socket).frame("state")
            # The same number twice, and one that is beyond all reason.
            talk = Talk(socket)
            for request in (7, 7, 2**63):
                await talk.send("searchConversations", request=request, query="x")
            answers = [await talk.until(lambda f: f["type"] in ("reply", "problem")) for _ in range(3)]
            assert [answer.get("request") for answer in answers[:2]] == [7, 7]
            assert answers[2].get("request") == 2**63 or answers[2]["type"] == "problem"
