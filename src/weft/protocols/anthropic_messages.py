"""The Anthropic Messages API as its client speaks it: a request out, a stream or a whole message in.

The other direction, for those who serve this API, is `anthropic_server`.
"""

from typing import Final, TypeAlias, cast

import msgspec

from weft.errors import RemoteProtocolError
from weft.protocols.failures import failure, failure_of_error
from weft.protocols.fold import Fold, unfold
from weft.protocols.sse import SseDecoder, SseEvent
from weft.schema.content import (
    CachePoint,
    Content,
    GuardContent,
    Json,
    Reasoning,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from weft.schema.messages import Message, Reply, Request, SystemPart, ToolSpec, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    Ping,
    StreamDone,
    StreamEvent,
    StreamFailed,
)
from weft.schema.wire import decode_block, encode, to_builtins

VERSION: Final = "2023-06-01"
_EPHEMERAL: Final[Json] = {"type": "ephemeral"}
_MIN_BUDGET: Final = 1024
_AS_THEY_ARE: Final = frozenset((Text, ToolUse, ToolResult))
_MAX_SYSTEM_MARKS: Final = 3
"""The API takes four cache breakpoints; the last message has one of them."""


def encode_request(request: Request, *, stream: bool = True) -> bytes:
    return encode(request_body(request, stream=stream))


def request_body(request: Request, *, stream: bool = True) -> Json:
    """The body. Betas are not in it: they travel in a header."""
    body: Json = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": _messages(request.messages),
    }
    if request.system:
        body["system"] = _system(request.system)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = request.tool_choice
    thinking = _thinking(request)
    if thinking is not None:
        body["thinking"] = thinking
    elif request.temperature is not None:
        # With thinking on, the API takes no other temperature than its own.
        body["temperature"] = request.temperature
    output = _output(request)
    if output:
        body["output_config"] = output
    if request.stop_sequences:
        body["stop_sequences"] = list(request.stop_sequences)
    if request.metadata is not None:
        body["metadata"] = request.metadata
    if stream:
        body["stream"] = True
    return body


def count_body(request: Request) -> Json:
    """The body of a token count: the same question without what only an answer needs."""
    body = request_body(request, stream=False)
    return {
        key: body[key] for key in ("model", "messages", "system", "tools", "tool_choice", "thinking") if key in body
    }


def _system(parts: tuple[SystemPart, ...]) -> list[Json]:
    marked = [at for at, part in enumerate(parts) if part.cache and part.text][-_MAX_SYSTEM_MARKS:]
    return [
        {"type": "text", "text": part.text, **({"cache_control": _EPHEMERAL} if at in marked else {})}
        for at, part in enumerate(parts)
        if part.text
    ]


def _tool(tool: ToolSpec) -> Json:
    if tool.server is not None:
        return tool.server
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _thinking(request: Request) -> Json | None:
    config = request.thinking
    forced = request.tool_choice is not None and request.tool_choice.get("type") in ("any", "tool")
    if config.kind == "disabled" or forced:
        return None
    shown: Json = {"display": config.display} if config.display else {}
    if config.kind == "adaptive" or config.budget is None:
        return {"type": "adaptive", **shown}
    budget = max(_MIN_BUDGET, min(config.budget, request.max_tokens - 1))
    if budget >= request.max_tokens:
        return None
    return {"type": "enabled", "budget_tokens": budget, **shown}


def _output(request: Request) -> Json:
    output: Json = {}
    if request.thinking.effort is not None:
        output["effort"] = request.thinking.effort
    if request.task_budget is not None:
        output["task_budget"] = {"type": "tokens", "total": request.task_budget}
    if request.output_schema is not None:
        output["format"] = {"type": "json_schema", "schema": request.output_schema}
    return output


def _messages(messages: tuple[Message, ...]) -> list[Json]:
    """Messages whose blocks all fell away are left out; the last block of the last one ends the cached prefix."""
    bodies: list[Json] = []
    for message in messages:
        blocks = _blocks(message.content)
        if blocks:
            bodies.append({"role": message.role, "content": blocks})
    if bodies:
        last = cast(list[object], bodies[-1]["content"])
        _mark_last(last)
    return bodies


def _blocks(content: Content) -> list[object]:
    """What the API takes: no empty text, no thinking that is not signed by it, no platform blocks of others."""
    if _AS_THEY_ARE.issuperset([type(block) for block in content]):
        return [block for block in content if not isinstance(block, Text) or block.text]
    blocks: list[object] = []
    for block in content:
        match block:
            case Text(text=""):
                pass
            case Thinking(signature="") | Reasoning():
                pass
            case GuardContent(text=text):
                blocks.append(Text(text))
            case CachePoint():
                _mark_last(blocks)
            case _:
                blocks.append(block)
    return blocks


def _mark_last(blocks: list[object]) -> None:
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if isinstance(block, Thinking | RedactedThinking):
            continue
        blocks[at] = {**cast(Json, to_builtins(block)), "cache_control": _EPHEMERAL}
        return


class _Count(msgspec.Struct):
    web_search_requests: int | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Usage as the API spells it; any count may be null or absent."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    thinking_tokens: int | None = None
    server_tool_use: _Count | None = None
    output_tokens_details: _OutputDetails | None = None

    def usage(self) -> Usage:
        details = self.output_tokens_details
        return Usage(
            input_tokens=self.input_tokens or 0,
            output_tokens=self.output_tokens or 0,
            cache_read_input_tokens=self.cache_read_input_tokens or 0,
            cache_creation_input_tokens=self.cache_creation_input_tokens or 0,
            thinking_tokens=self.thinking_tokens or (details.thinking_tokens or 0 if details else 0),
            web_search_requests=(self.server_tool_use.web_search_requests or 0) if self.server_tool_use else 0,
        )


class _WireMessage(msgspec.Struct):
    id: str = ""
    model: str = ""
    content: list[msgspec.Raw] = []
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: WireUsage | None = None


class _Start(msgspec.Struct, tag_field="type", tag="message_start"):
    message: _WireMessage


class _BlockStart(msgspec.Struct, tag_field="type", tag="content_block_start"):
    index: int
    content_block: msgspec.Raw


class _Stop(msgspec.Struct):
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _Delta(msgspec.Struct, tag_field="type", tag="message_delta"):
    delta: _Stop = msgspec.field(default_factory=_Stop)
    usage: WireUsage | None = None


class _End(msgspec.Struct, tag_field="type", tag="message_stop"):
    pass


class _ErrorBody(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Error(msgspec.Struct, tag_field="type", tag="error"):
    error: _ErrorBody = msgspec.field(default_factory=_ErrorBody)
    request_id: str | None = None


_Event: TypeAlias = BlockDelta | BlockStop | Ping | _Start | _BlockStart | _Delta | _End | _Error
_event: Final = msgspec.json.Decoder(_Event)
_message: Final = msgspec.json.Decoder(_WireMessage)
_DELTAS: Final = ("text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta")
_EVENTS: Final = (
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
)


class MessagesDecoder:
    """Bytes of the stream to stream events, the terminal one included. Events and deltas of kinds that we do not
    know are left out; a known one of a strange shape ends the stream."""

    def __init__(self, *, request_id: str | None = None) -> None:
        self._events = SseDecoder()
        self._fold = Fold()
        self._request_id = request_id
        self._begun = False
        self.ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        if not self.ended:
            try:
                for event in self._events.feed(data):
                    self._read(event, out)
            except RemoteProtocolError as error:
                self._fail(failure("protocol", str(error)), out)
        return out

    def finish(self) -> list[StreamEvent]:
        """The server closed. Only the last event missing is no harm; anything else is a cut."""
        out: list[StreamEvent] = []
        if self.ended:
            return out
        for event in self._events.finish():
            self._read(event, out)
        if self.ended:
            return out
        if self._fold.stop_reason is not None:
            self._end(out)
        elif self._begun:
            self._fail(failure("cut", "the server closed the connection in the middle of its answer"), out)
        else:
            self._fail(failure("cut", "the server closed the connection without an answer"), out)
        return out

    def cut(self, failed: StreamFailed) -> StreamFailed:
        """The connection failed: this as the terminal event, with the blocks that were complete."""
        self.ended = True
        return msgspec.structs.replace(failed, partial=self._fold.blocks, request_id=self._request_id)

    def _read(self, event: SseEvent, out: list[StreamEvent]) -> None:
        if self.ended:
            return
        try:
            found = _event.decode(event.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            self._read_strange(event.data, error, out)
            return
        if isinstance(found, BlockDelta | BlockStop | Ping):
            self._fold.feed(found)
            out.append(found)
        else:
            self._read_rest(found, out)

    def _read_rest(self, found: _Start | _BlockStart | _Delta | _End | _Error, out: list[StreamEvent]) -> None:
        match found:
            case _BlockStart(index=index, content_block=raw):
                try:
                    block = decode_block(raw)
                except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                    self._read_strange(bytes(raw), error, out)
                    return
                self._emit(BlockStart(index, block), out)
            case _Start(message=message):
                self._begun = True
                usage = message.usage.usage() if message.usage is not None else Usage()
                self._emit(MessageStart(message.id, message.model, usage, self._request_id), out)
            case _Delta(delta=stop, usage=usage):
                counted = usage.usage() if usage is not None else Usage()
                self._emit(MessageDelta(stop.stop_reason, stop.stop_sequence, counted), out)
            case _End():
                self._end(out)
            case _Error(error=body, request_id=request_id):
                failed = failure_of_error(body.type, body.message, request_id=request_id)
                self._fail(failed, out)

    def _read_strange(self, data: bytes, error: Exception, out: list[StreamEvent]) -> None:
        try:
            value = cast(object, msgspec.json.decode(data))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self._fail(failure("protocol", f"the server sent an event that is not JSON: {data[:80]!r}"), out)
            return
        event = cast(Json, value) if isinstance(value, dict) else {}
        kind, delta = event.get("type"), event.get("delta")
        new_delta = isinstance(delta, dict) and cast(Json, delta).get("type") not in _DELTAS
        if kind in _EVENTS and not (kind == "content_block_delta" and new_delta):
            self._fail(failure("protocol", f"the server sent a {kind} event of a strange shape: {error}"), out)

    def _emit(self, event: StreamEvent, out: list[StreamEvent]) -> None:
        self._fold.feed(event)
        out.append(event)

    def _end(self, out: list[StreamEvent]) -> None:
        self.ended = True
        for index in self._fold.open_indexes:
            self._emit(BlockStop(index), out)
        out.append(StreamDone(self._fold.reply(request_id=self._request_id)))

    def _fail(self, failed: StreamFailed, out: list[StreamEvent]) -> None:
        request_id = failed.request_id or self._request_id
        self.ended = True
        out.append(msgspec.structs.replace(failed, partial=self._fold.blocks, request_id=request_id))


def decode_reply(data: bytes, *, request_id: str | None = None) -> Reply:
    """A whole message, as the API gives it without streaming.

    Raises:
        RemoteProtocolError: it is not one.
    """
    try:
        found = _message.decode(data)
        if not found.id and not found.content:
            raise RemoteProtocolError("the answer is JSON, but not a message")
        return Reply(
            id=found.id,
            model=found.model,
            content=tuple(decode_block(raw) for raw in found.content),
            stop_reason=found.stop_reason,
            stop_sequence=found.stop_sequence,
            usage=found.usage.usage() if found.usage is not None else Usage(),
            request_id=request_id,
        )
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"the answer is not a message: {error}") from None


def decode_whole(data: bytes, *, request_id: str | None = None) -> list[StreamEvent]:
    """A whole message as the stream that it could have been."""
    return list(unfold(decode_reply(data, request_id=request_id)))


__all__ = [
    "VERSION",
    "MessagesDecoder",
    "WireUsage",
    "count_body",
    "decode_reply",
    "decode_whole",
    "encode_request",
    "request_body",
]
