"""Calls through the proxy to a server of the same dialect."""

import anyio
import msgspec
import pytest

from tests.integration.proxying import KEY, Stage, chat, messages, upstream
from weft.proxy.policy import Policy
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import Answer, FakeAnthropic, fail
from weft.testing.fake_openai import FakeOpenAI
from weft.transports.http import HttpClient
from weft.transports.http_server import Exchange, HttpServer


async def test_a_stream_arrives_byte_for_byte_and_is_counted() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200)
    script = [Answer(usage=usage, blocks=()), Answer(usage=usage, blocks=())]
    async with FakeAnthropic(script, key=KEY) as server, Stage(server) as stage, HttpClient() as direct:
        through = await stage.ask("/v1/messages?beta=true", messages())
        headers = {"x-api-key": KEY, "content-type": "application/json"}
        async with await direct.send(
            "POST", server.url + "/v1/messages", headers, msgspec.json.encode(messages())
        ) as it:
            plain = await it.read()
        assert through.status == 200 and through.data == plain.replace(b"msg_002", b"msg_001")
        assert through.headers["request-id"] == "req_001"
        (call,) = stage.calls()
    assert (call.who, call.model, call.status) == ("tester", "claude-haiku-4-5", 200)
    assert (call.input_tokens, call.output_tokens, call.estimated) == (1000, 200, False)
    assert call.dollars == pytest.approx((1000 * 1 + 200 * 5) / 1e6)
    assert server.requests[0].path == "/v1/messages"


async def test_the_server_sees_the_real_key_and_nothing_of_the_client() -> None:
    async with FakeAnthropic(["hi"], key=KEY) as server, Stage(server) as stage:
        headers = {
            "x-api-key": stage.grant.nonce,
            "authorization": f"Bearer {stage.grant.nonce}",
            "cookie": "session=1",
            "user-agent": "other/1.0",
            "x-app": "cli",
            "anthropic-beta": "a-beta",
            "content-type": "application/json",
        }
        assert (await stage.ask("/v1/messages", messages(), headers=headers)).status == 200
    (request,) = server.requests
    assert request.headers["x-api-key"] == KEY and request.headers["anthropic-beta"] == "a-beta"
    assert request.headers["user-agent"].startswith("weft/") and request.headers["anthropic-version"]
    assert not {"authorization", "cookie", "x-app"} & set(request.headers)
    assert stage.grant.nonce not in repr(request)


async def test_an_openai_stream_without_usage_is_estimated() -> None:
    async with FakeOpenAI(["word " * 200], key=KEY) as server, Stage(server) as stage:
        bearer = {"authorization": f"Bearer {stage.grant.nonce}"}
        found = await stage.ask("/v1/chat/completions", chat(), headers=bearer)
        assert found.status == 200 and found.data.endswith(b"data: [DONE]\n\n")
        (call,) = stage.calls()
    assert call.estimated and 50 < call.output_tokens < 800


@pytest.mark.parametrize("stream", [True, False])
async def test_an_overload_is_asked_again_and_the_client_can_see_it(stream: bool) -> None:
    script = [fail(529, "overloaded"), fail(503, "overloaded"), "third time"]
    async with FakeAnthropic(script) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages(stream=stream))
        (call,) = stage.calls()
    assert found.status == 200 and b"third time" in found.data and call.retries == 2
    if stream:
        assert found.data.startswith(b": retry 1 of 2") and found.events[0] == {"type": "ping"}
    else:
        assert found.headers["x-weft-retries"] == "2"


async def test_the_fallback_model_takes_over() -> None:
    script = [fail(529, "overloaded"), fail(529, "overloaded"), "from the other"]
    async with FakeAnthropic(script) as server, Stage(server, fallback="claude-sonnet-4-5") as stage:
        found = await stage.ask("/v1/messages", messages())
        (call,) = stage.calls()
    assert [request.body["model"] for request in server.requests][-1] == "claude-sonnet-4-5"
    assert b"from the other" in found.data and (call.model, call.asked) == ("claude-sonnet-4-5", "claude-haiku-4-5")


async def test_an_error_passes_as_the_server_said_it() -> None:
    script = [fail(400, "invalid_request", "too odd"), fail(429, "rate_limit", headers={"retry-after": "60"})]
    async with FakeAnthropic(script) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages())
        assert found.status == 400 and found.json["error"]["message"] == "too odd"
        found = await stage.ask("/v1/messages", messages())
        assert found.status == 429 and found.headers["retry-after"] == "60"
        assert [call.error for call in stage.calls()] == ["invalid_request", "rate_limit"]


async def test_a_client_that_leaves_ends_the_call_to_the_server_at_once() -> None:
    gone = anyio.Event()
    begun = anyio.Event()

    async def endless(exchange: Exchange) -> None:
        await exchange.start(200, {"content-type": "text/event-stream"})
        try:
            await exchange.write(b"data: {}\n\n")
            begun.set()
            await anyio.sleep_forever()
        finally:
            gone.set()

    async with HttpServer(endless) as server:
        fake = FakeAnthropic()
        up = msgspec.structs.replace(upstream(fake), base_url=server.url)
        async with Stage(upstreams=[up]) as stage:
            response = await stage.open("/v1/messages", messages())
            assert await response.receive() == b"data: {}\n\n"
            await response.aclose()
            with anyio.fail_after(30):
                await gone.wait()
        (call,) = stage.calls()
    assert call.status == 200 and begun.is_set()


async def test_a_client_that_reads_nothing_stops_the_server_and_not_the_proxy() -> None:
    """What lies between them is what the sockets hold: the proxy itself keeps a piece or two."""
    written = [0]

    async def endless(exchange: Exchange) -> None:
        await exchange.start(200, {"content-type": "text/event-stream"})
        while True:
            await exchange.write(b"data: words\n\n" * 4096)
            written[0] += 13 * 4096

    async with HttpServer(endless) as server:
        up = msgspec.structs.replace(upstream(FakeAnthropic()), base_url=server.url)
        async with Stage(upstreams=[up]) as stage:
            response = await stage.open("/v1/messages", messages())
            before = -1
            with anyio.fail_after(30):
                while before != written[0]:
                    before = written[0]
                    await anyio.sleep(0.3)
            assert 0 < written[0] < 30_000_000
            size = 0
            with anyio.fail_after(30):
                while size < 2 * written[0] and size < 60_000_000:
                    size += len(await response.receive())
            assert written[0] > before
            await response.aclose()


async def test_a_cut_of_the_server_is_a_cut_for_the_client() -> None:
    from weft.errors import TransportError

    async with FakeAnthropic([Answer(cut_after=3)]) as server, Stage(server) as stage:
        response = await stage.open("/v1/messages", messages())
        with pytest.raises(TransportError):
            while await response.receive():
                pass
        await response.aclose()
        with anyio.fail_after(30):
            while not stage.calls():
                await anyio.sleep(0.01)
        assert stage.calls()[0].error == "cut"


async def test_a_redirect_is_not_followed() -> None:
    async def away(exchange: Exchange) -> None:
        await exchange.respond(307, b"", {"location": "http://evil.example/"})

    async with HttpServer(away) as server:
        up = msgspec.structs.replace(upstream(FakeAnthropic()), base_url=server.url)
        async with Stage(upstreams=[up], retries=stage_retries()) as stage:
            found = await stage.ask("/v1/messages", messages())
    assert found.status == 502 and "location" not in found.headers and b"evil" not in found.data


def stage_retries() -> object:
    from weft.providers.retry import RetryPolicy

    return RetryPolicy(max_retries=0)


async def test_counts_and_lists_of_models_pass() -> None:
    async with FakeAnthropic(key=KEY, models=("a", "b")) as server, Stage(server) as stage:
        counted = await stage.ask("/v1/messages/count_tokens", messages())
        assert counted.json["input_tokens"] > 0
        headers = {"x-api-key": stage.grant.nonce, "anthropic-version": "2023-06-01"}
        listed = await stage.ask("/v1/models", headers=headers)
        assert [model["id"] for model in listed.json["data"]] == ["a", "b"]
        assert (await stage.ask("/health", headers={})).json["status"] == "ok"


async def test_each_limit_of_a_policy_refuses_before_the_server_is_asked() -> None:
    big = Usage(input_tokens=1_000_000, output_tokens=0)
    async with FakeAnthropic([Answer(usage=big)] * 3, models=("claude-haiku-4-5", "other")) as server:
        up = upstream(server)
        remote = msgspec.structs.replace(up, base_url=server.url.replace("127.0.0.1", "127.0.0.1."))
        assert not remote.local
        async with Stage(server, policy=Policy(models=("claude-haiku-*",))) as stage:
            found = await stage.ask("/v1/messages", messages("claude-opus-4-5"))
            assert found.status == 400 and "not allowed" in found.json["error"]["message"]
            listed = await stage.ask("/v1/models", headers={"x-api-key": stage.grant.nonce})
            assert [model["id"] for model in listed.json["data"]] == ["claude-haiku-4-5"]
        assert not server.requests
        async with Stage(server, policy=Policy(dollars=0.5)) as stage:
            assert (await stage.ask("/v1/messages", messages())).status == 200
            found = await stage.ask("/v1/messages", messages())
            assert found.status == 402 and found.headers["x-should-retry"] == "false"
        async with Stage(server, policy=Policy(tokens=1000)) as stage:
            assert (await stage.ask("/v1/messages", messages())).status == 200
            assert (await stage.ask("/v1/messages", messages())).status == 402
        async with Stage(server, policy=Policy(calls_per_minute=1)) as stage:
            assert (await stage.ask("/v1/messages", messages())).status == 200
            found = await stage.ask("/v1/messages", messages())
            assert found.status == 429 and 0 < int(found.headers["retry-after"]) <= 60
        assert len(server.requests) == 3


async def test_two_models_in_one_body_do_not_pass_a_list_of_models() -> None:
    async with FakeAnthropic(["hi"] * 3) as server, Stage(server, policy=Policy(models=("claude-haiku-*",))) as stage:
        names = b'"model":"claude-opus-4-5","model":"claude-haiku-4-5","Model":"claude-opus-4-5"'
        body = b"{" + names + b',"max_tokens":9,"messages":[]}'
        await stage.ask("/v1/messages", body)
        (request,) = server.requests
        assert [name for name in request.body if name.lower() == "model"] == ["model"]
        assert request.body["model"] == "claude-haiku-4-5"
        found = await stage.ask("/v1/messages", {**messages(), "models": ["claude-opus-4-5"]})
        assert found.status == 400


async def test_connections_to_the_server_are_kept_for_calls_at_once() -> None:
    async with FakeAnthropic(lambda body: Answer(delay=0.002)) as server, Stage(server) as stage:

        async def one() -> None:
            async with HttpClient() as http:
                headers = {"x-api-key": stage.grant.nonce, "content-type": "application/json"}
                url = stage.proxy.url + "/v1/messages"
                async with await http.send("POST", url, headers, msgspec.json.encode(messages())) as response:
                    assert response.status == 200 and await response.read()

        for _ in range(3):
            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    for _ in range(6):
                        tasks.start_soon(one)
        assert len(server.requests) == 18 and server.connections <= 8
