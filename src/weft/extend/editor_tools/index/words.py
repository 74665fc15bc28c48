"""Words of code and of questions: identifiers are taken apart, so that `HTTPServer` answers to `http server`."""

import re
from typing import Final

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
PLAIN: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be been being but by can could did do does for from get given had has have having how "
        "i if in into is it its may me might must my no nor not of off on one only onto or other our out over own per "
        "same shall she should so some such than that the their them then there these they this those through to too "
        "under until up upon us use used uses using very via was we were what when where which while who whom whose "
        "why will with within without would you your",
    )
)
MOST: Final = 24
_NAME: Final = re.compile(r"(?<=--)[a-z][\w-]+|[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def apart(text: str) -> str:
    """The text with camel case taken apart; everything else is left to the tokenizer."""
    return _CAMEL.sub(" ", text)


def question(text: str) -> list[str]:
    """The words of a question that say something, each once, in order."""
    found = dict.fromkeys(word.lower() for word in _WORD.findall(apart(text)))
    telling = [word for word in found if word not in PLAIN and (len(word) > 1 or not word.isascii())]
    return (telling or list(found))[:MOST]


def names(text: str) -> list[list[str]]:
    """The words of each name in a question that has several: `lru_cache`, `HTTPServer`, `widget.remove`, `--base-uri`.
    Next to each other they say more than each by itself."""
    found: dict[tuple[str, ...], None] = {}
    for name in _NAME.findall(text):
        for one in (name, *name.split(".")):
            words = tuple(word.lower() for word in _WORD.findall(apart(one)))
            if len(words) > 1:
                found.setdefault(words)
    return [list(words) for words in found][:MOST]
