"""Exact replacement in a text, and what to say when the text is not there."""

import re
from difflib import SequenceMatcher

from weft.errors import ToolError
from weft.tools.text import TextFile, showable

_NUMBERED = re.compile(r"^\s*\d+\t", re.MULTILINE)
_MAX_LINES = 20_000


def replace(file: TextFile, old: str, new: str, *, every: bool, path: object) -> tuple[str, int]:
    """The file's text with `old` replaced, and how often. Line breaks match whichever the file has there, and new
    ones are written as the file has most: nothing else of it changes.

    Raises:
        ToolError: the same text twice, not found, or found more than once without `every`.
    """
    if old == new:
        raise ToolError("old_string and new_string are the same: there is nothing to change")
    text = file.text
    spans = _find(text, old)
    if not spans:
        raise ToolError(f"old_string is not in {path}.{_help(showable(text), old)}")
    if len(spans) > 1 and not every:
        lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in spans[:20])
        raise ToolError(
            f"old_string occurs {len(spans)} times in {path} (lines {lines}). "
            "Add the lines around the one you mean, or set replace_all."
        )
    if "\r\n" in text and "\r" not in new and file.newline == "\r\n":
        new = new.replace("\n", "\r\n")
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], new)
        at = end
    after = "".join([*parts, text[at:]])
    if after == text:
        raise ToolError("the change leaves the file as it is")
    return after, len(spans)


def _find(text: str, old: str) -> list[tuple[int, int]]:
    if "\r\n" in text and "\n" in old:
        pattern = r"\r?\n".join(re.escape(part) for part in old.replace("\r\n", "\n").split("\n"))
        return [found.span() for found in re.finditer(pattern, text)]
    spans: list[tuple[int, int]] = []
    at = text.find(old)
    while at >= 0:
        spans.append((at, at + len(old)))
        at = text.find(old, at + len(old))
    return spans


def _help(text: str, old: str) -> str:
    if _NUMBERED.match(old) and _find(text, _NUMBERED.sub("", old)):
        return " It is there without the line numbers: leave out the number and the tab that Read shows."
    near = _nearest(text, old)
    if near is None:
        return " Nothing in the file is like it. Read the file again before you edit it."
    start, lines, ratio = near
    shown = "\n".join(f"{start + index}\t{line}" for index, line in enumerate(lines[:40]))
    if _bare(lines) == _bare(old.split("\n")):
        return f" Only the white space differs. The file has, from line {start}:\n{shown}"
    return f" The nearest text ({ratio:.0%} alike) begins at line {start}:\n{shown}"


def _bare(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def _nearest(text: str, old: str) -> tuple[int, list[str], float] | None:
    """The run of as many lines that is most like `old`: its first line number, its lines, how alike."""
    wanted = old.strip("\n").split("\n")
    lines = text.replace("\r\n", "\n").split("\n")[:_MAX_LINES]
    keys = {key for key in _bare(wanted) if key}
    bare = _bare(lines)
    starts = {
        max(0, index - offset)
        for index, key in enumerate(bare)
        if key in keys
        for offset in range(len(wanted))
        if _bare([wanted[offset]])[0] == key
    }
    if not starts:
        starts = set(range(min(len(lines), 2000)))
    best: tuple[float, int] = (0.0, 0)
    goal = "\n".join(wanted)[:4000]
    matcher = SequenceMatcher(None, b=goal)
    for start in sorted(starts)[:2000]:
        matcher.set_seq1("\n".join(lines[start : start + len(wanted)])[:4000])
        if matcher.real_quick_ratio() > best[0] and matcher.quick_ratio() > best[0]:
            ratio = matcher.ratio()
            if ratio > best[0]:
                best = (ratio, start)
    ratio, start = best
    if ratio < 0.6:
        return None
    return start + 1, lines[start : start + len(wanted)], ratio
