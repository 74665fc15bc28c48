"""The part of a file that a small model is shown: all of a short one, of a long one what the task speaks of."""

import re
from collections.abc import Sequence

CUT = "…"


def excerpt(text: str, task: str, room: int) -> list[str]:
    """Whole lines of `text` within about `room` characters, around those that share most words with the task.
    A lone `…` stands for what is left out."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if sum(len(line) + 1 for line in lines) <= room:
        return lines
    scores = _scores(lines, task)
    kept: set[int] = set()
    used = 0
    spoken_of = [n for n in range(len(lines)) if scores[n]] or [0]
    for at in sorted(spoken_of, key=lambda n: (-scores[n], n)):
        around = [n for n in range(max(0, at - 3), min(len(lines), at + 8)) if n not in kept]
        cost = sum(len(lines[n]) + 1 for n in around)
        if used + cost > room:
            if not kept:
                return [line[:200] for line in lines[at : at + max(1, room // 200)]]
            break
        kept.update(around)
        used += cost
    return _joined(lines, kept)


def _scores(lines: Sequence[str], task: str) -> list[float]:
    """A rare word weighs more than one that stands on every second line; a definition weighs double."""
    words = {word.lower() for word in re.findall(r"\w{3,}", task)}
    found = [{word.lower() for word in re.findall(r"\w{3,}", line)} & words for line in lines]
    count = {word: sum(word in one for one in found) for word in words}
    return [
        sum(1 / count[word] for word in one) * (2 if re.match(r"\s*(def|class|function|fn|func) ", line) else 1)
        for line, one in zip(lines, found, strict=True)
    ]


def _joined(lines: Sequence[str], kept: set[int]) -> list[str]:
    shown: list[str] = []
    before = -1
    for at in sorted(kept):
        if at != before + 1:
            shown.append(CUT)
        shown.append(lines[at])
        before = at
    if before != len(lines) - 1:
        shown.append(CUT)
    return shown
