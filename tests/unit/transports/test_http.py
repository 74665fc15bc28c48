"""The client and the server on loopback, against each other and against raw sockets."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import anyio
import anyio.abc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import __version__
from weft.errors import RemoteProtocolError, TransportError, TransportTimeout
from weft.protocols.http_body import ChunkedBody, LengthBody
from weft.transports.http import HttpClient, HttpLimits
from weft.transports.http_proxy import Proxy, proxy_for
from weft.transports.http_server import Exchange, HttpServer, ServerLimits


async def echo(exchange: Exchange) -> None:
    await exchange.respond(200, exchange.request.body, {"x-target": exchange.request.target})


@asynccontextmanager
async def raw_server(answer: Callable[[anyio.abc.SocketStream], object]) -> AsyncIterator[str]:
    """A server that writes exactly what it is told."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await answer(stream)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            yield f"http://127.0.0.1:{port}"
            tasks.cancel_scope.cancel()
    await listener.aclose()


async def test_a_request_and_its_answer() -> None:
    seen: list[dict[str, str]] = []

    async def handler(exchange: Exchange) -> None:
        seen.append(exchange.request.headers)
        await echo(exchange)

    with anyio.fail_after(30):
        async with HttpServer(handler) as server, HttpClient() as client:
            async with await client.send("POST", server.url + "/a?b=c", {"X-Key": "k"}, b"hello") as response:
                assert (response.status, response.headers["x-target"]) == (200, "/a?b=c")
                assert await response.read() == b"hello"
    assert seen[0]["user-agent"] == f"weft/{__version__}"
    assert seen[0]["x-key"] == "k" and seen[0]["content-length"] == "5"
    assert "accept-encoding" not in seen[0]


async def test_the_connection_is_used_again_and_a_dead_one_is_replaced() -> None:
    with anyio.fail_after(30):
        async with HttpClient() as client:
            async with HttpServer(echo) as server:
                for text in (b"one", b"two"):
                    async with await client.send("POST", server.url, body=text) as response:
                        assert await response.read() == text
                port = server.port
            async with HttpServer(echo, port=port) as server:
                async with await client.send("POST", server.url, body=b"three") as response:
                    assert await response.read() == b"three"


async def test_a_stream_is_read_as_it_is_written_and_no_faster() -> None:
    go = anyio.Event()
    written = 0

    async def handler(exchange: Exchange) -> None:
        nonlocal written
        await exchange.start(200)
        await exchange.write(b"first")
        await go.wait()
        for _ in range(1000):
            await exchange.write(b"x" * 65536)
            written += 1
        await exchange.end()

    with anyio.fail_after(30):
        async with HttpServer(handler) as server, HttpClient() as client:
            async with await client.send("GET", server.url) as response:
                assert await response.receive() == b"first"
                go.set()
                assert await response.receive()
                await anyio.wait_all_tasks_blocked()
                assert written < 900
                assert len(await response.read(100 * 65536)) == 100 * 65536


async def test_leaving_early_closes_the_socket_and_ends_the_handler() -> None:
    ended = anyio.Event()

    async def handler(exchange: Exchange) -> None:
        try:
            await exchange.start(200)
            await exchange.write(b"first")
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.fail_after(30):
        async with HttpServer(handler) as server, HttpClient() as client:
            with anyio.CancelScope() as scope:
                async with await client.send("GET", server.url) as response:
                    await response.receive()
                    scope.cancel()
                    await response.receive()
            await ended.wait()


async def test_silence_has_a_limit() -> None:
    async def silent(exchange: Exchange) -> None:
        if exchange.request.path == "/stream":
            await exchange.start(200)
            await exchange.write(b"first")
        await anyio.sleep_forever()

    limits = HttpLimits(first_byte=0.05, idle=0.05)
    with anyio.fail_after(30):
        async with HttpServer(silent) as server, HttpClient(limits=limits) as client:
            with pytest.raises(TransportTimeout, match="no answer"):
                await client.send("GET", server.url)
            response = await client.send("GET", server.url + "/stream")
            assert await response.receive() == b"first"
            with pytest.raises(TransportTimeout, match="silent"):
                await response.receive()


async def test_nothing_listening_is_said_plainly() -> None:
    async with HttpClient() as client:
        with pytest.raises(TransportError, match=r"cannot connect to http://127\.0\.0\.1:1: .*refused"):
            await client.send("GET", "http://127.0.0.1:1")


@pytest.mark.parametrize("url", ["ftp://x", "http://", "nonsense", "http://x:port", "http://[::1"])
async def test_what_is_no_address_is_refused(url: str) -> None:
    async with HttpClient() as client:
        with pytest.raises(TransportError, match="not an address"):
            await client.send("GET", url)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000,
        b"",
    ],
)
async def test_an_answer_that_is_cut_or_broken_is_an_error_of_ours(answer: bytes) -> None:
    async def write(stream: anyio.abc.SocketStream) -> None:
        await stream.send(answer)

    async with raw_server(write) as url, HttpClient() as client:
        with pytest.raises(TransportError):
            async with await client.send("GET", url) as response:
                await response.read()


async def test_an_answer_that_comes_before_the_body_was_read_is_heard() -> None:
    async def refuse(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig")
        await anyio.sleep_forever()

    async with raw_server(refuse) as url, HttpClient() as client:
        async with await client.send("POST", url, body=b"x" * 30_000_000) as response:
            assert response.status == 413


async def test_a_body_without_length_ends_with_the_connection() -> None:
    async def write(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it")

    async with raw_server(write) as url, HttpClient() as client:
        async with await client.send("GET", url) as response:
            assert await response.read() == b"all of it"


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"host": "127.0.0.1.evil.example:80"}, {"origin": "http://evil.example"}],
)
async def test_the_server_refuses_pages_and_other_names(headers: dict[str, str]) -> None:
    with anyio.fail_after(30):
        async with HttpServer(echo) as server, HttpClient() as client:
            async with await client.send("GET", server.url, headers) as response:
                assert response.status == 403


async def test_the_server_limits_bodies_and_survives_a_failing_handler() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/fail":
            raise ValueError("boom")
        await echo(exchange)

    with anyio.fail_after(30):
        async with HttpServer(handler, limits=ServerLimits(body=10)) as server, HttpClient() as client:
            async with await client.send("POST", server.url, body=b"x" * 11) as response:
                assert response.status == 413
            async with await client.send("GET", server.url + "/fail") as response:
                assert response.status == 500
            async with await client.send("POST", server.url, body=b"fine") as response:
                assert await response.read() == b"fine"


async def test_a_plain_request_goes_through_the_proxy_with_its_whole_address() -> None:
    with anyio.fail_after(30):
        async with HttpServer(lambda exchange: echo(exchange)) as server:
            proxied: list[str] = []

            async def write(stream: anyio.abc.SocketStream) -> None:
                await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

            async with raw_server(write) as proxy, HttpClient(env={"http_proxy": proxy}) as client:
                async with await client.send("GET", "http://model.example/v1") as response:
                    proxied.append((await response.read()).decode())
                async with await client.send("POST", server.url, body=b"direct") as response:
                    assert await response.read() == b"direct"
            assert proxied == ["ok"]


async def test_a_proxy_that_refuses_a_tunnel_is_named() -> None:
    async def write(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n")

    async with raw_server(write) as proxy, HttpClient(env={"HTTPS_PROXY": proxy}) as client:
        with pytest.raises(TransportError, match=r"proxy 127\.0\.0\.1:\d+ refused .* model\.example:443: 407"):
            await client.send("GET", "https://model.example/")


@pytest.mark.parametrize(
    ("scheme", "host", "env", "expected"),
    [
        ("https", "a.example", {}, None),
        ("https", "a.example", {"HTTPS_PROXY": "http://p:3128"}, Proxy("p", 3128)),
        ("https", "a.example", {"https_proxy": "p"}, Proxy("p", 8080)),
        ("http", "a.example", {"ALL_PROXY": "http://u:p%40@p:1"}, Proxy("p", 1, "Basic dTpwQA==")),
        ("https", "a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, None),
        ("https", "a.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": "b.example, *"}, None),
        ("https", "an.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "n.example"}, Proxy("p", 1)),
        ("http", "localhost", {"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_the_proxy_of_a_host(scheme: str, host: str, env: dict[str, str], expected: Proxy | None) -> None:
    assert proxy_for(scheme, host, env) == expected


@given(st.lists(st.binary(min_size=1)), st.lists(st.integers(0, 200), max_size=10))
def test_any_chunking_of_a_chunked_body_yields_the_same_bytes(parts: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\nrest"
    body, edges, out, rest = ChunkedBody(), sorted({0, len(wire), *(cut for cut in cuts if cut < len(wire))}), b"", b""
    for start, end in pairwise(edges):
        if body.done:
            rest += wire[start:end]
        else:
            out += body.feed(wire[start:end])
            rest += body.rest
    assert body.done and out == b"".join(parts) and rest == b"rest"


def test_a_short_body_is_told() -> None:
    for body in (LengthBody(3), ChunkedBody()):
        body.feed(b"1\r")
        with pytest.raises(RemoteProtocolError):
            body.finish()
