"""What goes wrong between us and a model server: one failure, one sentence, a hint; nothing whole is lost."""

import anyio
import pytest

from weft import __version__
from weft.providers.anthropic import AnthropicProvider
from weft.providers.openai import OpenAIProvider
from weft.providers.port import Provider
from weft.schema.content import Text, ToolUse
from weft.schema.messages import Message, Request, SystemPart, ThinkingConfig, ToolSpec
from weft.schema.stream import BlockDelta, StreamDone, StreamEvent, StreamFailed
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.testing.fake_server import Answer, FakeServer, Script, web_page
from weft.transports.http import HttpLimits

REQUEST = Request("claude-sonnet-4-5", (Message("user", (Text("hi"),)),), max_tokens=1000)
TWO = (Text("first"), Text("second"))
BOTH = pytest.mark.parametrize("dialect", ["anthropic", "openai"])


def fake(dialect: str, script: Script, **more: object) -> FakeServer:
    return FakeAnthropic(script, **more) if dialect == "anthropic" else FakeOpenAI(script, **more)


def provider_at(dialect: str, url: str, limits: HttpLimits | None = None) -> Provider:
    if dialect == "anthropic":
        return AnthropicProvider(key="k", base_url=url, limits=limits)
    return OpenAIProvider(key="k", base_url=url, limits=limits)


async def ask(dialect: str, script: Script, limits: HttpLimits | None = None) -> list[StreamEvent]:
    with anyio.fail_after(30):
        async with fake(dialect, script) as server:
            provider = provider_at(dialect, server.url, limits)
            events = [event async for event in provider.stream(REQUEST)]
            await provider.aclose()
    assert sum(isinstance(event, StreamDone | StreamFailed) for event in events) == 1
    return events


async def failure_of(dialect: str, answer: Answer, limits: HttpLimits | None = None) -> StreamFailed:
    failed = (await ask(dialect, [answer], limits))[-1]
    assert isinstance(failed, StreamFailed), failed
    assert failed.message and "\n" not in failed.message
    return failed


@BOTH
async def test_a_web_page_is_one_clear_sentence_with_a_hint(dialect: str) -> None:
    failed = await failure_of(dialect, web_page())
    assert failed.error == "protocol" and not failed.retryable
    assert "web page" in failed.message and "http://127.0.0.1" in failed.message
    assert failed.hint is not None and "base URL" in failed.hint


@BOTH
async def test_an_empty_body_and_a_wrong_content_type_are_told(dialect: str) -> None:
    empty = await failure_of(dialect, Answer(body=b"", headers={"content-type": "application/json"}))
    assert "empty" in empty.message
    text = await failure_of(dialect, Answer(body=b"hello", headers={"content-type": "text/plain"}))
    assert "text/plain" in text.message and "hello" in text.message
    stream = await failure_of(dialect, Answer(body=b"", headers={"content-type": "text/event-stream"}))
    assert stream.error == "cut" and stream.retryable


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (401, "authentication_failed", True),
        (403, "authentication_failed", False),
        (404, "model_not_found", False),
        (413, "too_large", False),
        (429, "rate_limit", True),
        (500, "server_error", True),
        (529, "overloaded", True),
    ],
)
async def test_every_status_has_its_kind(dialect: str, status: int, kind: str, retryable: bool) -> None:
    answer = Answer(status=status, body=b"{}", headers={"retry-after": "7"})
    failed = await failure_of(dialect, answer)
    assert (failed.error, failed.status, failed.retryable) == (kind, status, retryable)
    assert failed.retry_after == 7.0


@BOTH
async def test_a_cut_keeps_the_blocks_that_were_whole(dialect: str) -> None:
    blocks = (ToolUse("t1", "A", {"a": 1}), ToolUse("t2", "B", {"b": "x" * 100}))
    failed = await failure_of(dialect, Answer(blocks=blocks, piece=10, cut_after=12))
    assert failed.error == "cut" and failed.retryable
    assert failed.partial == blocks[:1]


@BOTH
async def test_an_error_in_the_stream_ends_it(dialect: str) -> None:
    failed = await failure_of(dialect, Answer(blocks=TWO, error="overloaded", message="busy", error_after=3))
    assert failed.message == "busy" and failed.retryable


@BOTH
async def test_silence_is_timed_out(dialect: str) -> None:
    failed = await failure_of(dialect, Answer(blocks=TWO, hang_after=3), HttpLimits(idle=0.05))
    assert failed.error == "timeout" and failed.retryable and "silent" in failed.message


@BOTH
async def test_a_slow_stream_is_shown_as_it_comes(dialect: str) -> None:
    events = await ask(dialect, [Answer(blocks=(Text("abcdef"),), piece=2, delay=0.001)])
    assert sum(isinstance(event, BlockDelta) for event in events) == 3


@BOTH
async def test_a_server_that_does_not_stream_is_read_too(dialect: str) -> None:
    async def whole(server: FakeServer) -> bytes:
        import msgspec

        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        from weft.transports.http import HttpClient

        path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
        async with (
            HttpClient() as client,
            await client.send("POST", server.url + path, body=msgspec.json.encode(body)) as response,
        ):
            return await response.read()

    async with fake(dialect, ["Hello"]) as server:
        body = await whole(server)
    end = (await ask(dialect, [Answer(body=body, headers={"content-type": "application/json"})]))[-1]
    assert isinstance(end, StreamDone) and end.reply.text == "Hello"


@BOTH
async def test_nothing_listening_is_a_failure_with_a_hint(dialect: str) -> None:
    provider = provider_at(dialect, "http://127.0.0.1:1")
    events = [event async for event in provider.stream(REQUEST)]
    assert len(events) == 1 and isinstance(events[0], StreamFailed)
    assert events[0].error == "connection" and events[0].retryable and events[0].hint


@BOTH
async def test_what_is_no_address_is_not_asked_again(dialect: str) -> None:
    events = [event async for event in provider_at(dialect, "nonsense").stream(REQUEST)]
    assert len(events) == 1 and isinstance(events[0], StreamFailed)
    assert "not an address" in events[0].message and not events[0].retryable


@BOTH
async def test_weft_says_who_it_is_whatever_the_headers_say(dialect: str) -> None:
    headers = {"User-Agent": "someone-else/1.0", "X-Team": "a"}
    async with fake(dialect, ["ok"]) as server:
        provider: Provider
        if dialect == "anthropic":
            provider = AnthropicProvider(key="k", base_url=server.url, headers=headers)
        else:
            provider = OpenAIProvider(key="k", base_url=server.url, headers=headers)
        async for _ in provider.stream(REQUEST):
            pass
        await provider.aclose()
    sent = server.requests[0].headers
    assert sent["user-agent"] == f"weft/{__version__}" and sent["x-team"] == "a"


async def test_the_anthropic_request_fits_the_model() -> None:
    request = Request(
        "claude-sonnet-4-5[1m]",
        (Message("user", (Text("hi"),)),),
        system=(SystemPart("s", cache=True),),
        tools=(ToolSpec("Read", "reads", {"type": "object"}),),
        max_tokens=500_000,
        thinking=ThinkingConfig("adaptive", effort="high"),
        betas=("extra-beta",),
    )
    async with FakeAnthropic(["ok"]) as server:
        provider = AnthropicProvider(token="t", base_url=server.url + "/v1/", betas=("mine",))
        async for _ in provider.stream(request):
            pass
        count = await provider.count_tokens(request)
        await provider.aclose()
    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["authorization"] == "Bearer t" and "x-api-key" not in sent.headers
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["anthropic-beta"] == "mine,extra-beta,context-1m-2025-08-07,interleaved-thinking-2025-05-14"
    assert sent.body["model"] == "claude-sonnet-4-5" and sent.body["max_tokens"] == 64_000
    assert sent.body["thinking"] == {"type": "enabled", "budget_tokens": 31_999}
    assert "output_config" not in sent.body
    assert count is not None and count > 0
    assert "max_tokens" not in server.others[0].body


@BOTH
async def test_a_reader_that_stops_at_the_end_leaves_a_connection_for_the_next(dialect: str) -> None:
    async with fake(dialect, ["one", "two", "three"]) as server:
        provider = provider_at(dialect, server.url)
        for _ in range(3):
            async for event in provider.stream(REQUEST):
                if isinstance(event, StreamDone):
                    break
        await provider.aclose()
    assert len(server.requests) == 3 and server.connections == 1
