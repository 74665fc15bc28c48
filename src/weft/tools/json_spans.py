"""Where values stand in a JSON text, so that one can be changed and every other byte stays."""

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_SPACE = re.compile(r"[\s]*")

Span = tuple[int, int]


def skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def end_of(text: str, start: int) -> int:
    """The end of the value that begins at `start`. The text is valid JSON."""
    if text[start] not in '"[{':
        found = _SCALAR.match(text, start)
        return found.end() if found else start
    depth = 0
    for token in _TOKEN.finditer(text, start):
        mark = text[token.start()]
        depth += (mark in "[{") - (mark in "]}")
        if depth == 0:
            return token.end()
    return len(text)


def elements(text: str, start: int) -> list[Span]:
    """The values of the array that begins at `start`."""
    spans: list[Span] = []
    at = skip_space(text, start + 1)
    while text[at] != "]":
        end = end_of(text, at)
        spans.append((at, end))
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)
    return spans


def members(text: str, start: int) -> dict[str, Span]:
    """The values of the object that begins at `start`, by their keys as they are written."""
    spans: dict[str, Span] = {}
    at = skip_space(text, start + 1)
    while text[at] != "}":
        end = end_of(text, at)
        key = text[at + 1 : end - 1]
        at = skip_space(text, skip_space(text, end) + 1)
        end = end_of(text, at)
        spans[key] = (at, end)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)
    return spans
