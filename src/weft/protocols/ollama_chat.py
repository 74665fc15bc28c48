"""Ollama's own chat API: requests out, lines of JSON in. Its `format` takes a schema that the answer must fit, and
its options set the context, which the OpenAI-like address of the same server leaves at a short default.

Tools are left to that other address: this one is for plain messages.
"""

from collections.abc import Iterator
from typing import Final, cast

import msgspec

from weft.errors import RemoteProtocolError
from weft.protocols.failures import error_in_value, failure_of_error
from weft.protocols.jsonl import JsonLines
from weft.schema.content import Json, Text
from weft.schema.messages import Reply, Request, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    StreamDone,
    StreamEvent,
    StreamFailed,
    TextDelta,
)

_STOPS: Final = {"stop": "end_turn", "length": "max_tokens"}


def encode_request(request: Request, *, window: int = 0) -> bytes:
    options: Json = {"num_predict": request.max_tokens}
    if window:
        options["num_ctx"] = window
    if request.temperature is not None:
        options["temperature"] = request.temperature
    body: Json = {"model": request.model, "messages": list(_messages(request)), "stream": True, "options": options}
    if request.output_schema is not None:
        body["format"] = request.output_schema
    return msgspec.json.encode(body)


def _messages(request: Request) -> Iterator[Json]:
    system = "\n\n".join(part.text for part in request.system if part.text)
    if system:
        yield {"role": "system", "content": system}
    for message in request.messages:
        if message.text:
            yield {"role": message.role, "content": message.text}


class OllamaDecoder:
    """Feed bytes, get events; ask `finish` at the end of the body."""

    def __init__(self) -> None:
        self._lines = JsonLines()
        self._text: list[str] = []
        self._model = ""
        self._begun = False
        self.ended = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """
        Raises:
            RemoteProtocolError: a line is no JSON.
        """
        events: list[StreamEvent] = []
        for value in self._lines.feed(data):
            if self.ended:
                break
            if not isinstance(value, dict):
                raise RemoteProtocolError("Ollama sent something else than an object")
            events += self._line(cast(Json, value))
        return events

    def _line(self, line: Json) -> Iterator[StreamEvent]:
        found = error_in_value(line) if "error" in line else None
        if found is not None:
            self.ended = True
            yield failure_of_error(*found)
            return
        if not self._begun:
            self._begun = True
            self._model = str(line.get("model", ""))
            yield MessageStart("", self._model)
            yield BlockStart(0, Text(""))
        message = line.get("message")
        piece = cast(Json, message).get("content") if isinstance(message, dict) else None
        if isinstance(piece, str) and piece:
            self._text.append(piece)
            yield BlockDelta(0, TextDelta(piece))
        if line.get("done") is True:
            self.ended = True
            stop = _STOPS.get(str(line.get("done_reason", "stop")), "end_turn")
            usage = Usage(_count(line.get("prompt_eval_count")), _count(line.get("eval_count")))
            yield BlockStop(0)
            yield MessageDelta(stop, None, usage)
            yield StreamDone(Reply("", self._model, (Text("".join(self._text)),), stop, None, usage))

    def finish(self) -> list[StreamEvent]:
        if self.ended:
            return []
        self.ended = True
        return [self.cut(StreamFailed("cut", "Ollama ended its answer in the middle", retryable=True))]

    def cut(self, failed: StreamFailed) -> StreamFailed:
        """Text alone is asked for again: nothing of it is worth keeping."""
        return failed


def decode_whole(body: bytes, *, request_id: str | None = None) -> list[StreamEvent]:
    """An answer in one piece is one line."""
    decoder = OllamaDecoder()
    return [*decoder.feed(body.rstrip(b"\n") + b"\n"), *decoder.finish()]


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
