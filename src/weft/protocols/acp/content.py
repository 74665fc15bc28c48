"""Content blocks and the content of tool calls."""

from typing import Final, TypeAlias

import msgspec

from weft.schema.content import Json, Unknown


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of all: camelCase on the wire, defaults left out."""


class Block(Wire, frozen=True, kw_only=True, tag_field="type"):
    annotations: Json | None = None


class TextContent(Block, frozen=True, kw_only=True, tag="text"):
    text: str


class ImageContent(Block, frozen=True, kw_only=True, tag="image"):
    data: str
    mime_type: str
    uri: str | None = None


class AudioContent(Block, frozen=True, kw_only=True, tag="audio"):
    data: str
    mime_type: str


class ResourceLink(Block, frozen=True, kw_only=True, tag="resource_link"):
    uri: str
    name: str = msgspec.field(default="", name="name")
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    title: str | None = None


class Resource(Wire, frozen=True, kw_only=True):
    """Text or a blob of base64, of which one is set."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class EmbeddedResource(Block, frozen=True, kw_only=True, tag="resource"):
    resource: Resource


ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
AnyContent: TypeAlias = ContentBlock | Unknown


class ToolContentBlock(Wire, frozen=True, kw_only=True, tag_field="type", tag="content"):
    content: ContentBlock
    args: Json | None = None
    """iFlow only: where its SDKs look for a call's arguments."""


class DiffContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None


class TerminalContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    terminal_id: str


ToolContent: TypeAlias = ToolContentBlock | DiffContent | TerminalContent


class Location(Wire, frozen=True, kw_only=True):
    path: str
    line: int | None = None


class McpServer(Wire, frozen=True, kw_only=True):
    """All shapes in one: a command (no `type`), `http`, `sse`; and the iFlow names for an address.

    `env` and `headers` are lists of name and value in ACP, objects in some clients: `pairs` reads both.
    """

    name: str = ""
    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: object = None
    url: str | None = None
    http_url: str | None = None
    tcp: str | None = None
    headers: object = None


class _Pair(msgspec.Struct):
    name: str
    value: str


def pairs(value: object) -> dict[str, str]:
    """Names and values, from a list of `{name, value}` or from an object; anything else is nothing."""
    if value is None:
        return {}
    try:
        return msgspec.convert(value, dict[str, str])
    except msgspec.ValidationError:
        pass
    try:
        return {pair.name: pair.value for pair in msgspec.convert(value, list[_Pair])}
    except msgspec.ValidationError:
        return {}


_block: Final = msgspec.json.Decoder(ContentBlock)


def decode_block(raw: bytes | msgspec.Raw) -> AnyContent:
    """One content block; a kind that we do not know is kept."""
    try:
        return _block.decode(raw)
    except msgspec.ValidationError:
        return Unknown(bytes(raw))


def text(value: str) -> TextContent:
    return TextContent(text=value)
