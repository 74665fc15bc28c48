"""A web answer as text for a model: what is not content is cut out, the rest becomes Markdown."""

import re
import zlib

from weft.errors import ToolError

MAX_BODY = 5 * 1024 * 1024
_NOISE = ("script", "style", "noscript", "template", "svg", "iframe", "nav", "footer", "form", "object", "canvas")
_OPENING = re.compile(r"<(" + "|".join(_NOISE) + r")(?=[\s>/])", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset=["']?([A-Za-z0-9_-]+)""", re.IGNORECASE)


def decoded(body: bytes, content_type: str) -> str:
    """By the header, else by what the page says of itself, else UTF-8."""
    named = _CHARSET.search(content_type.encode()) or _CHARSET.search(body[:2048])
    name = named[1].decode() if named else "utf-8"
    try:
        return body.decode(name, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def inflated(body: bytes, encoding: str) -> bytes:
    """
    Raises:
        ToolError: it cannot be unpacked, or is more than a page should be.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"the answer is packed as {encoding!r}, which cannot be read here")
    unpacker = zlib.decompressobj(47)
    try:
        data = unpacker.decompress(body, MAX_BODY)
    except zlib.error as error:
        raise ToolError(f"the answer cannot be unpacked: {error}") from error
    return data


def without_noise(html: str) -> str:
    """Scripts, styles, navigation and the like removed, with what is in them. Linear, whatever the page."""
    kept: list[str] = []
    low = html.lower()
    at = 0
    unclosed: set[str] = set()
    for found in _OPENING.finditer(html):
        if found.start() < at:
            continue
        name = found[1].lower()
        if name in unclosed:
            continue
        end = low.find(f"</{name}", found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(html[at : found.start()])
        close = html.find(">", end)
        at = close + 1 if close >= 0 else len(html)
    return "".join([*kept, html[at:]])


def to_markdown(html: str) -> str:
    from html_to_markdown import convert

    text = convert(without_noise(html)).content or ""
    return re.sub(r"\n{3,}", "\n\n", text).strip()
