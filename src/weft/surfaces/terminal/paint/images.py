"""A picture as half blocks, two pixels in a cell, where Pillow is there and colours are wanted; else what it is."""

import base64
import binascii
import io
from importlib import import_module
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from weft.schema.display import ImageView
from weft.surfaces.terminal.paint.lines import Line
from weft.surfaces.terminal.paint.palette import Palette

MOST_WIDE, MOST_HIGH = 80, 24
MOST_PIXELS = 40_000_000


def paint_image(view: ImageView, width: int, palette: Palette) -> list[Line]:
    data = _decode(view.data)
    label: Line = [Segment(f"[{view.media_type}, {len(data):,} bytes]", palette.dim)]
    if palette.tone == "none":
        return [label]
    try:
        pillow: Any = import_module("PIL.Image")
    except ImportError:
        return [label]
    try:
        picture = pillow.open(io.BytesIO(data))
        if picture.width * picture.height > MOST_PIXELS:
            return [label]
        scale = min(min(width, MOST_WIDE) / picture.width, MOST_HIGH * 2 / picture.height, 1.0)
        size = (max(1, int(picture.width * scale)), max(2, int(picture.height * scale) // 2 * 2))
        small = picture.convert("RGB").resize(size)
    except (OSError, ValueError, SyntaxError):
        return [label]
    return [*_blocks(small, *size), label]


def _blocks(small: Any, wide: int, high: int) -> list[Line]:
    return [
        [
            Segment(
                "▀",
                Style(
                    color=Color.from_rgb(*small.getpixel((x, y))), bgcolor=Color.from_rgb(*small.getpixel((x, y + 1)))
                ),
            )
            for x in range(wide)
        ]
        for y in range(0, high, 2)
    ]


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""
