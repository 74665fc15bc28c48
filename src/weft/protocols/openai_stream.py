"""What an OpenAI-compatible server answers: chunks of a stream, or a whole completion, to stream events.

Servers differ. The reasoning is in `reasoning_content` or `reasoning`; a call's `index` may be missing; the arguments
may be an object; usage may come in every chunk, in one after the last, or never; `finish_reason` may say `stop`
although tools are called. All of that is read.
"""

from typing import Final, cast

import msgspec

from weft.errors import RemoteProtocolError
from weft.protocols.failures import error_in_value, failure, failure_of_error
from weft.protocols.fold import Fold, merge_usage, unfold
from weft.protocols.partial_json import PartialJson
from weft.protocols.sse import SseDecoder
from weft.schema.content import AnyBlock, Json, Text, Thinking, ToolUse
from weft.schema.messages import Reply, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Delta,
    InputDelta,
    MessageDelta,
    MessageStart,
    StreamDone,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ThinkingDelta,
)

STOPS: Final = {
    "stop": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | Json | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | list[Json] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None

    def usage(self) -> Usage:
        given = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details is not None else None
        cached = given or self.prompt_cache_hit_tokens or 0
        thought = self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details is not None else 0
        return Usage(
            input_tokens=max(0, (self.prompt_tokens or 0) - cached),
            output_tokens=self.completion_tokens or 0,
            cache_read_input_tokens=cached,
            thinking_tokens=thought or 0,
        )


class _Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: object = None


_chunk: Final = msgspec.json.Decoder(_Chunk)


class _OpenCall:
    def __init__(self, index: int, id: str) -> None:
        self.index = index
        self.id = id
        self.json = PartialJson()


class ChatDecoder:
    """Bytes of the stream to stream events, the terminal one included.

    Blocks come one after the other. Only a server that mixes the arguments of several calls keeps several open.
    """

    def __init__(self, *, request_id: str | None = None) -> None:
        self._events = SseDecoder()
        self._fold = Fold()
        self._request_id = request_id
        self._begun = False
        self._stop: str | None = None
        self._refused = False
        self._usage = Usage()
        self._blocks = 0
        self._open: tuple[str, int] | None = None
        """The open text or thinking block: its kind and index."""
        self._calls: dict[int, _OpenCall] = {}
        self._any_call = False
        self.ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        if not self.ended:
            try:
                for event in self._events.feed(data):
                    self._read(event.data, out)
            except RemoteProtocolError as error:
                self._fail(failure("protocol", str(error)), out)
        return out

    def finish(self) -> list[StreamEvent]:
        """The server closed: fine after a finish reason, a cut before it."""
        out: list[StreamEvent] = []
        if self.ended:
            return out
        for event in self._events.finish():
            self._read(event.data, out)
        if self.ended:
            return out
        if self._stop is not None:
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

    def _read(self, data: bytes, out: list[StreamEvent]) -> None:
        if self.ended or not data:
            return
        if data == b"[DONE]":
            if self._begun:
                self._end(out)
            return
        try:
            chunk = _chunk.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            self._fail(
                failure("protocol", f"the server sent a chunk that cannot be read ({error}): {data[:80]!r}"), out
            )
            return
        problem = chunk.error
        if problem is not None:
            type, message = error_in_value({"error": problem}) or ("", str(problem))
            self._fail(failure_of_error(type, message, status=_status_in(problem)), out)
            return
        if not self._begun:
            self._begun = True
            self._emit(MessageStart(chunk.id or "", chunk.model or ""), out)
        if chunk.usage is not None:
            self._usage = merge_usage(self._usage, chunk.usage.usage())
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._read_choice(choice, out)

    def _read_choice(self, choice: _Choice, out: list[StreamEvent]) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            reasoning = delta.reasoning_content or delta.reasoning
            if reasoning:
                self._write("thinking", reasoning, out)
            if isinstance(delta.content, str):
                if delta.content:
                    self._write("text", delta.content, out)
            else:
                for part in delta.content or ():
                    self._read_part(part, out)
            if delta.refusal:
                self._refused = True
                self._write("text", delta.refusal, out)
            for call in delta.tool_calls or ():
                self._read_call(call, out)
        if choice.finish_reason:
            self._stop = choice.finish_reason

    def _read_part(self, part: Json, out: list[StreamEvent]) -> None:
        """Some servers stream lists of parts: text, or thinking that holds text parts of its own."""
        text, thinking = part.get("text"), part.get("thinking")
        if isinstance(text, str) and text:
            self._write("text", text, out)
        elif isinstance(thinking, str) and thinking:
            self._write("thinking", thinking, out)
        elif isinstance(thinking, list):
            for inner in cast(list[object], thinking):
                piece = cast(Json, inner).get("text") if isinstance(inner, dict) else None
                if isinstance(piece, str) and piece:
                    self._write("thinking", piece, out)

    def _write(self, kind: str, text: str, out: list[StreamEvent]) -> None:
        if self._open is None or self._open[0] != kind:
            self._close_text(out)
            self._close_calls(out)
            block: AnyBlock = Text("") if kind == "text" else Thinking("")
            self._open = (kind, self._start(block, out))
        delta: Delta = TextDelta(text) if kind == "text" else ThinkingDelta(text)
        self._emit(BlockDelta(self._open[1], delta), out)

    def _read_call(self, call: _Call, out: list[StreamEvent]) -> None:
        function = call.function or _Function()
        key = call.index if call.index is not None else self._guess(call)
        found = self._calls.get(key)
        if found is not None and call.id and call.id != found.id and function.name:
            # Some servers number every call 0: a new id with a name is a new call.
            self._close_call(key, out)
            found = None
        if found is None:
            self._close_text(out)
            self._close_calls(out)
            self._any_call = True
            id = call.id or f"call_{self._blocks}"
            found = _OpenCall(self._start(ToolUse(id, function.name or "", {}), out), id)
            self._calls[key] = found
        arguments = function.arguments
        piece = msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else arguments
        if piece:
            found.json.feed(piece)
            self._emit(BlockDelta(found.index, InputDelta(piece)), out)

    def _guess(self, call: _Call) -> int:
        """Without an index, an id says which call it is; without both, it is the latest."""
        for key, found in self._calls.items():
            if call.id and found.id == call.id:
                return key
        latest = max(self._calls, default=-1)
        return latest if self._calls and not call.id else latest + 1

    def _start(self, block: AnyBlock, out: list[StreamEvent]) -> int:
        index = self._blocks
        self._blocks += 1
        self._emit(BlockStart(index, block), out)
        return index

    def _close_text(self, out: list[StreamEvent]) -> None:
        if self._open is not None:
            self._emit(BlockStop(self._open[1]), out)
            self._open = None

    def _close_calls(self, out: list[StreamEvent]) -> None:
        for key in [key for key, call in self._calls.items() if call.json.complete]:
            self._close_call(key, out)

    def _close_call(self, key: int, out: list[StreamEvent]) -> None:
        self._emit(BlockStop(self._calls.pop(key).index), out)

    def _emit(self, event: StreamEvent, out: list[StreamEvent]) -> None:
        self._fold.feed(event)
        out.append(event)

    def _end(self, out: list[StreamEvent]) -> None:
        self._close_text(out)
        for key in list(self._calls):
            self._close_call(key, out)
        self._emit(MessageDelta(self._stop_reason(), None, self._usage), out)
        self.ended = True
        out.append(StreamDone(self._fold.reply(request_id=self._request_id)))

    def _stop_reason(self) -> str:
        if self._any_call and self._stop in (None, "stop", "eos"):
            return "tool_use"
        if self._refused:
            return "refusal"
        return STOPS.get(self._stop or "stop", "end_turn")

    def _fail(self, failed: StreamFailed, out: list[StreamEvent]) -> None:
        self.ended = True
        request_id = failed.request_id or self._request_id
        out.append(msgspec.structs.replace(failed, partial=self._fold.blocks, request_id=request_id))


def _status_in(error: object) -> int | None:
    code = cast(Json, error).get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else None


def decode_reply(data: bytes, *, request_id: str | None = None) -> Reply:
    """A whole completion.

    Raises:
        RemoteProtocolError: it is not one.
    """
    try:
        whole = _chunk.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"the answer is not a completion: {error}") from None
    if not whole.choices:
        raise RemoteProtocolError("the answer is JSON, but not a completion")
    decoder = ChatDecoder(request_id=request_id)
    events = decoder.feed(b"data: " + data.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n\ndata: [DONE]\n\n")
    last = events[-1]
    if not isinstance(last, StreamDone):
        raise RemoteProtocolError("the answer is not a completion")
    return last.reply


def decode_whole(data: bytes, *, request_id: str | None = None) -> list[StreamEvent]:
    """A whole completion as the stream that it could have been."""
    return list(unfold(decode_reply(data, request_id=request_id)))
