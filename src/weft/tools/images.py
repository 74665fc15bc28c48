"""Images as a model can take them."""

import base64
import io
from pathlib import Path

import anyio.to_thread

from weft.errors import ToolError
from weft.schema.content import Base64Source, Image
from weft.schema.display import ImageView
from weft.tools.port import Result

MAX_BYTES = 3_750_000
"""Providers take 5 MB of base64."""
MAX_SIDE = 2000

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(data: bytes) -> str | None:
    """By what the data is, not by its name; None when it is no image that models take."""
    for magic, media in _MAGIC:
        if data.startswith(magic):
            return media
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


async def show_image(path: Path, data: bytes, media: str) -> Result:
    """
    Raises:
        ToolError: it is too big and cannot be made smaller here.
    """
    size = len(data)
    if size > MAX_BYTES:
        data, media = await anyio.to_thread.run_sync(shrink, path, data)
    encoded = base64.b64encode(data).decode()
    return Result(
        content=(Image(Base64Source(media, encoded)),),
        display=(ImageView(media, encoded),),
        data={"type": "image", "file": {"base64": encoded, "type": media, "originalSize": size}},
    )


def shrink(path: object, data: bytes) -> tuple[bytes, str]:
    try:
        from PIL import Image as Pillow
    except ImportError as error:
        raise ToolError(
            f"{path} has {len(data):,} bytes, more than a model takes, and Pillow is not installed to make it smaller"
        ) from error
    try:
        with Pillow.open(io.BytesIO(data)) as image:
            image.thumbnail((MAX_SIDE, MAX_SIDE))
            out = io.BytesIO()
            image.convert("RGB").save(out, "JPEG", quality=85)
    except (OSError, ValueError, Pillow.DecompressionBombError) as error:
        raise ToolError(f"{path} cannot be read as an image: {error}") from error
    return out.getvalue(), "image/jpeg"
