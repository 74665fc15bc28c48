"""Is it a question or a task? Small models edit when they are only asked, so a question gets no edit tools."""

import re
from itertools import pairwise
from typing import Final

_ASKING: Final = """\
what which who whom whose why how explain describe tell list show count summarize summarise name find identify
compare"""
_ACTING: Final = """\
add append change clean comment convert copy correct create delete drop edit ensure extend extract fix format generate
implement improve increase decrease insert install introduce make mend modify move optimize put raise refactor remove
rename reorder repair replace reverse rewrite run save set simplify sort split store swap translate turn update use
write"""
_ASKS: Final = frozenset(_ASKING.split())
_ACTS: Final = frozenset(_ACTING.split())
_POLITE: Final = re.compile(r"^(please|now|then|and|also|next|first|finally|so|ok|okay|hi|hello|hey)[,\s]+", re.I)
_REQUEST: Final = re.compile(r"^(can|could|would|will) you\s+(please\s+|kindly\s+)?(\w+)", re.I)
_SENTENCE: Final = re.compile(r"(?<=[.!?:;])\s+|\n+")


def is_question(task: str) -> bool:
    """True when no sentence of it asks for a change and one of them asks something."""
    sentences = [_plain(sentence) for sentence in _SENTENCE.split(task.strip()) if sentence.strip()]
    if any(_is_order(sentence) for sentence in sentences):
        return False
    return any(_is_asking(sentence) for sentence in sentences)


def _plain(sentence: str) -> str:
    before, plain = "", sentence.strip()
    while plain != before:
        before, plain = plain, _POLITE.sub("", plain).strip()
    return plain


def _is_order(sentence: str) -> bool:
    found = _REQUEST.match(sentence)
    if found:
        return found[3].lower() in _ACTS
    words = re.findall(r"[\w']+", sentence.lower())
    if not words:
        return False
    if words[0] in _ACTS:
        return True
    # "Find the bug and fix it": a second verb makes an order of it; "How do I add and remove?" stays a question.
    if sentence.endswith("?"):
        return False
    pairs = pairwise(words)
    return any(first in ("and", "then", "to", "must", "should", "needs") and then in _ACTS for first, then in pairs)


def _is_asking(sentence: str) -> bool:
    words = re.findall(r"[\w']+", sentence.lower())
    if sentence.endswith("?"):
        return True
    # "What is wrong must be reported": a wish, though it begins like a question.
    return bool(words) and words[0].split("'")[0] in _ASKS and not {"should", "must"} & set(words)
