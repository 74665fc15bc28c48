"""The content of a prompt, from ACP to ours."""

import base64
import binascii
from urllib.parse import unquote, urlsplit

import msgspec

from weft.protocols.acp import content as w
from weft.schema.content import AnyBlock, Base64Source, Content, Document, Image, Text, TextSource, Unknown


def to_content(blocks: tuple[msgspec.Raw, ...]) -> Content:
    """Every kind becomes something that a model can read: what is not text, an image or a document is named."""
    return tuple(_to_block(w.decode_block(raw)) for raw in blocks)


def _to_block(block: w.AnyContent) -> AnyBlock:
    match block:
        case w.TextContent(text=text):
            return Text(text)
        case w.ImageContent(data=data, mime_type=mime):
            return Image(Base64Source(mime, data))
        case w.AudioContent(data=data, mime_type=mime):
            return Text(f"[audio, {mime}, {len(data) * 3 // 4} bytes: this model cannot hear it]")
        case w.ResourceLink(uri=uri, name=name):
            path = local_path(uri)
            return Text(f"@{path}" if path else f"[{name or uri}]({uri})")
        case w.EmbeddedResource(resource=resource):
            return _resource(resource)
        case Unknown(raw=raw):
            return Text(f"[a block that Weft does not know: {raw[:200].decode('utf-8', 'replace')}]")


def _resource(resource: w.Resource) -> AnyBlock:
    title = local_path(resource.uri) or resource.uri
    if resource.text is not None:
        return Document(TextSource(resource.text), title=title)
    mime = resource.mime_type or "application/octet-stream"
    blob = resource.blob or ""
    if mime.startswith("image/"):
        return Image(Base64Source(mime, blob))
    if mime == "application/pdf":
        return Document(Base64Source(mime, blob), title=title)
    try:
        return Document(TextSource(base64.b64decode(blob).decode()), title=title)
    except (binascii.Error, UnicodeDecodeError):
        return Text(f"[{title}, {mime}: not text]")


def local_path(uri: str) -> str | None:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else None
