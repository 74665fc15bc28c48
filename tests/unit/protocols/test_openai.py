"""Chat completions: what leaves, what the many servers send back, and the server's side of both."""

import msgspec
import pytest

from weft.errors import RemoteProtocolError
from weft.protocols.fold import unfold
from weft.protocols.openai_chat import ChatOptions, encode_request, request_body
from weft.protocols.openai_server import ChatEncoder, decode_request, encode_error, encode_reply
from weft.protocols.openai_stream import ChatDecoder, decode_whole
from weft.schema.content import Base64Source, Image, Text, Thinking, ToolResult, ToolUse
from weft.schema.messages import Message, Reply, Request, SystemPart, ThinkingConfig, ToolSpec, Usage
from weft.schema.stream import BlockStart, BlockStop, StreamDone, StreamFailed

PNG = Image(Base64Source("image/png", "AAAA"))


def chunk(delta: object, finish: str | None = None, **more: object) -> bytes:
    value = {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def call(index: int | None, arguments: object, id: str | None = None, name: str | None = None) -> dict[str, object]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    value: dict[str, object] = {"function": function, **({"id": id} if id else {})}
    if index is not None:
        value["index"] = index
    return {"tool_calls": [value]}


DONE = b"data: [DONE]\n\n"


def terminal(data: bytes) -> StreamDone | StreamFailed:
    decoder = ChatDecoder()
    events = decoder.feed(data) + decoder.finish()
    ends = [event for event in events if isinstance(event, StreamDone | StreamFailed)]
    assert len(ends) == 1 and events[-1] is ends[0]
    return ends[0]


def reply(data: bytes) -> Reply:
    done = terminal(data)
    assert isinstance(done, StreamDone), done
    return done.reply


def test_messages_are_put_in_the_order_that_the_api_wants() -> None:
    body = request_body(
        Request(
            "m",
            (
                Message("user", (Text("look"), PNG)),
                Message("assistant", (Thinking("hm"), Text("yes"), ToolUse("t1", "Read", {"p": 1}))),
                Message("user", (Text("and"), ToolResult("t1", (Text("seen"), PNG)), ToolResult("t2", "bad", True))),
            ),
            system=(SystemPart("a"), SystemPart("b")),
        )
    )
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert body["messages"] == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {
            "role": "assistant",
            "content": "yes",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "Read", "arguments": '{"p":1}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "seen"},
        {"role": "tool", "tool_call_id": "t2", "content": "Error: bad"},
        {"role": "user", "content": [picture, {"type": "text", "text": "and"}]},
    ]
    assert body["stream_options"] == {"include_usage": True}


def test_options_spell_what_differs_between_servers() -> None:
    request = Request(
        "m",
        (Message("assistant", (Thinking("hm"), Text("yes"))),),
        tools=(ToolSpec("Read", "reads", {"type": "object"}), ToolSpec("web", "", {}, {"type": "web"})),
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        thinking=ThinkingConfig(effort="max"),
        output_schema={"type": "object"},
        stop_sequences=("a",),
        temperature=0.0,
        max_tokens=7,
    )
    options = ChatOptions(limit_field="max_completion_tokens", reasoning_back=True, usage_in_stream=False)
    body = request_body(request, options)
    assert body["max_completion_tokens"] == 7 and "stream_options" not in body
    assert body["messages"] == [{"role": "assistant", "content": "yes", "reasoning_content": "hm"}]
    assert body["tool_choice"] == "required" and body["parallel_tool_calls"] is False
    assert len(body["tools"]) == 1 and body["reasoning_effort"] == "xhigh" and body["stop"] == ["a"]


def test_text_reasoning_calls_and_usage_become_a_reply() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    found = reply(
        chunk({"role": "assistant", "content": ""})
        + chunk({"reasoning_content": "h"})
        + chunk({"reasoning": "m"})
        + chunk({"content": "He"})
        + chunk({"content": "y"})
        + chunk(call(0, "", "t1", "Read"))
        + chunk(call(0, '{"a"'))
        + chunk(call(0, ":1}"))
        + chunk(call(1, '{"b":2}', "t2", "Grep"))
        + chunk({}, "tool_calls")
        + b"data: "
        + msgspec.json.encode({"id": "c1", "choices": [], "usage": usage})
        + b"\n\n"
        + DONE
    )
    assert found == Reply(
        id="c1",
        model="m",
        content=(Thinking("hm"), Text("Hey"), ToolUse("t1", "Read", {"a": 1}), ToolUse("t2", "Grep", {"b": 2})),
        stop_reason="tool_use",
        usage=Usage(input_tokens=4, output_tokens=4, cache_read_input_tokens=6, thinking_tokens=2),
    )


@pytest.mark.parametrize(
    ("chunks", "content"),
    [
        # no index at all, whole calls with object arguments
        (chunk(call(None, {"a": 1}, "t1", "A")) + chunk(call(None, {"b": 1}, "t2", "B")),
         (ToolUse("t1", "A", {"a": 1}), ToolUse("t2", "B", {"b": 1}))),
        # every call is number 0
        (chunk(call(0, '{"a":1}', "t1", "A")) + chunk(call(0, '{"b":1}', "t2", "B")),
         (ToolUse("t1", "A", {"a": 1}), ToolUse("t2", "B", {"b": 1}))),
        # id and name again in every piece
        (chunk(call(0, '{"a"', "t1", "A")) + chunk(call(0, ":1}", "t1", "A")), (ToolUse("t1", "A", {"a": 1}),)),
        # the arguments of two calls mixed
        (chunk(call(0, '{"a"', "t1", "A")) + chunk(call(1, '{"b"', "t2", "B"))
         + chunk(call(0, ":1}")) + chunk(call(1, ":2}")),
         (ToolUse("t1", "A", {"a": 1}), ToolUse("t2", "B", {"b": 2}))),
        # no id
        (chunk(call(0, "{}", None, "A")), (ToolUse("call_0", "A", {}),)),
        # no arguments
        (chunk(call(0, None, "t1", "A")), (ToolUse("t1", "A", {}),)),
    ],
)  # fmt: skip
def test_tool_calls_of_every_server_are_read(chunks: bytes, content: tuple[object, ...]) -> None:
    found = reply(chunks + chunk({}, "stop") + DONE)
    assert found.content == content
    assert found.stop_reason == "tool_use"


def test_blocks_of_a_usual_stream_come_one_after_the_other() -> None:
    events = ChatDecoder().feed(
        chunk({"content": "a"}) + chunk(call(0, "{}", "t1", "A")) + chunk(call(1, "{}", "t2", "B")) + DONE
    )
    order = [(type(event).__name__, event.index) for event in events if isinstance(event, BlockStart | BlockStop)]
    assert order == [(name, index) for index in range(3) for name in ("BlockStart", "BlockStop")]


def test_parts_and_refusals_are_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]
    assert reply(chunk({"content": parts}, "stop") + DONE).content == (Thinking("hm"), Text("a"))
    refused = reply(chunk({"refusal": "no"}, "stop") + DONE)
    assert (refused.text, refused.stop_reason) == ("no", "refusal")


def test_the_end_may_lack_its_mark_but_not_its_reason() -> None:
    assert reply(chunk({"content": "a"}, "length")).stop_reason == "max_tokens"
    cut = terminal(chunk({"content": "a"}))
    assert isinstance(cut, StreamFailed) and cut.error == "cut" and cut.retryable


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "cut"),
        (DONE, "cut"),
        (b"data: <html>\n\n", "protocol"),
        (b'data: {"error":{"message":"overloaded","code":503}}\n\n', "overloaded"),
        (b'data: {"error":{"message":"x","code":"context_length_exceeded"}}\n\n', "prompt_too_long"),
        (b'data: {"error":"out of memory"}\n\n', "unknown"),
        (b'data: {"choices":3}\n\n', "protocol"),
    ],
)
def test_a_stream_that_breaks_ends_in_one_failure(data: bytes, kind: str) -> None:
    failed = terminal(data)
    assert isinstance(failed, StreamFailed) and failed.error == kind and failed.message


REPLY = Reply(
    id="c1",
    model="m",
    content=(Thinking("hm"), Text("Hey"), ToolUse("t1", "Read", {"a": [1]})),
    stop_reason="tool_use",
    usage=Usage(input_tokens=4, output_tokens=4, cache_read_input_tokens=6, thinking_tokens=2),
)


def test_what_the_server_streams_is_what_the_client_reads() -> None:
    encoder = ChatEncoder()
    assert reply(b"".join(encoder.encode(event) for event in unfold(REPLY, piece=2))) == REPLY


def test_a_whole_completion_is_the_same_as_its_stream() -> None:
    assert decode_whole(encode_reply(REPLY))[-1] == StreamDone(REPLY)
    with pytest.raises(RemoteProtocolError):
        decode_whole(b'{"object":"list","data":[]}')


def test_a_request_survives_the_way_to_a_server() -> None:
    request = Request(
        "m",
        (
            Message("user", (Text("look"), PNG)),
            Message("assistant", (Text("yes"), ToolUse("t1", "Read", {"p": 1}), ToolUse("t2", "Read", {}))),
            Message("user", (ToolResult("t1", "seen"), ToolResult("t2", "too"), Text("and"))),
        ),
        system=(SystemPart("a"),),
        tools=(ToolSpec("Read", "reads", {"type": "object"}),),
        tool_choice={"type": "tool", "name": "Read"},
        thinking=ThinkingConfig(effort="high"),
        stop_sequences=("x",),
        temperature=0.5,
        max_tokens=99,
    )
    served = decode_request(encode_request(request))
    assert served.request == request and served.stream


def test_a_failure_is_an_error_body_before_the_stream_and_an_error_chunk_in_it() -> None:
    failed = StreamFailed("rate_limit", "slow down")
    assert encode_error(failed)[0] == 429
    ended = ChatDecoder().feed(ChatEncoder().encode(failed))
    assert isinstance(ended[0], StreamFailed) and ended[0].error == "rate_limit"
