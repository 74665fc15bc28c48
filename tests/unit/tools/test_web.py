"""WebFetch and WebSearch on loopback servers, and what is refused."""

import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from weft.errors import ToolError, TransportError
from weft.testing.tool_context import fake_tool_context
from weft.testing.workspace import MemoryWorkspace
from weft.tools.addresses import is_public, public_address
from weft.tools.port import Result
from weft.tools.web_fetch import WebFetch
from weft.tools.web_page import without_noise
from weft.tools.web_search import WebSearch, to_hits

Answers = Mapping[str, bytes]


@asynccontextmanager
async def site(answers: Answers) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that answers each path with these bytes, whole, and keeps the paths."""
    asked: list[str] = []
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = int(listener.extra(anyio.abc.SocketAttribute.local_port))

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            path = head.split(b" ")[1].decode()
            asked.append(path)
            await stream.send(answers[path])

    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield port, asked
        group.cancel_scope.cancel()
    await listener.aclose()


def answer(body: bytes, kind: str = "text/html", status: str = "200 OK", *extra: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close", *extra]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def loopback(_host: str, _port: int) -> str:
    return "127.0.0.1"


async def fetch(tool: WebFetch, url: str) -> Result:
    with anyio.fail_after(30):
        return await tool.run(tool.decode({"url": url, "prompt": "?"}), fake_tool_context(MemoryWorkspace()))


async def test_a_page_comes_as_markdown_without_its_noise_and_is_kept() -> None:
    page = b"<html><script>evil()</script><nav>menu</nav><h1>Title</h1><p>a <b>word</b></p><footer>end</footer>"
    packed = gzip.compress(page)
    async with site({"/a": answer(packed, "text/html", "200 OK", "content-encoding: gzip")}) as (port, asked):
        tool = WebFetch(loopback)
        for _ in range(2):
            result = await fetch(tool, f"http://example.test:{port}/a")
            assert str(result.content).startswith("# Title\n\na **word**\n")
            assert "evil" not in str(result.content) and "menu" not in str(result.content)
        assert asked == ["/a"]


async def test_a_redirect_within_the_host_is_followed_and_one_elsewhere_is_told() -> None:
    async with site(
        {
            "/a": answer(b"", "text/html", "302 Found", "location: /b"),
            "/b": answer(b"plain", "text/plain"),
            "/c": answer(b"", "text/html", "301 Moved", "location: https://elsewhere.test/x"),
        }
    ) as (port, asked):
        tool = WebFetch(loopback)
        assert str((await fetch(tool, f"http://example.test:{port}/a")).content).startswith("plain")
        told = str((await fetch(tool, f"http://example.test:{port}/c")).content)
        assert "redirects to another host: https://elsewhere.test/x" in told
        assert asked == ["/a", "/b", "/c"]


async def test_errors_and_other_kinds_of_content_are_sentences() -> None:
    async with site(
        {"/gone": answer(b"no", "text/plain", "404 Not Found"), "/zip": answer(b"PK", "application/zip")}
    ) as (port, _):
        result = await fetch(WebFetch(loopback), f"http://example.test:{port}/gone")
        assert result.is_error and "status 404" in str(result.content)
        with pytest.raises(ToolError, match="application/zip"):
            await fetch(WebFetch(loopback), f"http://example.test:{port}/zip")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://[::1]:1/",
        "http://169.254.169.254/latest",
        "http://0.0.0.0/",
    ],
)
async def test_this_machine_and_its_network_are_refused(url: str) -> None:
    with pytest.raises(ToolError, match="private network"):
        await fetch(WebFetch(), url)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "example.com", "http://user:pw@example.com/"])
async def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(ToolError, match=r"web address|password"):
        await fetch(WebFetch(), url)


async def test_the_address_that_was_judged_is_the_one_that_is_used() -> None:
    """A name that leads to loopback is refused before any connection, whatever it is called."""
    with pytest.raises(TransportError, match="private network"):
        await public_address("localhost", 80)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("10.0.0.1", False),
        ("192.168.1.1", False),
        ("172.16.0.1", False),
        ("100.64.0.1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("224.0.0.1", False),
        ("not an address", False),
    ],
)
def test_only_the_open_internet_is_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_noise_is_removed_in_linear_time() -> None:
    assert without_noise("a<SCRIPT x>1</script >b<style>2</style>c<nav/>d") == "abc<nav/>d"
    page = "<script>" * 200_000
    assert without_noise(page) == page


async def test_a_search_asks_the_endpoint_of_the_settings() -> None:
    body = b'{"results":[{"title":"A","url":"https://a.test/x","content":"about a"},{"title":"B","url":"https://b.test/"}]}'
    async with site({"/s?q=two+words": answer(body, "application/json")}) as (port, _):
        settings: dict[str, object] = {"webSearch": {"url": f"http://127.0.0.1:{port}/s?q={{query}}"}}
        tool = WebSearch()
        with anyio.fail_after(30):
            result = await tool.run(
                tool.decode({"query": "two words", "blocked_domains": ["b.test"]}),
                fake_tool_context(MemoryWorkspace(), settings=settings),
            )
    assert result.content == "1. A\n   https://a.test/x\n   about a"


async def test_without_an_endpoint_the_search_says_that_it_is_off() -> None:
    tool = WebSearch()
    with pytest.raises(ToolError, match="web search is off"):
        await tool.run(tool.decode({"query": "weft"}), fake_tool_context(MemoryWorkspace()))


def test_results_of_several_engines_are_read() -> None:
    assert [hit.url for hit in to_hits({"web": {"results": [{"name": "x", "link": "https://x.test"}]}})] == [
        "https://x.test"
    ]
    assert to_hits({"items": [{"url": "javascript:alert(1)"}]}) == []
    assert to_hits("nonsense") == []
