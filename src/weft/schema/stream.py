"""What a provider yields while one assistant message streams: `StreamEvent`, a closed union.

The order is always the same, whoever the provider is:

    MessageStart (BlockStart BlockDelta* BlockStop)* MessageDelta? (StreamDone | StreamFailed)

with `Retry` and `Ping` anywhere before the terminal event. A `Retry` throws away what came before it:
the next `MessageStart` begins again.
"""

from typing import TypeAlias

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.content import AnyBlock, Json
from weft.schema.messages import Reply, Usage


class TextDelta(msgspec.Struct, frozen=True, tag_field="type", tag="text_delta"):
    text: str


class InputDelta(msgspec.Struct, frozen=True, tag_field="type", tag="input_json_delta"):
    """A piece of a tool's input: JSON text, cut anywhere."""

    partial_json: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag_field="type", tag="thinking_delta"):
    thinking: str


class SignatureDelta(msgspec.Struct, frozen=True, tag_field="type", tag="signature_delta"):
    signature: str


class CitationsDelta(msgspec.Struct, frozen=True, tag_field="type", tag="citations_delta"):
    citation: Json


Delta: TypeAlias = TextDelta | InputDelta | ThinkingDelta | SignatureDelta | CitationsDelta


class MessageStart(msgspec.Struct, frozen=True, tag_field="type", tag="message_start"):
    id: str
    model: str
    usage: Usage = Usage()
    request_id: str | None = None


class BlockStart(msgspec.Struct, frozen=True, tag_field="type", tag="content_block_start"):
    index: int
    block: AnyBlock


class BlockDelta(msgspec.Struct, frozen=True, tag_field="type", tag="content_block_delta"):
    index: int
    delta: Delta


class BlockStop(msgspec.Struct, frozen=True, tag_field="type", tag="content_block_stop"):
    index: int


class MessageDelta(msgspec.Struct, frozen=True, tag_field="type", tag="message_delta"):
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage = Usage()


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """The server is alive."""


class Retry(msgspec.Struct, frozen=True, tag_field="type", tag="retry"):
    """The request failed and will be made again after `delay` seconds. `fallback` names a model to be used instead."""

    attempt: int
    max_retries: int
    delay: float
    error: ProviderErrorKind
    message: str = ""
    status: int | None = None
    fallback: str | None = None


class StreamDone(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
    """Terminal: the whole message, as the deltas built it."""

    reply: Reply


class StreamFailed(msgspec.Struct, frozen=True, tag_field="type", tag="failed"):
    """Terminal: no message. `partial` has the complete blocks that came before a cut, in order."""

    error: ProviderErrorKind
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after: float | None = None
    request_id: str | None = None
    hint: str | None = None
    partial: tuple[AnyBlock, ...] = ()


StreamEvent: TypeAlias = (
    MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | Ping | Retry | StreamDone | StreamFailed
)
