"""Path patterns with `*`, `**`, `?`, `[a-z]` and `{a,b}`, as one regular expression each."""

import re
from functools import lru_cache
from itertools import pairwise


def alternatives(pattern: str) -> list[str]:
    """Braces written out, inner ones too.

    Raises:
        re.error: there would be too many.
    """
    if pattern.count(",") > 64:
        raise re.error("too many alternatives")
    depth = 0
    start = -1
    commas: list[int] = []
    for at, mark in enumerate(pattern):
        if mark == "{":
            depth += 1
            if depth == 1:
                start, commas = at, []
        elif mark == "," and depth == 1:
            commas.append(at)
        elif mark == "}" and depth:
            depth -= 1
            if depth == 0 and commas:
                cuts = [start, *commas, at]
                parts = [pattern[a + 1 : b] for a, b in pairwise(cuts)]
                return [each for part in parts for each in alternatives(pattern[:start] + part + pattern[at + 1 :])]
    return [pattern]


def _translate(pattern: str) -> str:
    out = ""
    at = 0
    while at < len(pattern):
        mark = pattern[at]
        if pattern.startswith("**/", at):
            out += "(?:.*/)?"
            at += 3
            continue
        if pattern.startswith("**", at):
            out += ".*"
            at += 2
            continue
        if mark == "*":
            out += "[^/]*"
        elif mark == "?":
            out += "[^/]"
        elif mark == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\")
            out += f"[{'^' + inner[1:] if inner[:1] in '!^' else inner}]"
            at = end
        elif mark == "\\" and at + 1 < len(pattern):
            at += 1
            out += re.escape(pattern[at])
        else:
            out += re.escape(mark)
        at += 1
    return out


@lru_cache(256)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Matches whole relative paths. A pattern without a slash matches the name in any folder.

    Raises:
        re.error: a character class in it makes no sense.
    """
    prefix = "" if "/" in pattern else "(?:.*/)?"
    pattern = re.sub(r"(\*\*/)+", "**/", pattern)
    choices = "|".join(_translate(each.removeprefix("./").removeprefix("/")) for each in alternatives(pattern))
    return re.compile(f"{prefix}(?:{choices})", re.DOTALL)


def last_names(pattern: str) -> list[str] | None:
    """Patterns for the file's own name that every match has; None when the pattern says nothing about it."""
    names = [each.rsplit("/", 1)[-1] for each in alternatives(pattern)]
    return None if any("**" in name or not name or "{" in name for name in names) else names
