"""Reads tokens out of an answer that passes by, in any of the dialects, without holding it up."""

from typing import Final, Literal, cast

import msgspec

from weft.protocols.anthropic_messages import WireUsage
from weft.protocols.fold import merge_usage
from weft.schema.content import Json
from weft.schema.messages import Usage

_MAX_LINE: Final = 1 << 20
_MAX_WHOLE: Final = 32 << 20
_OVERHEAD: Final = {"anthropic": 95, "openai": 150}
"""Bytes of an event around the text in it, about."""
_BYTES_PER_TOKEN: Final = 4
_SAMPLE: Final = 1 << 20
"""Bytes of a stream that are looked through in any case."""
_LARGE: Final = 1 << 14


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None


class _Thought(msgspec.Struct):
    reasoning_tokens: int | None = None


class _OpenAIUsage(msgspec.Struct):
    """Chat completions and embeddings say prompt and completion, responses say input and output."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None
    input_tokens_details: _Cached | None = None
    completion_tokens_details: _Thought | None = None
    output_tokens_details: _Thought | None = None

    def usage(self) -> Usage:
        cached = self.prompt_tokens_details or self.input_tokens_details or _Cached()
        thought = self.completion_tokens_details or self.output_tokens_details or _Thought()
        prompt, read = self.prompt_tokens or self.input_tokens or 0, cached.cached_tokens or 0
        return Usage(
            input_tokens=max(0, prompt - read),
            output_tokens=self.completion_tokens or self.output_tokens or 0,
            cache_read_input_tokens=read,
            thinking_tokens=thought.reasoning_tokens or 0,
        )


class Meter:
    """Feed it every byte of the answer's body. `prompt` is the guess that stands where the server counts nothing."""

    def __init__(self, dialect: Literal["anthropic", "openai"], *, stream: bool, prompt: int) -> None:
        self._dialect = dialect
        self._stream = stream
        self._prompt = prompt
        self._tail = b""
        self._usage = Usage()
        self._told_end = False
        self._size = 0
        self._events = 0
        self._counted = 0
        self._latest = b""
        """The last large piece: it is read when nothing large comes after it."""
        self.model = ""

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        if not self._stream:
            if len(self._tail) < _MAX_WHOLE:
                self._tail += data
            return
        end = data.rfind(b"\n") + 1
        if not end:
            self._tail = (self._tail + data)[-_MAX_LINE:]
            return
        if self._counted < _SAMPLE:
            self._counted += len(data)
            self._events += data.count(b"data:")
        if self._tail:
            head, _, _ = data.partition(b"\n")
            self._read_line(self._tail + head)
        if len(data) < _LARGE or self._counted < _SAMPLE:
            self._read_lines(data)
        else:
            # Tokens are counted at the beginning and at the end: the middle of a long answer is not looked through.
            self._latest = data
        self._tail = data[end:][-_MAX_LINE:]

    def _read_lines(self, data: bytes) -> None:
        # Text of a model that says "usage" has its quotes escaped, so few lines but the right ones are decoded.
        if b'"usage"' in data:
            for line in data[: data.rfind(b"\n") + 1].split(b"\n"):
                self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        if b'"usage"' in line and b'"usage":null' not in line and line.startswith(b"data:"):
            self._read(line[5:])

    def result(self) -> tuple[Usage, bool]:
        """The tokens, and whether some of them are a guess."""
        if self._latest and not self._told_end:
            self._read_lines(self._latest)
        self._latest = b""
        if self._tail:
            self._read(self._tail.removeprefix(b"data:") if self._stream else self._tail)
            self._tail = b""
        if self._told_end or not self._size:
            return self._usage, False
        guess = self._events * self._size // self._counted if self._counted else 0
        if self._stream:
            guess = max(guess, (self._size - guess * _OVERHEAD[self._dialect]) // _BYTES_PER_TOKEN)
        counted = self._usage.context - self._usage.output_tokens
        return (
            msgspec.structs.replace(
                self._usage,
                input_tokens=self._usage.input_tokens if counted else self._prompt,
                output_tokens=max(self._usage.output_tokens, guess),
            ),
            True,
        )

    def _read(self, data: bytes) -> None:
        try:
            value = cast(object, msgspec.json.decode(data))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        outer = cast(Json, value)
        for inner in (outer, outer.get("message"), outer.get("response")):
            if isinstance(inner, dict):
                self._take(cast(Json, inner), begins=outer.get("type") in ("message_start", "response.created"))

    def _take(self, body: Json, *, begins: bool) -> None:
        model, usage = body.get("model"), body.get("usage")
        if isinstance(model, str) and model:
            self.model = model
        if not isinstance(usage, dict):
            return
        kind = WireUsage if self._dialect == "anthropic" else _OpenAIUsage
        try:
            found = msgspec.convert(usage, kind).usage()
        except msgspec.ValidationError:
            return
        self._usage = merge_usage(self._usage, found)
        self._told_end = self._told_end or not begins
