"""Attacks on the proxy: the cases 37 to 42 and 44, smuggling, sizes and slow clients."""

import logging
import os
import re
import socket
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.integration.proxying import KEY, Stage, chat, messages
from weft.proxy.calls import CallLog
from weft.proxy.policy import Policy
from weft.testing.fake_anthropic import Answer, FakeAnthropic, fail
from weft.testing.fake_openai import FakeOpenAI
from weft.transports.http_server import ServerLimits

SMALL = ServerLimits(head=8192, body=100_000, request=0.2, keep_alive=0.3)


@asynccontextmanager
async def raw(stage: Stage) -> AsyncIterator[anyio.abc.SocketStream]:
    async with await anyio.connect_tcp("127.0.0.1", stage.proxy.port) as stream:
        yield stream


async def said(stream: anyio.abc.ByteReceiveStream) -> bytes:
    """All that comes until the proxy closes."""
    found = b""
    with anyio.fail_after(30):
        try:
            while True:
                found += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return found


# --- 37: tokens ---------------------------------------------------------------------------------------------------


async def test_no_token_a_wrong_one_and_one_in_the_address_are_refused() -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server) as stage:
        nonce = stage.grant.nonce
        tries: list[tuple[str, dict[str, str]]] = [
            ("/v1/messages", {}),
            ("/v1/messages", {"x-api-key": ""}),
            ("/v1/messages", {"x-api-key": nonce[:-1]}),
            ("/v1/messages", {"x-api-key": nonce + "x"}),
            ("/v1/messages", {"x-api-key": nonce.upper()}),
            ("/v1/messages", {"x-api-key": KEY}),
            ("/v1/messages", {"authorization": f"Basic {nonce}"}),
            ("/v1/messages", {"authorization": nonce}),
            ("/v1/messages", {"cookie": f"x-api-key={nonce}"}),
            (f"/v1/messages?key={nonce}&x-api-key={nonce}", {}),
            (f"/v1/messages?api_key={nonce}", {"x-api-key": "no"}),
        ]
        for path, headers in tries:
            found = await stage.ask(path, messages(), headers=headers)
            assert found.status == 401 and found.json["error"]["type"] == "authentication_error"
            assert nonce.encode() not in found.data
        assert not server.requests


async def test_the_time_of_a_refusal_does_not_tell_how_much_was_right() -> None:
    async with FakeAnthropic() as server, Stage(server) as stage:
        nonce = stage.grant.nonce
        nearly, wrong = nonce[:-1] + "!", "!" * len(nonce)
        times: dict[str, list[float]] = {nearly: [], wrong: []}
        for _ in range(400):
            for given in (nearly, wrong):
                begun = time.perf_counter()
                assert stage.proxy._nonces.find(given) is None
                times[given].append(time.perf_counter() - begun)
        a, b = (statistics.median(found) for found in times.values())
        assert abs(a - b) < max(a, b)


# --- 38, 39: pages and names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil", "http://127.0.0.1:1"])
async def test_a_web_page_is_refused_even_with_the_nonce(origin: str) -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages(), headers={"x-api-key": stage.grant.nonce, "origin": origin})
        assert found.status == 403 and "access-control-allow-origin" not in found.headers
        preflight = await stage.ask("/v1/messages", headers={"origin": origin}, method="OPTIONS")
        assert preflight.status == 403 and not server.requests


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0", ""])
async def test_a_name_that_was_rebound_to_this_machine_is_refused(host: str) -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server) as stage, raw(stage) as stream:
        head = f"POST /v1/messages HTTP/1.1\r\nhost: {host}\r\nx-api-key: {stage.grant.nonce}\r\n"
        await stream.send(head.encode() + b"content-length: 2\r\n\r\n{}")
        assert (await said(stream)).startswith(b"HTTP/1.1 403") and not server.requests


# --- 40: where it listens and what it writes ------------------------------------------------------------------------


async def test_it_listens_on_loopback_alone_and_its_log_is_private(tmp_path: Path) -> None:
    async with FakeAnthropic(["hi"] * 2) as server, Stage(server) as stage, Stage(server) as other:
        assert stage.proxy.port != other.proxy.port and stage.grant.nonce != other.grant.nonce
        own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        for address in own - {"127.0.0.1"}:
            if not address.startswith("127."):
                with pytest.raises(OSError):
                    await anyio.connect_tcp(address, stage.proxy.port)
        await stage.ask("/v1/messages", messages())
        folder = Path(os.environ["HOME"]) / ".weft" / "proxy"
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "proxy").symlink_to(elsewhere)
    (call,) = stage.calls()
    from weft.errors import SettingsError

    with pytest.raises(SettingsError):
        CallLog(home).write(call)
    assert not list(elsewhere.iterdir())


# --- 41: sizes, slowness, strange JSON, smuggling -------------------------------------------------------------------


async def test_heads_and_bodies_that_are_too_large_are_refused() -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server, limits=SMALL) as stage:
        found = await stage.ask("/v1/messages", messages(), headers={"x-api-key": stage.grant.nonce, "x": "y" * 9000})
        assert found.status in (400, 431)
        found = await stage.ask("/v1/messages", {**messages(), "pad": "x" * 200_000})
        assert found.status == 413 and not server.requests


async def test_slow_clients_are_left() -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server, limits=SMALL) as stage:
        async with raw(stage) as stream:
            await stream.send(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            assert await said(stream) == b""
        async with raw(stage) as stream:
            head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {stage.grant.nonce}\r\n"
            await stream.send(head.encode() + b"content-length: 50\r\n\r\n{")
            assert not (await said(stream)).startswith(b"HTTP/1.1 200")
        assert not server.requests


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b'{"model":1}', b'{"model":""}', b'{"model":NaN}', b'"x"', b"\xff\xfe",
     b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b'{"model":"m","messages":' + b"[" * 100_000],
)  # fmt: skip
async def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", body)
        assert found.status == 400 and found.json["type"] == "error" and not server.requests


@pytest.mark.parametrize(
    "lines",
    [
        "content-length: 4\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 4",
        "content-length: 4\r\ncontent-length: 40",
        "content-length: +4",
        "content-length: 0x4",
        "transfer-encoding: xchunked",
        "transfer-encoding: chunked, identity",
        "transfer-encoding : chunked",
        "transfer-encoding:\r\n chunked",
        "x: a\r\n transfer-encoding: chunked",
        "x-api-key: first\r\nx-api-key: second\r\ncontent-length: 4",
        "authorization: Bearer a\r\nauthorization: Bearer b\r\ncontent-length: 4",
        "origin: http://127.0.0.1\r\norigin: http://evil\r\ncontent-length: 4",
        "host: evil\r\ncontent-length: 4",
        "x\x00y: z\r\ncontent-length: 4",
        "bad header\r\ncontent-length: 4",
    ],
)
async def test_a_request_that_can_be_read_in_two_ways_is_refused_and_nothing_after_it_is_read(lines: str) -> None:
    async with FakeAnthropic(["hi"] * 9) as server, Stage(server) as stage, raw(stage) as stream:
        body = b'{"model":"m","messages":[],"max_tokens":1}'
        second = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {stage.grant.nonce}\r\n"
        smuggled = second.encode() + b"content-length: %d\r\n\r\n" % len(body) + body
        first = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n{lines}\r\n\r\n"
        await stream.send(first.encode("latin-1") + b"0\r\n\r\n" + smuggled)
        answer = await said(stream)
        assert re.match(rb"HTTP/1\.1 (400|403|501) ", answer), answer[:80]
        assert answer.count(b"HTTP/1.1 ") == 1 and not server.requests


async def test_only_the_listed_addresses_are_answered() -> None:
    async with FakeAnthropic(["hi"]) as server, Stage(server) as stage:
        paths = [
            "/", "/v1", "/v1/files", "/v1/messages/batches", "/v1/organizations", "/v1/messages/../files",
            "//v1/messages", "/v1/models/../files", "/v1/models/%2e%2e/files", "/v1/messages/", "/v1/%6dessages",
            "/v1/models/a/b",
        ]  # fmt: skip
        for path in paths:
            assert (await stage.ask(path, messages())).status == 404, path
        assert (await stage.ask("/v1/messages", method="DELETE")).status == 405
        assert not server.requests and not server.others


async def test_an_answer_cannot_break_out_of_its_head() -> None:
    hostile = Answer(headers={"set-cookie": "a=b", "x-note": "fine", "www-authenticate": "Basic"})
    async with FakeAnthropic([hostile]) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages())
        assert found.headers["x-note"] == "fine"
        assert not {"set-cookie", "www-authenticate"} & set(found.headers)


# --- 42: replay ----------------------------------------------------------------------------------------------------


async def test_a_nonce_is_worthless_when_its_child_ended_or_its_time_ran_out() -> None:
    async with FakeAnthropic(["hi"] * 9) as server, Stage(server) as stage:
        other = stage.proxy.issue("other")
        stage.proxy.revoke(stage.grant)
        assert (await stage.ask("/v1/messages", messages())).status == 401
        headers = {"x-api-key": other.nonce}
        assert (await stage.ask("/v1/messages", messages(), headers=headers)).status == 200
        assert [call.who for call in stage.calls()] == ["other"]
        short = stage.proxy.issue("short", Policy(seconds=0.0))
        assert (await stage.ask("/v1/messages", messages(), headers={"x-api-key": short.nonce})).status == 401
        async with Stage(server) as next_one:
            assert (await next_one.ask("/v1/messages", messages(), headers=headers)).status == 401


async def test_each_nonce_has_its_own_account() -> None:
    async with FakeAnthropic(["hi"] * 9) as server, Stage(server, policy=Policy(tokens=50)) as stage:
        assert (await stage.ask("/v1/messages", messages())).status == 200
        assert (await stage.ask("/v1/messages", messages())).status == 402
        other = stage.proxy.issue("other", Policy(tokens=50))
        assert (await stage.ask("/v1/messages", messages(), headers={"x-api-key": other.nonce})).status == 200


# --- 44: the real key --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
@pytest.mark.parametrize("dialect", [FakeAnthropic, FakeOpenAI])
@pytest.mark.parametrize("stream", [True, False])
async def test_the_real_key_is_in_nothing_that_leaves(
    path: str, dialect: type[FakeAnthropic | FakeOpenAI], stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that repeats the key wherever it can: in errors, pages, headers, texts, cut anywhere."""
    caplog.set_level(logging.DEBUG)
    from base64 import b64encode
    from urllib.parse import quote

    coded = b64encode(KEY.encode()).decode()
    script = [
        fail(401, "authentication_failed", f"the key {KEY} is wrong", headers={"x-echo": KEY, "request-id": KEY}),
        fail(400, "invalid_request", f"Authorization: Bearer {KEY} {coded}"),
        Answer(status=500, body=f"<html>{KEY}</html>".encode(), headers={"content-type": "text/html"}),
        Answer(status=200, body=f"{KEY} is no JSON".encode()),
        *[Answer(blocks=(_text(f"a key: {KEY}{quote(KEY)} and {coded}"),), piece=piece) for piece in (1, 5, 0)],
        Answer(blocks=(_text(KEY),), error_after=1, error="server_error", message=f"it was {KEY}"),
    ]
    async with dialect(script) as server, Stage(server, retries=_never(), bodies=True) as stage:
        body = messages(stream=stream) if path == "/v1/messages" else chat(stream=stream)
        for _ in script:
            await stage.ask(path, body)
        assert len(server.requests) == len(script)
        assert any(KEY in repr(request.headers) for request in server.requests)
        logged = b"".join(file.read_bytes() for file in (Path(os.environ["HOME"]) / ".weft" / "proxy").iterdir())
    for place in (bytes(stage.seen), logged, caplog.text.encode()):
        assert KEY.encode() not in place and coded.rstrip("=").encode() not in place
        assert stage.grant.nonce.encode() not in logged
    assert b"******" in stage.seen


def _text(text: str) -> object:
    from weft.schema.content import Text

    return Text(text)


def _never() -> object:
    from weft.providers.retry import RetryPolicy

    return RetryPolicy(max_retries=0)
