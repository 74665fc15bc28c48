"""Stream events folded into a reply, and a reply unfolded into stream events."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from weft.schema.content import (
    AnyBlock,
    Json,
    Text,
    Thinking,
    ToolUse,
    Unknown,
)
from weft.schema.messages import Reply, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    CitationsDelta,
    InputDelta,
    MessageDelta,
    MessageStart,
    Retry,
    SignatureDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

if TYPE_CHECKING:
    from weft.protocols.partial_json import PartialJson

UNPARSED: Final = "__unparsedToolInput"
"""The one key of a tool input that was not a JSON object; its value has `raw` and `len`."""

_Piece: TypeAlias = TextDelta | ThinkingDelta | InputDelta | SignatureDelta | CitationsDelta


class _Open:
    """A block that is still arriving: what it began with and the pieces since."""

    __slots__ = ("block", "citations", "input", "signature", "text", "tracker")

    def __init__(self, block: AnyBlock) -> None:
        self.block = block
        self.text: list[str] = []
        self.signature: list[str] = []
        self.citations: list[Json] = []
        self.input: list[str] = []
        self.tracker: PartialJson | None = None
        """Begun when somebody asks for the partial input: most readers only want the end."""

    def add(self, delta: _Piece) -> None:
        if isinstance(delta, TextDelta):
            self.text.append(delta.text)
            return
        match delta:
            case InputDelta(partial_json=piece):
                self.input.append(piece)
                if self.tracker is not None:
                    self.tracker.feed(piece)
            case ThinkingDelta(thinking=text):
                self.text.append(text)
            case SignatureDelta(signature=signature):
                self.signature.append(signature)
            case CitationsDelta(citation=citation):
                self.citations.append(citation)

    def close(self) -> AnyBlock:
        match self.block:
            case Text(text=text, citations=given):
                citations = [*(given or []), *self.citations]
                return Text(text + "".join(self.text), citations or None)
            case Thinking(thinking=text, signature=signature):
                return Thinking(text + "".join(self.text), signature + "".join(self.signature))
            case ToolUse(id=id, name=name, input=given):
                return ToolUse(id, name, _input_of("".join(self.input)) if self.input else given)
            case Unknown(raw=raw) if self.input:
                # A provider-side tool's call: of a kind that we do not know, but its input streams like any other.
                value = cast(Json, msgspec.json.decode(raw))
                return Unknown(msgspec.json.encode({**value, "input": _input_of("".join(self.input))}))
            case other:
                return other

    def partial_input(self) -> object:
        if self.tracker is None:
            from weft.protocols.partial_json import PartialJson

            self.tracker = PartialJson()
            self.tracker.feed("".join(self.input))
        return self.tracker.latest()


def _input_of(text: str) -> Json:
    if not text.strip():
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast(Json, value)
    return {UNPARSED: {"raw": text, "len": len(text)}}


class Fold:
    """Feed every event of one stream, in order; ask for the reply after the last. Costs linear time.

    A `Retry` or a new `MessageStart` begins again, as the stream itself does.
    """

    def __init__(self) -> None:
        self._begin(MessageStart("", ""))

    def _begin(self, start: MessageStart) -> None:
        self._id = start.id
        self._model = start.model
        self._usage = start.usage
        self._stop: MessageDelta | None = None
        self._open: dict[int, _Open] = {}
        self._done: dict[int, AnyBlock] = {}
        self._reply: Reply | None = None

    def feed(self, event: StreamEvent) -> None:
        if isinstance(event, BlockDelta):
            found = self._open.get(event.index)
            if found is not None:
                found.add(event.delta)
            return
        match event:
            case BlockStart(index=index, block=block):
                self._open[index] = _Open(block)
            case BlockStop(index=index):
                found = self._open.pop(index, None)
                if found is not None:
                    self._done[index] = found.close()
            case MessageStart():
                self._begin(event)
            case MessageDelta(usage=usage):
                self._stop = event
                self._usage = merge_usage(self._usage, usage)
            case Retry():
                self._begin(MessageStart("", ""))
            case StreamDone(reply=reply):
                self._reply = reply
            case _:
                pass

    @property
    def blocks(self) -> tuple[AnyBlock, ...]:
        """The blocks that are complete, in order."""
        return tuple(self._done[index] for index in sorted(self._done))

    def block(self, index: int) -> AnyBlock | None:
        """The block `index`, once it is complete."""
        return self._done.get(index)

    def open(self, index: int) -> AnyBlock | None:
        """The block `index` as far as it has come. Costs its length: for ends and cuts, not for every piece."""
        found = self._open.get(index)
        return found.close() if found is not None else None

    @property
    def open_indexes(self) -> tuple[int, ...]:
        return tuple(sorted(self._open))

    def partial_input(self, index: int) -> object:
        """A tool's input as far as it has come; may be asked after every piece."""
        found = self._open.get(index)
        return found.partial_input() if found is not None and found.input else None

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def stop_reason(self) -> str | None:
        return self._stop.stop_reason if self._stop is not None else None

    def reply(self, *, request_id: str | None = None) -> Reply:
        """The message; blocks that never ended are closed as they are."""
        if self._reply is not None:
            return self._reply
        blocks = {**{index: found.close() for index, found in self._open.items()}, **self._done}
        return Reply(
            id=self._id,
            model=self._model,
            content=tuple(blocks[index] for index in sorted(blocks)),
            stop_reason=self._stop.stop_reason if self._stop is not None else None,
            stop_sequence=self._stop.stop_sequence if self._stop is not None else None,
            usage=self._usage,
            request_id=request_id,
        )


def merge_usage(a: Usage, b: Usage) -> Usage:
    """Counts of one message are told again as they grow, some of them only once: the larger is the newer."""
    return Usage(*map(max, msgspec.structs.astuple(a), msgspec.structs.astuple(b)))


def unfold(reply: Reply, *, piece: int = 0) -> Iterator[StreamEvent]:
    """The stream that folds to `reply`, terminal event included. Text comes in pieces of `piece` characters, or
    whole."""
    yield MessageStart(reply.id, reply.model, msgspec.structs.replace(reply.usage, output_tokens=0))
    for index, block in enumerate(reply.content):
        yield from unfold_block(index, block, piece=piece)
    yield MessageDelta(reply.stop_reason, reply.stop_sequence, reply.usage)
    yield StreamDone(reply)


def unfold_block(index: int, block: AnyBlock, *, piece: int = 0) -> Iterator[StreamEvent]:
    match block:
        case Text(text=text, citations=citations):
            yield BlockStart(index, Text(""))
            for part in _cut(text, piece):
                yield BlockDelta(index, TextDelta(part))
            for citation in citations or ():
                yield BlockDelta(index, CitationsDelta(citation))
        case Thinking(thinking=text, signature=signature):
            yield BlockStart(index, Thinking("", ""))
            for part in _cut(text, piece):
                yield BlockDelta(index, ThinkingDelta(part))
            if signature:
                yield BlockDelta(index, SignatureDelta(signature))
        case ToolUse(id=id, name=name, input=value):
            yield BlockStart(index, ToolUse(id, name, {}))
            for part in _cut(input_text(value), piece):
                yield BlockDelta(index, InputDelta(part))
        case _:
            yield BlockStart(index, block)
    yield BlockStop(index)


def input_text(value: Json) -> str:
    """A tool's input as the model wrote it: an unparsed one is its raw text again."""
    unparsed = value.get(UNPARSED)
    if isinstance(unparsed, dict) and len(value) == 1:
        raw = cast(Json, unparsed).get("raw")
        if isinstance(raw, str):
            return raw
    return msgspec.json.encode(value).decode()


def _cut(text: str, piece: int) -> Iterator[str]:
    if not text:
        return
    size = piece if piece > 0 else len(text)
    for at in range(0, len(text), size):
        yield text[at : at + size]
