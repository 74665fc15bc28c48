"""A file before and after, as hunks that a person can read and refuse one by one."""

import difflib
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from weft.schema.content import Json
from weft.schema.display import DiffView

CONTEXT = 3
"""Lines shown around a change. Changes with no more than twice as many between them are one hunk."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a hunk: both numbers for context, one for a line that was removed or added."""

    kind: Literal["same", "old", "new"]
    text: str
    old: int | None = None
    new: int | None = None


class Hunk(msgspec.Struct, frozen=True):
    """Lines `old_start` (from 0) and on become those of `after`; `rows` show it with its surroundings."""

    old_start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    rows: tuple[Row, ...]


def split_lines(text: str | None) -> list[str]:
    """Lines with their ends. Only LF ends a line: str.splitlines would also cut at form feeds and U+2028."""
    if not text:
        return []
    lines = text.split("\n")
    out = [line + "\n" for line in lines[:-1]]
    return [*out, lines[-1]] if lines[-1] else out


def to_hunks(view: DiffView) -> list[Hunk]:
    old, new = split_lines(view.before), split_lines(view.after)
    return [_hunk(group, old, new) for group in _groups(old, new)]


_Opcode = tuple[str, int, int, int, int]


def _groups(old: Sequence[str], new: Sequence[str]) -> list[list[_Opcode]]:
    """Changes with their context. What is the same at both ends is cut off first: difflib is slow on long files."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    lead = min(head, CONTEXT)
    trail = min(tail, CONTEXT)
    matcher = difflib.SequenceMatcher(
        None, old[head - lead : len(old) - tail + trail], new[head - lead : len(new) - tail + trail], autojunk=True
    )
    shift = head - lead
    return [
        [(tag, a + shift, b + shift, c + shift, d + shift) for tag, a, b, c, d in group]
        for group in matcher.get_grouped_opcodes(CONTEXT)
    ]


def _hunk(group: list[_Opcode], old: Sequence[str], new: Sequence[str]) -> Hunk:
    rows: list[Row] = []
    for tag, old_from, old_to, new_from, new_to in group:
        if tag == "equal":
            for at in range(old_to - old_from):
                rows.append(Row("same", old[old_from + at], old_from + at + 1, new_from + at + 1))
            continue
        rows += [Row("old", old[at], old=at + 1) for at in range(old_from, old_to)]
        rows += [Row("new", new[at], new=at + 1) for at in range(new_from, new_to)]
    return Hunk(
        old_start=group[0][1],
        before=tuple(old[group[0][1] : group[-1][2]]),
        after=tuple(new[group[0][3] : group[-1][4]]),
        rows=tuple(rows),
    )


def apply_hunks(view: DiffView, accepted: Collection[int]) -> str:
    """The file with only the accepted hunks, numbered from 0."""
    lines = split_lines(view.before)
    for number, hunk in reversed(list(enumerate(to_hunks(view)))):
        if number in accepted:
            lines[hunk.old_start : hunk.old_start + len(hunk.before)] = hunk.after
    return "".join(lines)


def can_choose(name: str, input: Json, views: Sequence[object]) -> bool:
    """Whether `chosen_input` can be made: one diff, with two hunks or more, of a tool that we know how to edit."""
    diffs = [view for view in views if isinstance(view, DiffView)]
    if len(diffs) != 1 or diffs[0].after is None:
        return False
    known = name == "Write" or (name in ("Edit", "MultiEdit") and bool(diffs[0].before))
    return known and len(to_hunks(diffs[0])) > 1


def chosen_input(name: str, input: Json, view: DiffView, accepted: Collection[int]) -> Json | None:
    """The input that makes the tool do only the accepted hunks; None when nothing is left to do or we cannot say."""
    target = apply_hunks(view, accepted)
    before = view.before or ""
    if target == before:
        return None
    if name == "Write":
        return {**input, "content": target}
    if name not in ("Edit", "MultiEdit") or not before:
        return None
    old, new = _narrow(before, target)
    edit: Json = {"old_string": old, "new_string": new}
    if name == "MultiEdit":
        return {**input, "edits": [edit]}
    return {**{key: value for key, value in input.items() if key != "replace_all"}, **edit}


def _narrow(before: str, after: str) -> tuple[str, str]:
    """The part that changes, widened by lines until it stands only once in the file."""
    old, new = split_lines(before), split_lines(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    while True:
        part = "".join(old[head : len(old) - tail])
        # Not `count`: it does not see that "b\nb" stands twice in "b\nb\nb".
        if (part and before.find(part) == before.rfind(part)) or not (head or tail):
            return part, "".join(new[head : len(new) - tail])
        head, tail = max(0, head - 1), max(0, tail - 1)
