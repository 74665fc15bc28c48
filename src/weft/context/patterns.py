"""Path patterns as rules and instructions write them: `src/**/*.py`, `*.{ts,tsx}`, `docs/`."""

import re
from functools import lru_cache
from pathlib import PurePath


def matches(path: PurePath | str, patterns: tuple[str, ...]) -> bool:
    """Whether a path relative to the project matches one of the patterns.

    A pattern without a slash matches the name in any folder; one that ends in a slash, all below that folder.
    """
    text = str(path).replace("\\", "/")
    return any(regex.fullmatch(text) for regex in map(_regex, patterns) if regex is not None)


@lru_cache(512)
def _regex(pattern: str) -> re.Pattern[str] | None:
    pattern = pattern.strip().removeprefix("./").lstrip("/")
    if not pattern or len(pattern) > 500:
        return None
    if pattern.endswith("/"):
        pattern += "**"
    if "/" not in pattern and pattern != "**":
        pattern = f"**/{pattern}"
    try:
        return re.compile(_translate(pattern), re.DOTALL)
    except re.error:
        return None


def _translate(pattern: str) -> str:
    out: list[str] = []
    at, depth = 0, 0
    while at < len(pattern):
        letter = pattern[at]
        if pattern.startswith("**/", at):
            # Runs of ** would make the expression slow on long paths; one says the same.
            while pattern.startswith("**/", at):
                at += 3
            out.append("(?:[^/]+/)*")
            continue
        if letter == "*":
            run = len(pattern) - at - len(pattern[at:].lstrip("*"))
            out.append(".*" if run > 1 else "[^/]*")
            at += run
            continue
        if letter == "{" and "}" in pattern[at:]:
            depth += 1
            out.append("(?:")
        elif letter == "}" and depth:
            depth -= 1
            out.append(")")
        elif letter == "," and depth:
            out.append("|")
        else:
            out.append("[^/]" if letter == "?" else re.escape(letter))
        at += 1
    return "".join(out) + ")" * depth
