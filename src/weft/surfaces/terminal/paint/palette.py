"""The styles that lines are painted with: dark, light, and none where colour is not wanted."""

from functools import cache
from typing import Literal, TypeAlias

import msgspec
from rich.style import Style

Tone: TypeAlias = Literal["dark", "light", "none"]


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    tone: Tone
    text: Style
    dim: Style
    strong: Style
    emphasis: Style
    accent: Style
    heading: Style
    code: Style
    link: Style
    quote: Style
    ok: Style
    warning: Style
    error: Style
    prompt: Style
    added: Style
    removed: Style
    added_line: Style
    removed_line: Style
    selected: Style
    syntax: dict[str, Style]


_SYNTAX = ("keyword", "string", "number", "comment", "name", "type", "operator")
_COLOURS = {
    "dark": {
        "text": "#d8dee4",
        "dim": "#8a949e",
        "accent": "#6cb6ff",
        "heading": "#a5d0ff",
        "code": "#e0b884",
        "ok": "#6bc46d",
        "warning": "#daaa3f",
        "error": "#f47067",
        "added_bg": "#1b3325",
        "removed_bg": "#3b1f22",
        "prompt_bg": "#22272e",
        "selected_bg": "#2d333b",
        "syntax": ("#f69d50", "#96d0ff", "#6cb6ff", "#8a949e", "#dcbdfb", "#f69d50", "#d8dee4"),
    },
    "light": {
        "text": "#1f2328",
        "dim": "#59636e",
        "accent": "#0550ae",
        "heading": "#0a3069",
        "code": "#8a4600",
        "ok": "#1a7f37",
        "warning": "#7d4e00",
        "error": "#b3231b",
        "added_bg": "#dafbe1",
        "removed_bg": "#ffebe9",
        "prompt_bg": "#eef1f4",
        "selected_bg": "#dde3ea",
        "syntax": ("#a0111f", "#0a3069", "#0550ae", "#59636e", "#622cbc", "#702c00", "#1f2328"),
    },
}


@cache
def palette(tone: Tone) -> Palette:
    if tone == "none":
        return _plain()
    colour = _COLOURS[tone]

    def fg(name: str, *, bold: bool = False, italic: bool = False, underline: bool = False) -> Style:
        return Style(color=str(colour[name]), bold=bold, italic=italic, underline=underline)

    return Palette(
        tone=tone,
        text=fg("text"),
        dim=fg("dim"),
        strong=fg("text", bold=True),
        emphasis=fg("text", italic=True),
        accent=fg("accent"),
        heading=fg("heading", bold=True),
        code=fg("code"),
        link=fg("accent", underline=True),
        quote=fg("dim", italic=True),
        ok=fg("ok"),
        warning=fg("warning"),
        error=fg("error"),
        prompt=Style(color=str(colour["text"]), bgcolor=str(colour["prompt_bg"])),
        added=fg("ok"),
        removed=fg("error"),
        added_line=Style(color=str(colour["text"]), bgcolor=str(colour["added_bg"])),
        removed_line=Style(color=str(colour["text"]), bgcolor=str(colour["removed_bg"])),
        selected=Style(bgcolor=str(colour["selected_bg"])),
        syntax={kind: Style(color=each) for kind, each in zip(_SYNTAX, colour["syntax"], strict=True)},
    )


def _plain() -> Palette:
    """No colours at all: weight, underline and reverse carry the meaning, beside the signs in the text."""
    bold, plain = Style(bold=True), Style()
    return Palette(
        tone="none",
        text=plain,
        dim=Style(dim=True),
        strong=bold,
        emphasis=Style(italic=True),
        accent=bold,
        heading=bold,
        code=plain,
        link=Style(underline=True),
        quote=Style(italic=True),
        ok=plain,
        warning=bold,
        error=bold,
        prompt=bold,
        added=bold,
        removed=plain,
        added_line=bold,
        removed_line=plain,
        selected=Style(reverse=True),
        syntax={},
    )
