"""What goes along with a prompt: long pasted text and pictures. In the composer each is a short mark in the text."""

import base64
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

import msgspec

from weft.schema.content import AnyBlock, Base64Source, Content, Document, Image, Text, TextSource

LONG_TEXT: Final = 1_500
LONG_LINES: Final = 15
BIGGEST_IMAGE: Final = 5_000_000
MEDIA: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """`mark` stands in the composer's text; deleting it there takes the attachment back."""

    mark: str
    text: str = ""
    media_type: str = ""
    data: str = ""
    name: str = ""


class Attachments:
    def __init__(self) -> None:
        self._items: list[Attachment] = []
        self._number = 0

    def add_text(self, text: str) -> Attachment:
        self._number += 1
        lines = text.count("\n") + 1
        return self._keep(
            Attachment(
                mark=f"[Pasted text #{self._number}, {lines} lines]", text=text, name=f"pasted-{self._number}.txt"
            )
        )

    def add_image(self, data: bytes, name: str = "") -> Attachment | None:
        """None when it is no picture that can be sent, or too big."""
        media_type = media_of(data)
        if not media_type or len(data) > BIGGEST_IMAGE:
            return None
        self._number += 1
        encoded = base64.b64encode(data).decode()
        return self._keep(
            Attachment(mark=f"[Image #{self._number}]", media_type=media_type, data=encoded, name=name or "image")
        )

    def _keep(self, item: Attachment) -> Attachment:
        self._items.append(item)
        return item

    def used_in(self, text: str) -> list[Attachment]:
        return [item for item in self._items if item.mark in text]

    def clear(self) -> None:
        self._items.clear()

    def to_content(self, text: str) -> str | Content:
        """The prompt: pictures and pasted text first, what was typed last. Plain text where nothing is attached."""
        used = self.used_in(text)
        if not used:
            return text
        blocks: list[AnyBlock] = []
        for item in used:
            if item.data:
                blocks.append(Image(Base64Source(item.media_type, item.data)))
            else:
                blocks.append(Document(TextSource(item.text), title=item.name))
        return (*blocks, Text(text))


def media_of(data: bytes) -> str:
    """By its first bytes: names lie."""
    return next((media for magic, media in _MAGIC if data.startswith(magic)), "")


def is_long(text: str) -> bool:
    return len(text) > LONG_TEXT or text.count("\n") >= LONG_LINES


def image_path(text: str) -> Path | None:
    """The picture's path, when what was pasted or dropped is just that: bare, quoted, escaped or a file address."""
    word = text.strip().strip("'\"")
    if "\n" in word or not word or len(word) > 4096:
        return None
    if word.startswith("file://"):
        word = unquote(urlparse(word).path)
    path = Path(re.sub(r"\\(.)", r"\1", word)).expanduser()
    if path.suffix.lower() not in MEDIA:
        return None
    try:
        return path if path.is_file() and path.stat().st_size <= BIGGEST_IMAGE else None
    except OSError:
        return None
