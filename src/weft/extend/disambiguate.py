"""Which participant a prompt is for when it names none: by likeness to the examples that the manifests give.

No model is asked: a wrong guess would hand the person's turn to somebody else, so the likeness has to be high and
clearly higher than the next one.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from weft.extend.manifest import Disambiguation, ParticipantEntry

ENOUGH: Final = 0.72
LEAD: Final = 0.12
LONGEST: Final = 400
_WORD: Final = re.compile(r"[^\W_]{2,}")
_PLAIN: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can do does for from have how i in is it its me my of on or our please so that "
        "the there this to us was we what when where which who why will with you your",
    )
)


class Guess(msgspec.Struct, frozen=True):
    participant: str
    command: str
    category: str
    score: float


def guess(prompt: str, participants: Iterable[ParticipantEntry]) -> Guess | None:
    """The participant, and its command where that was the likeness; None when nothing is like enough."""
    if len(prompt) > LONGEST:
        return None
    asked = _words(prompt)
    if not asked:
        return None
    best: dict[str, Guess] = {}
    for entry in participants:
        for command, one in _all(entry):
            score = max((_likeness(asked, _words(example)) for example in one.examples), default=0.0)
            known = best.get(entry.name)
            if known is None or score > known.score:
                best[entry.name] = Guess(entry.name, command, one.category, score)
    ranked = sorted(best.values(), key=lambda one: -one.score)
    if not ranked or ranked[0].score < ENOUGH:
        return None
    if len(ranked) > 1 and ranked[0].score - ranked[1].score < LEAD:
        return None
    return ranked[0]


def _all(entry: ParticipantEntry) -> Iterable[tuple[str, Disambiguation]]:
    for one in entry.disambiguation:
        yield "", one
    for command in entry.command:
        for one in command.disambiguation:
            yield command.name, one


def _words(text: str) -> Counter[str]:
    return Counter(_stem(word) for word in _WORD.findall(text.lower()) if word not in _PLAIN)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    size = math.sqrt(sum(n * n for n in one.values())) * math.sqrt(sum(n * n for n in other.values()))
    return shared / size if size else 0.0
