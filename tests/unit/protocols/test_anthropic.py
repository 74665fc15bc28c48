"""The Messages API: what leaves, what comes back, and the server's side of both."""

import msgspec
import pytest

from weft.errors import RemoteProtocolError
from weft.protocols.anthropic_messages import MessagesDecoder, decode_whole, encode_request, request_body
from weft.protocols.anthropic_server import MessagesEncoder, decode_request, encode_error, encode_reply
from weft.protocols.fold import UNPARSED, Fold, unfold
from weft.schema.content import (
    Base64Source,
    CachePoint,
    Image,
    Reasoning,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
)
from weft.schema.messages import Message, Reply, Request, SystemPart, ThinkingConfig, ToolSpec, Usage
from weft.schema.stream import BlockDelta, InputDelta, Ping, StreamDone, StreamFailed, TextDelta

MARK = {"type": "ephemeral"}


def sse(*events: object) -> bytes:
    return b"".join(b"event: e\ndata: " + msgspec.json.encode(event) + b"\n\n" for event in events)


START = {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": {"input_tokens": 9}}}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
HI = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
STOP = {"type": "content_block_stop", "index": 0}
END = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 5, "cache_read_input_tokens": None},
}
LAST = {"type": "message_stop"}


def ask(*messages: Message, **more: object) -> Request:
    return msgspec.structs.replace(Request("m", messages), **more)


def user(*blocks: object) -> Message:
    return Message("user", blocks)


def terminal(data: bytes) -> StreamDone | StreamFailed:
    decoder = MessagesDecoder(request_id="r1")
    events = decoder.feed(data) + decoder.finish()
    ends = [event for event in events if isinstance(event, StreamDone | StreamFailed)]
    assert len(ends) == 1 and events[-1] is ends[0]
    return ends[0]


def test_the_cache_ends_at_the_last_stable_system_part_and_at_the_last_block() -> None:
    body = request_body(
        ask(
            user(Text("one")),
            Message("assistant", (Text("two"),)),
            user(ToolResult("t", "three"), Text("four")),
            system=(SystemPart("stable", cache=True), SystemPart("changes")),
        )
    )
    assert body["system"] == [
        {"type": "text", "text": "stable", "cache_control": MARK},
        {"type": "text", "text": "changes"},
    ]
    wire = msgspec.json.decode(encode_request(ask(user(Text("a")), user(ToolResult("t", "b"), Text("c")))))
    assert wire["messages"][0] == {"role": "user", "content": [{"type": "text", "text": "a"}]}
    assert wire["messages"][1]["content"] == [
        {"type": "tool_result", "tool_use_id": "t", "content": "b"},
        {"type": "text", "text": "c", "cache_control": MARK},
    ]
    assert wire["stream"] is True


def test_what_the_api_refuses_is_left_out() -> None:
    body = request_body(
        ask(
            user(Text(""), Text("a"), CachePoint(), Text("b")),
            Message("assistant", (Thinking("unsigned"), Reasoning("other"), Text(""))),
            Message("assistant", (Thinking("signed", "s"), Text("c"), RedactedThinking("x"))),
        )
    )
    wire = msgspec.json.decode(msgspec.json.encode(body["messages"]))
    assert wire == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": "b"}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "signed", "signature": "s"},
                {"type": "text", "text": "c", "cache_control": MARK},
                {"type": "redacted_thinking", "data": "x"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("config", "max_tokens", "sent"),
    [
        (ThinkingConfig(), 100, None),
        (ThinkingConfig("enabled", 5000), 32_000, {"type": "enabled", "budget_tokens": 5000}),
        (ThinkingConfig("enabled", 5000), 3000, {"type": "enabled", "budget_tokens": 2999}),
        (ThinkingConfig("enabled", 10), 3000, {"type": "enabled", "budget_tokens": 1024}),
        (ThinkingConfig("enabled", 5000), 1000, None),
        (ThinkingConfig("adaptive", display="updates"), 100, {"type": "adaptive", "display": "updates"}),
    ],
)
def test_thinking_stays_within_what_the_api_takes(config: ThinkingConfig, max_tokens: int, sent: object) -> None:
    body = request_body(ask(user(Text("a")), thinking=config, max_tokens=max_tokens, temperature=0.5))
    assert body.get("thinking") == sent
    assert ("temperature" in body) is (sent is None)


def test_a_forced_tool_switches_thinking_off() -> None:
    body = request_body(
        ask(
            user(Text("a")),
            thinking=ThinkingConfig("adaptive", effort="high"),
            tool_choice={"type": "any"},
            output_schema={"type": "object"},
        )
    )
    assert "thinking" not in body
    assert body["output_config"] == {
        "effort": "high",
        "format": {"type": "json_schema", "schema": {"type": "object"}},
    }


def test_a_stream_becomes_a_reply() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    done = terminal(
        sse(
            START,
            {"type": "ping"},
            TEXT,
            HI,
            {"type": "content_block_delta", "index": 0, "delta": {"type": "from_the_future", "x": 1}},
            {"type": "event_from_the_future"},
            STOP,
            {"type": "content_block_start", "index": 1, "content_block": use},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
            {"type": "content_block_stop", "index": 1},
            END,
            LAST,
            HI,
        )
    )
    assert isinstance(done, StreamDone)
    assert done.reply == Reply(
        id="m1",
        model="m",
        content=(Text("Hi"), ToolUse("t1", "Read", {"a": 1})),
        stop_reason="end_turn",
        usage=Usage(input_tokens=9, output_tokens=5),
        request_id="r1",
    )


def test_a_missing_last_event_is_no_harm() -> None:
    assert isinstance(terminal(sse(START, TEXT, HI, STOP, END)), StreamDone)


@pytest.mark.parametrize(
    ("data", "kind", "partial"),
    [
        (b"", "cut", ()),
        (sse(START), "cut", ()),
        (sse(START, TEXT, HI), "cut", ()),
        (sse(START, TEXT, HI, STOP), "cut", (Text("Hi"),)),
        (sse(START, TEXT, HI, STOP) + b'event: x\ndata: {"type":"content_bl', "cut", (Text("Hi"),)),
        (sse(START, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}), "overloaded", ()),
        (sse(START, TEXT, HI, STOP, {"type": "error", "error": {"type": "api_error"}}), "server_error", (Text("Hi"),)),
        (sse({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9"}}),
         "prompt_too_long", ()),
        (sse(START, {"type": "content_block_delta", "index": "x", "delta": {"type": "text_delta", "text": "a"}}),
         "protocol", ()),
        (b"data: <html>\n\n", "protocol", ()),
    ],
)  # fmt: skip
def test_a_stream_that_breaks_ends_in_one_failure_with_the_blocks_that_were_whole(
    data: bytes, kind: str, partial: tuple[object, ...]
) -> None:
    failed = terminal(data)
    assert isinstance(failed, StreamFailed)
    assert (failed.error, failed.partial) == (kind, partial)
    assert failed.message and failed.request_id == "r1"


def test_input_that_is_not_an_object_is_kept_as_it_came() -> None:
    for raw in ('{"a": ', "[1]", "nonsense"):
        fold = Fold()
        for event in unfold(Reply("m", "m", (ToolUse("t", "X", {UNPARSED: {"raw": raw, "len": len(raw)}}),)), piece=2):
            if not isinstance(event, StreamDone):
                fold.feed(event)
        assert fold.reply().tool_uses[0].input == {UNPARSED: {"raw": raw, "len": len(raw)}}


def test_the_input_of_a_provider_side_tool_is_folded_too() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    done = terminal(
        sse(
            START,
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            STOP,
            END,
            LAST,
        )
    )
    assert isinstance(done, StreamDone)
    assert done.reply.content == (Unknown(msgspec.json.encode({**block, "input": {}})),)


REPLY = Reply(
    id="m1",
    model="claude",
    content=(
        Thinking("hm", "sig"),
        Text("Héllo", [{"type": "char_location"}]),
        ToolUse("t1", "Bash", {"command": "ls"}),
        Unknown(b'{"type":"server_tool_use","id":"s","name":"n","input":{}}'),
    ),
    stop_reason="tool_use",
    usage=Usage(3, 4, 5, 6, 7, 8),
)


def test_what_the_server_streams_is_what_the_client_reads() -> None:
    encoder, decoder = MessagesEncoder(), MessagesDecoder()
    wire = b"".join(encoder.encode(event) for event in unfold(REPLY, piece=2))
    events = decoder.feed(wire)
    assert events[-1] == StreamDone(REPLY)
    assert BlockDelta(1, TextDelta("Hé")) in events and BlockDelta(2, InputDelta('{"')) in events


def test_a_whole_message_is_the_same_as_its_stream() -> None:
    assert decode_whole(encode_reply(REPLY))[-1] == StreamDone(REPLY)
    with pytest.raises(RemoteProtocolError):
        decode_whole(b'{"hello": 1}')


def test_a_request_survives_the_way_to_a_server() -> None:
    request = Request(
        model="claude",
        messages=(user(Text("a"), Image(Base64Source("image/png", "AAAA"))), Message("assistant", (Text("b"),))),
        system=(SystemPart("s", cache=True), SystemPart("t")),
        tools=(
            ToolSpec("Read", "reads", {"type": "object"}),
            ToolSpec("web_search", "", {}, {"type": "web_search_20250305", "name": "web_search"}),
        ),
        max_tokens=5000,
        thinking=ThinkingConfig("enabled", 2000, "high", "updates"),
        stop_sequences=("x",),
        output_schema={"type": "object"},
        betas=("a", "b"),
        metadata={"user_id": "u"},
    )
    served = decode_request(encode_request(request), betas="a, b")
    assert served.request == request and served.stream


def test_a_system_message_among_the_others_joins_the_system_prompt() -> None:
    body = {"model": "m", "system": "one", "messages": [{"role": "system", "content": "two"}]}
    served = decode_request(msgspec.json.encode(body))
    assert served.request.system == (SystemPart("one"), SystemPart("two")) and not served.stream


def test_a_bad_request_is_told_where_it_is_bad() -> None:
    with pytest.raises(RemoteProtocolError, match=r"messages"):
        decode_request(b'{"model":"m","messages":3}')


def test_a_failure_is_an_error_body_before_the_stream_and_an_error_event_in_it() -> None:
    failed = StreamFailed("overloaded", "busy")
    assert encode_error(failed)[0] == 529
    ended = MessagesDecoder().feed(MessagesEncoder().encode(failed))
    assert isinstance(ended[0], StreamFailed) and ended[0].error == "overloaded"


def test_a_ping_is_passed_on() -> None:
    assert MessagesDecoder().feed(MessagesEncoder().encode(Ping())) == [Ping()]
