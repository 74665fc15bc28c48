"""Source code with syntax colour. What is too long, or in a language that we do not know, stays plain."""

from functools import cache
from importlib import import_module
from typing import Any

from rich.style import Style

from weft.surfaces.terminal.paint.lines import Span
from weft.surfaces.terminal.paint.palette import Palette

MOST = 60_000


@cache
def _lexer(language: str) -> Any | None:
    lexers, missing = import_module("pygments.lexers"), import_module("pygments.util").ClassNotFound
    options = {"stripnl": False, "ensurenl": False}
    try:
        if "." in language:
            return lexers.get_lexer_for_filename(language, **options)
        return lexers.get_lexer_by_name(language, **options)
    except missing:
        return None


@cache
def _kind(token: Any) -> str:
    """The entry of the palette for a token of Pygments, by its family."""
    name = str(token)
    for start, kind in (
        ("Token.Keyword.Type", "type"),
        ("Token.Keyword", "keyword"),
        ("Token.Literal.String", "string"),
        ("Token.Literal.Number", "number"),
        ("Token.Comment", "comment"),
        ("Token.Name.Function", "name"),
        ("Token.Name.Class", "name"),
        ("Token.Name.Decorator", "name"),
        ("Token.Name.Tag", "keyword"),
        ("Token.Name.Builtin", "type"),
        ("Token.Operator.Word", "keyword"),
        ("Token.Generic.Inserted", "string"),
        ("Token.Generic.Deleted", "keyword"),
        ("Token.Generic.Heading", "name"),
    ):
        if name.startswith(start):
            return kind
    return ""


def colour(code: str, language: str, palette: Palette) -> list[list[Span]]:
    """The lines of the code. `language` may be a file's name."""
    lexer = _lexer(language.lower()) if language and palette.syntax and len(code) <= MOST else None
    if lexer is None:
        return [[(line, palette.text)] for line in code.split("\n")]
    lines: list[list[Span]] = [[]]
    for token, value in lexer.get_tokens(code):
        style: Style = palette.syntax.get(_kind(token), palette.text)
        for number, part in enumerate(str(value).split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((part, style))
    return lines[: code.count("\n") + 1]
