"""Content blocks: the closed tagged union that messages are made of.

The tags and field names are those of the Anthropic Messages API, which the other shapes map to.
A block that we do not know is kept as `Unknown(raw)` and leaves as the same bytes.
"""

from typing import Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, object]
"""A decoded JSON object from a peer: untrusted, read through typed code only."""


class Base64Source(msgspec.Struct, frozen=True, tag_field="type", tag="base64"):
    media_type: str
    data: str


class UrlSource(msgspec.Struct, frozen=True, tag_field="type", tag="url"):
    url: str


class FileSource(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    file_id: str


class TextSource(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    data: str
    media_type: str = "text/plain"


class S3Source(msgspec.Struct, frozen=True, tag_field="type", tag="s3"):
    uri: str
    bucket_owner: str | None = None


Source: TypeAlias = Base64Source | UrlSource | FileSource | TextSource | S3Source


class Block(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """What every known block derives from; `type` is its tag on the wire."""


class Text(Block, frozen=True, tag="text"):
    text: str
    citations: list[Json] | None = None


class Image(Block, frozen=True, tag="image"):
    source: Source


class ToolUse(Block, frozen=True, tag="tool_use"):
    """The model asks for a tool. `input` is the parsed object, `{}` while it streams."""

    id: str
    name: str
    input: Json


class ToolResult(Block, frozen=True, tag="tool_result"):
    tool_use_id: str
    content: "str | tuple[AnyBlock, ...]" = ""
    is_error: bool = False


class Thinking(Block, frozen=True, tag="thinking", omit_defaults=False):
    thinking: str
    signature: str = ""


class RedactedThinking(Block, frozen=True, tag="redacted_thinking"):
    data: str


class Document(Block, frozen=True, tag="document"):
    source: Source
    title: str | None = None
    context: str | None = None
    citations: Json | None = None


class Video(Block, frozen=True, tag="video"):
    """Platform block: only some gateways take it."""

    source: Source
    format: str | None = None


class GuardContent(Block, frozen=True, tag="guard_content"):
    """Platform block: text that a guardrail is asked to judge."""

    text: str
    qualifiers: list[str] | None = None


class Reasoning(Block, frozen=True, tag="reasoning"):
    """Platform block: reasoning of models that are not Anthropic's; `signature` or `redacted` when given."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None


class CachePoint(Block, frozen=True, tag="cache_point"):
    """Platform block: everything before it may be cached."""

    kind: Literal["default"] = "default"


class Unknown:
    """A value with a tag that we do not know. `raw` is its JSON, byte for byte."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Unknown({self.raw!r})"


KnownBlock: TypeAlias = (
    Text
    | Image
    | ToolUse
    | ToolResult
    | Thinking
    | RedactedThinking
    | Document
    | Video
    | GuardContent
    | Reasoning
    | CachePoint
)
AnyBlock: TypeAlias = KnownBlock | Unknown
Content: TypeAlias = tuple[AnyBlock, ...]


def text_of(content: str | Content) -> str:
    """The plain text of some content: text blocks joined by newlines, everything else left out."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
