"""A server's answers as content blocks. Nothing that an answer points at is fetched."""

import base64
import binascii
from typing import cast

import msgspec

from weft.mcp.catalogue import McpResult, PromptMessage, ResourceText, list_of, table_of
from weft.mcp.visible import plain
from weft.schema.content import AnyBlock, Base64Source, Document, Image, Json, Text

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_IMAGE = 20 << 20


def decode_result(raw: Json) -> McpResult:
    """A tool's answer. What is malformed is said in words; nothing is raised."""
    content = raw.get("content")
    blocks: list[AnyBlock] = []
    links: list[tuple[str, str]] = []
    for item in list_of(content):
        blocks.extend(_blocks(table_of(item), links))
    problem = "" if content is None or isinstance(content, list) else "the server's answer has no list of content"
    structured = raw.get("structuredContent")
    has = "structuredContent" in raw
    if has and not blocks:
        blocks.append(Text(msgspec.json.encode(structured).decode()))
    if problem:
        blocks.append(Text(problem))
    return McpResult(
        content=tuple(blocks),
        structured=structured,
        has_structured=has,
        is_error=raw.get("isError") is True or bool(problem),
        links=tuple(links),
        meta=table_of(raw.get("_meta")),
    )


def _blocks(item: Json, links: list[tuple[str, str]]) -> list[AnyBlock]:
    match item.get("type"):
        case "text":
            return [Text(plain(str(item.get("text", ""))))]
        case "image":
            return [_image(item)]
        case "audio":
            return [Text(f"[audio, {item.get('mimeType', 'unknown')}, {_size(item.get('data'))} bytes: not shown]")]
        case "resource_link":
            uri, name = plain(str(item.get("uri", ""))), plain(str(item.get("name", "")))
            links.append((name or uri, uri))
            about = plain(str(item.get("description") or ""))
            return [Text(f"[resource {name}: {uri}{' (' + about + ')' if about else ''}; not fetched]")]
        case "resource":
            return resource_blocks(decode_contents(table_of(item.get("resource"))))
        case kind:
            return [Text(f"[content of an unknown kind, {kind!r}]")]


def _image(item: Json) -> AnyBlock:
    data, mime = item.get("data"), str(item.get("mimeType", ""))
    if not isinstance(data, str) or _size(data) == 0:
        return Text("[an image that is not valid base64]")
    if mime not in IMAGES:
        return Text(f"[image, {mime or 'of unknown kind'}, {_size(data)} bytes: models cannot see this kind]")
    if len(data) > MAX_IMAGE:
        return Text(f"[image, {mime}, {_size(data)} bytes: too large]")
    return Image(Base64Source(mime, data))


def _size(data: object) -> int:
    if not isinstance(data, str):
        return 0
    try:
        return len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return 0


def decode_contents(raw: Json) -> ResourceText:
    text, blob = raw.get("text"), raw.get("blob")
    return ResourceText(
        uri=plain(str(raw.get("uri", ""))),
        mime=str(raw.get("mimeType") or ""),
        text=text if isinstance(text, str) else None,
        data=blob if isinstance(blob, str) else None,
        meta=table_of(raw.get("_meta")),
    )


def resource_blocks(part: ResourceText) -> list[AnyBlock]:
    """A resource that was read, for a model."""
    if part.text is not None:
        return [Text(f"[resource {part.uri}]\n{plain(part.text)}")]
    if part.data is not None and part.mime in IMAGES:
        return [_image({"data": part.data, "mimeType": part.mime})]
    if part.data is not None and part.mime == "application/pdf":
        return [Document(Base64Source(part.mime, part.data), title=part.uri)]
    return [Text(f"[resource {part.uri}, {part.mime or 'of unknown kind'}, {_size(part.data)} bytes: not shown]")]


def decode_read(raw: Json) -> tuple[ResourceText, ...]:
    return tuple(decode_contents(table_of(item)) for item in list_of(raw.get("contents")))


def decode_messages(raw: Json) -> tuple[PromptMessage, ...]:
    """The messages of a prompt."""
    found: list[PromptMessage] = []
    for item in list_of(raw.get("messages")):
        table = table_of(item)
        content = table.get("content")
        parts = cast("list[object]", content) if isinstance(content, list) else [content]
        blocks: list[AnyBlock] = []
        for part in parts:
            blocks.extend(_blocks(table_of(part), []))
        found.append(PromptMessage("assistant" if table.get("role") == "assistant" else "user", tuple(blocks)))
    return tuple(found)
