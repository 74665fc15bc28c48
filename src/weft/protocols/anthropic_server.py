"""The Anthropic Messages API as its server speaks it: a request in, a stream, a whole message or an error out."""

from typing import Final, Literal, cast

import msgspec

from weft.errors import ProviderErrorKind, RemoteProtocolError
from weft.protocols import sse
from weft.schema.content import AnyBlock, Content, Json, Text, text_of
from weft.schema.messages import Message, Reply, Request, SystemPart, ThinkingConfig, ToolSpec, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    Ping,
    Retry,
    StreamDone,
    StreamEvent,
    StreamFailed,
)
from weft.schema.wire import as_blocks, decode_content, encode

_TYPES: Final[dict[ProviderErrorKind, tuple[int, str]]] = {
    "authentication_failed": (401, "authentication_error"),
    "billing_error": (402, "billing_error"),
    "rate_limit": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "invalid_request": (400, "invalid_request_error"),
    "prompt_too_long": (400, "invalid_request_error"),
    "model_not_found": (404, "not_found_error"),
    "too_large": (413, "request_too_large"),
    "timeout": (504, "timeout_error"),
}


class _Marked(msgspec.Struct):
    text: str = ""
    cache_control: object = None


class _WireMessage(msgspec.Struct):
    role: str
    content: msgspec.Raw


class _Thinking(msgspec.Struct):
    type: Literal["enabled", "disabled", "adaptive"] = "disabled"
    budget_tokens: int | None = None
    display: str | None = None


class _Format(msgspec.Struct):
    schema: Json | None = None


class _Output(msgspec.Struct):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: _Format | None = None


class _WireRequest(msgspec.Struct):
    model: str
    messages: list[_WireMessage]
    max_tokens: int = 32_000
    system: msgspec.Raw = msgspec.Raw(b"[]")
    tools: list[Json] = []
    thinking: _Thinking = msgspec.field(default_factory=_Thinking)
    tool_choice: Json | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    output_config: _Output | None = None
    metadata: Json | None = None
    stream: bool | None = None


_request: Final = msgspec.json.Decoder(_WireRequest)
_parts: Final = msgspec.json.Decoder(list[_Marked])


class ServedRequest(msgspec.Struct, frozen=True):
    request: Request
    stream: bool


def decode_request(data: bytes, *, betas: str = "") -> ServedRequest:
    """A request's body; `betas` is the `anthropic-beta` header.

    Raises:
        RemoteProtocolError: it is not a Messages request; the sentence says where.
    """
    try:
        found = _request.decode(data)
        system = list(_system(found.system))
        messages: list[Message] = []
        for message in found.messages:
            content = as_blocks(decode_content(message.content))
            if message.role == "system":
                system.append(SystemPart(text_of(content)))
            else:
                messages.append(Message("assistant" if message.role == "assistant" else "user", content))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"not a Messages request: {error}") from None
    output = found.output_config or _Output()
    request = Request(
        model=found.model,
        messages=tuple(messages),
        system=tuple(system),
        tools=tuple(_tool(tool) for tool in found.tools),
        max_tokens=found.max_tokens,
        thinking=ThinkingConfig(
            found.thinking.type, found.thinking.budget_tokens, output.effort, found.thinking.display
        ),
        tool_choice=found.tool_choice,
        stop_sequences=tuple(found.stop_sequences or ()),
        temperature=found.temperature,
        output_schema=output.format.schema if output.format is not None else None,
        betas=tuple(beta.strip() for beta in betas.split(",") if beta.strip()),
        metadata=found.metadata,
    )
    return ServedRequest(request, bool(found.stream))


def _system(raw: msgspec.Raw) -> tuple[SystemPart, ...]:
    data = bytes(raw)
    if data[:1] == b'"':
        return (SystemPart(msgspec.json.decode(data, type=str)),)
    if data == b"null":
        return ()
    return tuple(SystemPart(part.text, part.cache_control is not None) for part in _parts.decode(data))


def _tool(tool: Json) -> ToolSpec:
    name, description, schema = tool.get("name"), tool.get("description"), tool.get("input_schema")
    spec = ToolSpec(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else "",
        cast(Json, schema) if isinstance(schema, dict) else {},
    )
    if isinstance(schema, dict) and tool.get("type") in (None, "custom"):
        return spec
    return msgspec.structs.replace(spec, server=tool)


def usage_body(usage: Usage) -> Json:
    body: Json = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
    }
    if usage.thinking_tokens:
        body["output_tokens_details"] = {"thinking_tokens": usage.thinking_tokens}
    if usage.web_search_requests:
        body["server_tool_use"] = {"web_search_requests": usage.web_search_requests}
    return body


def encode_reply(reply: Reply) -> bytes:
    """A whole message."""
    return encode(_message(reply.id, reply.model, reply.usage, reply.content, reply.stop_reason, reply.stop_sequence))


def _message(
    id: str, model: str, usage: Usage, content: Content, stop: str | None = None, sequence: str | None = None
) -> Json:
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": sequence,
        "usage": usage_body(usage),
    }


def error_body(kind: ProviderErrorKind, message: str) -> Json:
    return {"type": "error", "error": {"type": _TYPES.get(kind, (500, "api_error"))[1], "message": message}}


def encode_error(failed: StreamFailed) -> tuple[int, bytes]:
    """(status, body) of a request that failed before anything was streamed."""
    status = failed.status or _TYPES.get(failed.error, (500, ""))[0]
    return (status if status >= 400 else 502), encode(error_body(failed.error, failed.message))


class MessagesEncoder:
    """Stream events to the bytes of the stream. `Retry` has no spelling here and gives none: before the message
    begins nobody need know, and after that a retrying provider does not belong behind a server."""

    def __init__(self) -> None:
        self._told_stop = False

    def encode(self, event: StreamEvent) -> bytes:
        match event:
            case BlockDelta() | BlockStop() | Ping():
                return sse.encode(encode(event), str(type(event).__struct_config__.tag))
            case MessageStart(id=id, model=model, usage=usage):
                return _event({"type": "message_start", "message": _message(id, model, usage, ())})
            case BlockStart(index=index, block=block):
                return _event({"type": "content_block_start", "index": index, "content_block": _opening(block)})
            case MessageDelta():
                self._told_stop = True
                return _stop(event)
            case StreamDone(reply=reply):
                last = MessageDelta(reply.stop_reason, reply.stop_sequence, reply.usage)
                before = b"" if self._told_stop else _stop(last)
                return before + _event({"type": "message_stop"})
            case StreamFailed(error=kind, message=message):
                return _event(error_body(kind, message))
            case Retry():
                return b""


def _opening(block: AnyBlock) -> object:
    # A client adds text deltas to the text that is there, so the key must be, also when it is empty.
    return {"type": "text", "text": block.text} if isinstance(block, Text) else block


def _stop(event: MessageDelta) -> bytes:
    return _event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": event.stop_reason, "stop_sequence": event.stop_sequence},
            "usage": usage_body(event.usage),
        }
    )


def _event(value: Json) -> bytes:
    return sse.encode(encode(value), str(value["type"]))
