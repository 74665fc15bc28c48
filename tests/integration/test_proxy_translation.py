"""Either dialect in, either out."""

from typing import Any

import pytest

from tests.integration.proxying import KEY, Stage, chat, messages
from weft.schema.content import Text, Thinking, ToolUse
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import Answer, FakeAnthropic, fail
from weft.testing.fake_openai import FakeOpenAI

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
TOOL = {"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {"p": {}}}}
USAGE = Usage(input_tokens=70, output_tokens=9, cache_read_input_tokens=30)
REPLY = Answer(blocks=(Thinking("hm"), Text("I look"), ToolUse("call_1", "Read", {"p": "a.py"})), usage=USAGE)


def conversation() -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "call_0", "name": "Read", "input": {"p": "b"}}
    result = {"type": "tool_result", "tool_use_id": "call_0", "content": "text of b"}
    return [
        {"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE]},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}, use]},
        {"role": "user", "content": [result]},
    ]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_program_of_the_messages_api_works_on_an_openai_server(stream: bool) -> None:
    async with FakeOpenAI([REPLY], key=KEY) as server, Stage(server, models={"*": "local-model"}) as stage:
        body = {
            **messages("claude-sonnet-5", stream=stream, tools=[TOOL], system="be brief"),
            "messages": conversation(),
        }
        found = await stage.ask("/v1/messages", body)
        (call,) = stage.calls()
    sent = server.requests[0].body
    assert sent["model"] == "local-model" and server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert sent["messages"][1]["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert sent["messages"][2]["tool_calls"][0]["function"]["name"] == "Read"
    assert sent["messages"][3] == {"role": "tool", "tool_call_id": "call_0", "content": "text of b"}
    assert sent["tools"][0]["function"]["parameters"] == TOOL["input_schema"]
    if stream:
        kinds = [event["type"] for event in found.events]
        assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"]
        starts = [event["content_block"]["type"] for event in found.events if event["type"] == "content_block_start"]
        assert starts == ["thinking", "text", "tool_use"]
        last = found.events[-2]
        assert last["delta"]["stop_reason"] == "tool_use"
    else:
        last = found.json
        assert [block["type"] for block in last["content"]] == ["thinking", "text", "tool_use"]
        assert last["content"][2]["input"] == {"p": "a.py"} and last["stop_reason"] == "tool_use"
    assert last["usage"]["input_tokens"] == 70 and last["usage"]["cache_read_input_tokens"] == 30
    assert (call.input_tokens, call.output_tokens, call.cache_read_tokens) == (70, 9, 30)
    assert (call.model, call.asked) == ("local-model", "claude-sonnet-5")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_program_of_the_chat_api_works_on_an_anthropic_server(stream: bool) -> None:
    async with FakeAnthropic([REPLY], key=KEY) as server, Stage(server) as stage:
        function = {"name": "Read", "description": "reads", "parameters": TOOL["input_schema"]}
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
        calls = [{"id": "call_0", "type": "function", "function": {"name": "Read", "arguments": '{"p":"b"}'}}]
        history = [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
            {"role": "assistant", "content": "yes", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_0", "content": "text of b"},
        ]
        body = {
            **chat("claude-sonnet-4-5", stream=stream, tools=[{"type": "function", "function": function}]),
            "messages": history,
            "stream_options": {"include_usage": True},
        }
        found = await stage.ask("/v1/chat/completions", body, headers={"authorization": f"Bearer {stage.grant.nonce}"})
        (call,) = stage.calls()
    sent = server.requests[0].body
    assert server.requests[0].headers["x-api-key"] == KEY and sent["system"][0]["text"] == "be brief"
    assert sent["messages"][0]["content"][1]["source"]["data"] == "aGk="
    assert sent["messages"][1]["content"][1]["input"] == {"p": "b"}
    assert sent["messages"][2]["content"][0]["tool_use_id"] == "call_0"
    if stream:
        assert found.data.endswith(b"data: [DONE]\n\n")
        finish = [choice["finish_reason"] for event in found.events for choice in event["choices"]]
        assert finish[-1] == "tool_calls"
        usage = found.events[-1]["usage"]
        names = [
            one["function"].get("name")
            for event in found.events
            for choice in event["choices"]
            for one in choice["delta"].get("tool_calls", [])
        ]
        assert names[0] == "Read"
    else:
        usage = found.json["usage"]
        message = found.json["choices"][0]["message"]
        assert message["tool_calls"][0]["function"]["arguments"] == '{"p":"a.py"}'
        assert message["reasoning_content"] == "hm" and message["content"] == "I look"
    assert usage["prompt_tokens"] == 100 and usage["completion_tokens"] == 9
    assert call.dollars is not None and call.output_tokens == 9


async def test_errors_are_spelled_in_the_dialect_of_the_client() -> None:
    async with FakeOpenAI([fail(404, "model_not_found", "no such model")]) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages())
        assert found.status == 404
        assert found.json == {"type": "error", "error": {"type": "not_found_error", "message": "no such model"}}
    async with FakeAnthropic([fail(400, "invalid_request", "odd")]) as server, Stage(server) as stage:
        found = await stage.ask("/v1/chat/completions", chat())
        assert found.status == 400 and found.json["error"]["code"] == "invalid_request_error"


async def test_a_retry_is_told_and_an_error_in_the_middle_ends_the_stream() -> None:
    script = [fail(503, "overloaded"), Answer(blocks=(Text("words " * 40),), error_after=4, error="overloaded")]
    async with FakeOpenAI(script) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages", messages())
        (call,) = stage.calls()
    assert found.data.startswith(b": retry 1 of 2") and found.events[0] == {"type": "ping"}
    assert found.events[-1]["type"] == "error" and call.retries == 1 and call.error
    assert len(server.requests) == 2


async def test_counts_and_models_of_the_other_dialect() -> None:
    async with FakeOpenAI(models=("m1", "m2"), key=KEY) as server, Stage(server) as stage:
        found = await stage.ask("/v1/messages/count_tokens", messages())
        assert 0 < found.json["input_tokens"] < 20
        headers = {"x-api-key": stage.grant.nonce, "anthropic-version": "2023-06-01"}
        listed = (await stage.ask("/v1/models", headers=headers)).json
        assert [model["id"] for model in listed["data"]] == ["m1", "m2"] and listed["has_more"] is False
    async with FakeAnthropic(models=("c1",), key=KEY) as server, Stage(server) as stage:
        headers = {"authorization": f"Bearer {stage.grant.nonce}"}
        listed = (await stage.ask("/v1/models", headers=headers)).json
        assert listed["object"] == "list" and [model["id"] for model in listed["data"]] == ["c1"]
        found = await stage.ask("/v1/embeddings", {"model": "e", "input": "x"}, headers=headers)
        assert found.status == 404


async def test_with_two_servers_the_model_decides() -> None:
    async with FakeAnthropic(["a"] * 2, key=KEY) as one, FakeOpenAI(["o"] * 2, key=KEY) as two:
        async with Stage(one, two, models={"small": "openai:tiny"}) as stage:
            assert (await stage.ask("/v1/chat/completions", chat("claude-haiku-4-5"))).status == 200
            assert (await stage.ask("/v1/messages", messages("small"))).status == 200
            assert (await stage.ask("/v1/chat/completions", chat("unknown"))).status == 200
    assert [request.body["model"] for request in one.requests] == ["claude-haiku-4-5"]
    assert [request.body["model"] for request in two.requests] == ["tiny", "unknown"]
