"""The OpenAI Chat Completions API as its server speaks it: a request in, a stream, a completion or an error out."""

import time
from typing import Final, Literal, cast

import msgspec

from weft.errors import ProviderErrorKind, RemoteProtocolError
from weft.protocols import sse
from weft.protocols.anthropic_server import ServedRequest
from weft.protocols.fold import UNPARSED, input_text
from weft.schema.content import (
    AnyBlock,
    Base64Source,
    Content,
    Image,
    Json,
    Reasoning,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UrlSource,
    text_of,
)
from weft.schema.messages import Message, Reply, Request, SystemPart, ThinkingConfig, ToolSpec, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    InputDelta,
    MessageDelta,
    MessageStart,
    StreamDone,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ThinkingDelta,
)

_FINISH: Final = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_ERRORS: Final[dict[ProviderErrorKind, tuple[int, str]]] = {
    "authentication_failed": (401, "invalid_api_key"),
    "billing_error": (429, "insufficient_quota"),
    "rate_limit": (429, "rate_limit_exceeded"),
    "overloaded": (503, "server_error"),
    "invalid_request": (400, "invalid_request_error"),
    "prompt_too_long": (400, "context_length_exceeded"),
    "model_not_found": (404, "model_not_found"),
    "too_large": (413, "request_too_large"),
    "timeout": (504, "timeout_error"),
}


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str | Json | None = None
    description: str = ""
    parameters: Json | None = None


class _Call(msgspec.Struct):
    id: str = ""
    function: _Function = msgspec.field(default_factory=_Function)


class _WireMessage(msgspec.Struct):
    role: str
    content: str | list[Json] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    reasoning_content: str | None = None


class _Tool(msgspec.Struct):
    type: str = "function"
    function: _Function = msgspec.field(default_factory=_Function)


class _Schema(msgspec.Struct):
    schema: Json | None = None


class _Format(msgspec.Struct):
    type: str = "text"
    json_schema: _Schema | None = None


class _WireRequest(msgspec.Struct):
    model: str
    messages: list[_WireMessage]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | Json | None = None
    parallel_tool_calls: bool | None = None
    stop: str | list[str] | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    response_format: _Format | None = None
    stream: bool | None = None


_request: Final = msgspec.json.Decoder(_WireRequest)


def decode_request(data: bytes) -> ServedRequest:
    """
    Raises:
        RemoteProtocolError: it is not a chat request; the sentence says where.
    """
    try:
        found = _request.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"not a chat completion request: {error}") from None
    system: list[SystemPart] = []
    messages: list[Message] = []
    for message in found.messages:
        if message.role in ("system", "developer"):
            system.append(SystemPart(text_of(_content(message.content))))
        else:
            _add(messages, _message(message))
    stops = [found.stop] if isinstance(found.stop, str) else found.stop or []
    request = Request(
        model=found.model,
        messages=tuple(messages),
        system=tuple(system),
        tools=tuple(
            ToolSpec(tool.function.name, tool.function.description, tool.function.parameters or {"type": "object"})
            for tool in found.tools or ()
        ),
        max_tokens=found.max_completion_tokens or found.max_tokens or 32_000,
        thinking=ThinkingConfig(effort=_effort(found.reasoning_effort)),
        tool_choice=_choice(found),
        stop_sequences=tuple(stops),
        temperature=found.temperature,
        output_schema=_schema(found.response_format),
    )
    return ServedRequest(request, bool(found.stream))


def _effort(text: str | None) -> Literal["low", "medium", "high", "xhigh"] | None:
    match text:
        case "minimal" | "low":
            return "low"
        case "medium" | "high" | "xhigh":
            return text
        case _:
            return None


def _schema(format: _Format | None) -> Json | None:
    return format.json_schema.schema if format is not None and format.json_schema is not None else None


def _choice(found: _WireRequest) -> Json | None:
    choice: Json | None = None
    match found.tool_choice:
        case "required":
            choice = {"type": "any"}
        case "none":
            choice = {"type": "none"}
        case "auto":
            choice = {"type": "auto"}
        case dict() as named:
            function = named.get("function")
            choice = {"type": "tool", "name": cast(Json, function).get("name") if isinstance(function, dict) else ""}
        case _:
            pass
    if found.parallel_tool_calls is False:
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return choice


def _add(messages: list[Message], message: Message) -> None:
    """Tool messages in a row, and a user message after them, are one user message of ours."""
    if messages and messages[-1].role == message.role == "user":
        messages[-1] = Message("user", messages[-1].content + message.content)
    else:
        messages.append(message)


def _message(found: _WireMessage) -> Message:
    content = _content(found.content)
    if found.role == "tool":
        return Message("user", (ToolResult(found.tool_call_id, text_of(content)),))
    if found.role != "assistant":
        return Message("user", content)
    thought: Content = (Thinking(found.reasoning_content),) if found.reasoning_content else ()
    uses = tuple(ToolUse(call.id, call.function.name, _input(call.function)) for call in found.tool_calls or ())
    return Message("assistant", thought + content + uses)


def _input(function: _Function) -> Json:
    if isinstance(function.arguments, dict):
        return function.arguments
    text = function.arguments or ""
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        value = None
    return cast(Json, value) if isinstance(value, dict) else {UNPARSED: {"raw": text, "len": len(text)}}


def _content(content: str | list[Json] | None) -> Content:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(block for part in content or () if (block := _part(part)) is not None)


def _part(part: Json) -> AnyBlock | None:
    text, picture = part.get("text"), part.get("image_url")
    if isinstance(text, str):
        return Text(text) if text else None
    url = cast(Json, picture).get("url") if isinstance(picture, dict) else picture
    if not isinstance(url, str):
        return None
    if url.startswith("data:") and ";base64," in url:
        media_type, _, data = url.removeprefix("data:").partition(";base64,")
        return Image(Base64Source(media_type, data))
    return Image(UrlSource(url))


def usage_body(usage: Usage) -> Json:
    prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    }


def _head(id: str, model: str, kind: str) -> Json:
    return {"id": id, "object": kind, "created": int(time.time()), "model": model}


def encode_reply(reply: Reply) -> bytes:
    """A whole completion."""
    calls = [
        {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": input_text(use.input)}}
        for use in reply.tool_uses
    ]
    thought = "".join(
        block.thinking if isinstance(block, Thinking) else block.text
        for block in reply.content
        if isinstance(block, Thinking | Reasoning)
    )
    message: Json = {"role": "assistant", "content": reply.text or None}
    if calls:
        message["tool_calls"] = calls
    if thought:
        message["reasoning_content"] = thought
    choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(reply.stop_reason or "", "stop")}
    body = _head(reply.id, reply.model, "chat.completion") | {"choices": [choice], "usage": usage_body(reply.usage)}
    return msgspec.json.encode(body)


def error_body(kind: ProviderErrorKind, message: str) -> Json:
    code = _ERRORS.get(kind, (500, "server_error"))[1]
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def encode_error(failed: StreamFailed) -> tuple[int, bytes]:
    """(status, body) of a request that failed before anything was streamed."""
    status = failed.status or _ERRORS.get(failed.error, (500, ""))[0]
    return (status if status >= 400 else 502), msgspec.json.encode(error_body(failed.error, failed.message))


class ChatEncoder:
    """Stream events to the bytes of the stream, `[DONE]` included. `include_usage` is the caller's wish."""

    def __init__(self, *, include_usage: bool = True) -> None:
        self._include_usage = include_usage
        self._id = ""
        self._model = ""
        self._calls: dict[int, int] = {}

    def encode(self, event: StreamEvent) -> bytes:
        match event:
            case MessageStart(id=id, model=model):
                self._id, self._model = id, model
                return self._chunk({"role": "assistant", "content": ""})
            case BlockStart(index=index, block=ToolUse(id=id, name=name)):
                self._calls[index] = number = len(self._calls)
                call = {"index": number, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
                return self._chunk({"tool_calls": [call]})
            case BlockDelta(delta=TextDelta(text=text)):
                return self._chunk({"content": text})
            case BlockDelta(delta=ThinkingDelta(thinking=text)):
                return self._chunk({"reasoning_content": text})
            case BlockDelta(index=index, delta=InputDelta(partial_json=piece)) if index in self._calls:
                return self._chunk({"tool_calls": [{"index": self._calls[index], "function": {"arguments": piece}}]})
            case StreamDone(reply=reply):
                return self._last(MessageDelta(reply.stop_reason, reply.stop_sequence, reply.usage))
            case StreamFailed(error=kind, message=message):
                return sse.encode(msgspec.json.encode(error_body(kind, message)))
            case _:
                return b""

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = _head(self._id, self._model, "chat.completion.chunk")
        return sse.encode(msgspec.json.encode(head | {"choices": [choice]}))

    def _last(self, stop: MessageDelta) -> bytes:
        data = self._chunk({}, _FINISH.get(stop.stop_reason or "", "stop"))
        if self._include_usage:
            head = _head(self._id, self._model, "chat.completion.chunk")
            data += sse.encode(msgspec.json.encode(head | {"choices": [], "usage": usage_body(stop.usage)}))
        return data + sse.encode(b"[DONE]")
