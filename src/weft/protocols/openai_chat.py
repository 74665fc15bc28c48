"""The OpenAI Chat Completions API as its client speaks it: requests out. `openai_stream` reads what comes back,
`openai_server` is the other side."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, cast

import msgspec

from weft.protocols.fold import input_text
from weft.schema.content import (
    AnyBlock,
    Base64Source,
    Content,
    Document,
    GuardContent,
    Image,
    Json,
    Reasoning,
    Text,
    TextSource,
    Thinking,
    ToolResult,
    ToolUse,
    UrlSource,
    text_of,
)
from weft.schema.messages import Message, Request, ToolSpec
from weft.schema.wire import as_blocks

Constraint: TypeAlias = Literal["json_schema", "grammar", "guided_json", "structured_outputs"]
"""How a server is told that its answer must fit a schema: OpenAI's `response_format`, llama.cpp's `grammar`, vLLM's
guided decoding in its older and its newer spelling. Ollama's `format` is in `ollama_chat`."""
_EFFORTS: Final = {"low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh"}


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between servers of this API."""

    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_back: bool = False
    """Give a reply's reasoning back as `reasoning_content`: some servers need it with tool calls, most refuse it."""
    usage_in_stream: bool = True
    constraint: Constraint = "json_schema"


def encode_request(request: Request, options: ChatOptions | None = None, *, stream: bool = True) -> bytes:
    return msgspec.json.encode(request_body(request, options, stream=stream))


def request_body(request: Request, options: ChatOptions | None = None, *, stream: bool = True) -> Json:
    options = options or ChatOptions()
    body: Json = {
        "model": request.model,
        "messages": list(_messages(request, options)),
        options.limit_field: request.max_tokens,
    }
    tools = [_tool(tool) for tool in request.tools if tool.server is None]
    if tools:
        body["tools"] = tools
        body.update(_tool_choice(request.tool_choice))
    if request.thinking.effort is not None:
        body["reasoning_effort"] = _EFFORTS[request.thinking.effort]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop_sequences:
        body["stop"] = list(request.stop_sequences[:4])
    if request.output_schema is not None:
        body.update(_constraint(request.output_schema, options.constraint))
    if stream:
        body["stream"] = True
        if options.usage_in_stream:
            body["stream_options"] = {"include_usage": True}
    return body


def _constraint(schema: Json, how: Constraint) -> Json:
    match how:
        case "json_schema":
            named: Json = {"name": "output", "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case "grammar":
            from weft.protocols.gbnf import encode_grammar

            return {"grammar": encode_grammar(schema)}
        case "guided_json":
            return {"guided_json": schema}
        case "structured_outputs":
            return {"structured_outputs": {"json": schema}}


def _tool(tool: ToolSpec) -> Json:
    function: Json = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def _tool_choice(choice: Json | None) -> Json:
    if choice is None:
        return {}
    body: Json = {}
    match choice.get("type"):
        case "any":
            body["tool_choice"] = "required"
        case "none":
            body["tool_choice"] = "none"
        case "tool":
            body["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
        case _:
            body["tool_choice"] = "auto"
    if choice.get("disable_parallel_tool_use"):
        body["parallel_tool_calls"] = False
    return body


def _messages(request: Request, options: ChatOptions) -> Iterator[Json]:
    system = "\n\n".join(part.text for part in request.system if part.text)
    if system:
        yield {"role": "system", "content": system}
    for message in request.messages:
        if message.role == "assistant":
            yield from _assistant(message, options)
        else:
            yield from _user(message)


def _assistant(message: Message, options: ChatOptions) -> Iterator[Json]:
    text = "".join(block.text for block in message.content if isinstance(block, Text))
    calls = [_call(use) for use in message.tool_uses]
    body: Json = {"role": "assistant", "content": text or None}
    if calls:
        body["tool_calls"] = calls
    if options.reasoning_back:
        reasoning = "".join(_reasoning(block) for block in message.content)
        if reasoning:
            body["reasoning_content"] = reasoning
    if text or calls:
        yield body


def _reasoning(block: AnyBlock) -> str:
    if isinstance(block, Thinking):
        return block.thinking
    return block.text if isinstance(block, Reasoning) else ""


def _call(use: ToolUse) -> Json:
    return {
        "id": use.id,
        "type": "function",
        "function": {"name": use.name, "arguments": input_text(use.input)},
    }


def _user(message: Message) -> Iterator[Json]:
    """Tool messages must follow their call at once, so results come first; a tool message carries text alone, so
    the pictures of a result follow in a user message."""
    parts: list[Json] = []
    for block in message.content:
        if isinstance(block, ToolResult):
            text, pictures = _result(block)
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}
            parts.extend(pictures)
    for block in message.content:
        part = _part(block)
        if part is not None:
            parts.append(part)
    if not parts:
        return
    if all(part["type"] == "text" for part in parts):
        yield {"role": "user", "content": "\n".join(cast(str, part["text"]) for part in parts)}
    else:
        yield {"role": "user", "content": parts}


def _result(block: ToolResult) -> tuple[str, list[Json]]:
    content: Content = as_blocks(block.content)
    pictures = [part for one in content if not isinstance(one, Text) and (part := _part(one)) is not None]
    text = text_of(content)
    if pictures and not text:
        text = "The result is in the next message."
    if block.is_error:
        text = f"Error: {text}" if not text.startswith("Error") else text
    return text, pictures


def _part(block: AnyBlock) -> Json | None:
    match block:
        case Text(text=text) | GuardContent(text=text) if text:
            return {"type": "text", "text": text}
        case Image(source=Base64Source(media_type=media_type, data=data)):
            return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}
        case Image(source=UrlSource(url=url)):
            return {"type": "image_url", "image_url": {"url": url}}
        case Document(source=TextSource(data=data), title=title):
            return {"type": "text", "text": f"{title}\n\n{data}" if title else data}
        case Document(source=Base64Source(media_type=media_type, data=data), title=title):
            file = {"filename": title or "document", "file_data": f"data:{media_type};base64,{data}"}
            return {"type": "file", "file": file}
        case _:
            return None
