"""Bytes to blocks and back: the one place that keeps unknown blocks as they came.

msgspec raises on an unknown tag, so a block is decoded in two steps: its tag, then its type.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weft.schema.content import (
    AnyBlock,
    CachePoint,
    Content,
    Document,
    GuardContent,
    Image,
    Json,
    KnownBlock,
    Reasoning,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    Video,
)


class _Tagged(msgspec.Struct):
    type: str = ""


class _WireToolResult(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: msgspec.Raw = msgspec.Raw()
    is_error: bool | None = None


_PLAIN: Final = (
    Text,
    Image,
    ToolUse,
    Thinking,
    RedactedThinking,
    Document,
    Video,
    GuardContent,
    Reasoning,
    CachePoint,
)
_tag: Final = msgspec.json.Decoder(_Tagged)
_by_tag: Final[dict[str, msgspec.json.Decoder[KnownBlock]]] = {
    str(kind.__struct_config__.tag): msgspec.json.Decoder(kind) for kind in _PLAIN
}
_result: Final = msgspec.json.Decoder(_WireToolResult)
_raw_list: Final = msgspec.json.Decoder(list[msgspec.Raw])
_object: Final = msgspec.json.Decoder(dict[str, object])


def _keep_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        return msgspec.Raw(value.raw)
    raise TypeError(f"cannot encode {type(value).__name__}")


def _unknown_to_builtin(value: Any) -> Any:
    if isinstance(value, Unknown):
        return msgspec.json.decode(value.raw)
    raise TypeError(f"cannot convert {type(value).__name__}")


_encoder: Final = msgspec.json.Encoder(enc_hook=_keep_unknown)


def encode(value: object) -> bytes:
    """JSON of any of our values; unknown blocks leave as the bytes they came as."""
    return _encoder.encode(value)


def to_builtins(value: object) -> Any:
    """Plain dicts, lists and scalars of any of our values."""
    return msgspec.to_builtins(value, enc_hook=_unknown_to_builtin)


def decode_object(data: bytes | str) -> Json:
    """A JSON object.

    Raises:
        msgspec.DecodeError: not JSON, or not an object.
    """
    return _object.decode(data)


def decode_block(data: bytes | msgspec.Raw) -> AnyBlock:
    """One block. A tag that we do not know, or a known one of a strange shape, becomes `Unknown`.

    Raises:
        msgspec.DecodeError: not JSON at all.
    """
    try:
        tag = _tag.decode(data).type
        if tag == "tool_result":
            found = _result.decode(data)
            content = decode_content(found.content) if bytes(found.content) not in (b"", b"null") else ""
            return ToolResult(found.tool_use_id, content, bool(found.is_error))
        decoder = _by_tag.get(tag)
        if decoder is not None:
            return decoder.decode(data)
    except msgspec.ValidationError:
        pass
    msgspec.json.decode(data)
    return Unknown(bytes(data))


def decode_content(data: bytes | msgspec.Raw) -> "str | Content":
    """Message content: a JSON string, or a list of blocks.

    Raises:
        msgspec.DecodeError: neither of the two.
    """
    if bytes(data)[:1] == b'"':
        return msgspec.json.decode(data, type=str)
    return tuple(decode_block(raw) for raw in _raw_list.decode(data))


def block_from(value: object) -> AnyBlock:
    """A block from a dict that a peer's JSON was already decoded to."""
    return decode_block(msgspec.json.encode(value))


def content_from(value: object) -> "str | Content":
    """Content from plain builtins: a string, or a list of dicts."""
    if isinstance(value, str):
        return value
    return decode_content(msgspec.json.encode(value))


def as_blocks(content: "str | Content | Iterable[AnyBlock]") -> Content:
    """Content as a tuple of blocks; a string is one text block, an empty one is none."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(content)
