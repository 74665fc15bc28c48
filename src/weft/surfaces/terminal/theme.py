"""Themes of the whole screen, and which one a terminal should begin with."""

from collections.abc import Mapping

from textual.theme import Theme

from weft.surfaces.terminal.paint.palette import Tone

NAMES = ("dark", "light", "terminal")

DARK = Theme(
    name="weft-dark",
    primary="#6cb6ff",
    secondary="#8a949e",
    accent="#6cb6ff",
    foreground="#d8dee4",
    background="#16191d",
    surface="#16191d",
    panel="#22272e",
    success="#6bc46d",
    warning="#daaa3f",
    error="#f47067",
    dark=True,
)
LIGHT = Theme(
    name="weft-light",
    primary="#0550ae",
    secondary="#59636e",
    accent="#0550ae",
    foreground="#1f2328",
    background="#ffffff",
    surface="#ffffff",
    panel="#eef1f4",
    success="#1a7f37",
    warning="#7d4e00",
    error="#b3231b",
    dark=False,
)


def choose(wanted: str, env: Mapping[str, str]) -> str:
    """`dark`, `light` or `terminal`. Without a wish, the terminal's own hint decides; `NO_COLOR` beats all."""
    if env.get("NO_COLOR"):
        return "terminal"
    if wanted in NAMES:
        return wanted
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


def textual_name(name: str) -> str:
    return {"dark": "weft-dark", "light": "weft-light"}.get(name, "ansi-dark")


def tone(name: str) -> Tone:
    """The palette that goes with a theme. With the terminal's own colours, words carry no colour of ours."""
    return "dark" if name == "dark" else "light" if name == "light" else "none"
