"""Differences between two texts as hunks: shown by every surface, and applied hunk by hunk where a person chooses.

Lines end at LF only, so any text round-trips: `apply_hunks(a, hunks(a, b)) == b`.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from weft.errors import ToolError

NO_NEWLINE = "\\ No newline at end of file"
_REWRITE = 20_000
"""From this many changed lines on both sides, looking for what they share costs more than it shows."""


class Hunk(msgspec.Struct, frozen=True, rename="camel"):
    """One run of changes. `lines` begin with a space, `-`, `+`, or are `NO_NEWLINE` for the line above.

    Starts count from 1. A side without lines has the number of the line before it, as `diff -u` has it.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """Lines with their LF; the last may lack it. Nothing else ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    found = [line + "\n" for line in lines]
    return [*found, last] if last else found


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterable[tuple[str, int, int, int, int]]:
    """difflib's opcodes. What both sides share at their ends is cut off first, which is most of a usual edit."""
    head = 0
    shortest = min(len(old), len(new))
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield "equal", 0, head, 0, head
    if min(old_end - head, new_end - head) > _REWRITE:
        yield "replace", head, old_end, head, new_end
    elif old_end > head or new_end > head:
        from difflib import SequenceMatcher

        matcher = SequenceMatcher(None, old[head:old_end], new[head:new_end])
        for tag, a, b, c, d in matcher.get_opcodes():
            yield tag, a + head, b + head, c + head, d + head
    if tail:
        yield "equal", old_end, len(old), new_end, len(new)


def _grouped(
    codes: Iterable[tuple[str, int, int, int, int]], context: int
) -> Iterable[list[tuple[str, int, int, int, int]]]:
    group: list[tuple[str, int, int, int, int]] = []
    before: tuple[str, int, int, int, int] | None = None
    for tag, a, b, c, d in codes:
        if tag != "equal":
            if before is not None:
                _, e, f, g, h = before
                cut = max(e, f - context)
                if cut < f:
                    group.append(("equal", cut, f, g + (cut - e), h))
                before = None
            group.append((tag, a, b, c, d))
        elif not group:
            before = (tag, a, b, c, d)
        elif b - a <= 2 * context:
            group.append((tag, a, b, c, d))
        else:
            group.append(("equal", a, a + context, c, c + context)) if context else None
            yield group
            group, before = [], (tag, a, b, c, d)
    if group:
        tag, a, b, c, d = group[-1]
        if tag == "equal" and b - a > context:
            group[-1:] = [(tag, a, a + context, c, c + context)] if context else []
        yield group


def _entry(mark: str, line: str) -> tuple[str, ...]:
    return (mark + line[:-1],) if line.endswith("\n") else (mark + line, NO_NEWLINE)


def hunks(before: str, after: str, *, context: int = 3) -> tuple[Hunk, ...]:
    """What turns `before` into `after`; empty when they are equal."""
    if before == after:
        return ()
    old, new = split_lines(before), split_lines(after)
    found: list[Hunk] = []
    for group in _grouped(_opcodes(old, new), context):
        lines: list[str] = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                for line in old[a:b]:
                    lines += _entry(" ", line)
                continue
            for line in old[a:b]:
                lines += _entry("-", line)
            for line in new[c:d]:
                lines += _entry("+", line)
        first, last = group[0], group[-1]
        old_count, new_count = last[2] - first[1], last[4] - first[3]
        found.append(
            Hunk(
                first[1] + (1 if old_count else 0),
                old_count,
                first[3] + (1 if new_count else 0),
                new_count,
                tuple(lines),
            )
        )
    return tuple(found)


def sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """The lines of a hunk before and after it, with their LF."""
    old: list[str] = []
    new: list[str] = []
    for index, line in enumerate(hunk.lines):
        if line == NO_NEWLINE:
            continue
        bare = index + 1 < len(hunk.lines) and hunk.lines[index + 1] == NO_NEWLINE
        text = line[1:] + ("" if bare else "\n")
        if line[:1] in (" ", "-"):
            old.append(text)
        if line[:1] in (" ", "+"):
            new.append(text)
    return old, new


def apply_hunks(before: str, chosen: Sequence[Hunk]) -> str:
    """The text with these hunks of it done, in any subset.

    Raises:
        ToolError: a hunk does not fit the text.
    """
    lines = split_lines(before)
    done: list[str] = []
    at = 0
    for hunk in sorted(chosen, key=lambda each: each.old_start):
        old, new = sides(hunk)
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        if start < at or lines[start : start + len(old)] != old:
            raise ToolError(f"the change at line {hunk.old_start} does not fit the file as it is now")
        done += lines[at:start]
        done += new
        at = start + len(old)
    return "".join(done + lines[at:])


def accept(before: str, after: str, indexes: Collection[int]) -> str:
    """`before` with only these hunks of the difference: all of them give `after`, none give `before`."""
    found = hunks(before, after)
    return apply_hunks(before, [hunk for index, hunk in enumerate(found) if index in indexes])


def structured_patch(before: str, after: str) -> list[dict[str, object]]:
    """The hunks as stream-json clients read them."""
    return [
        {
            "oldStart": hunk.old_start,
            "oldLines": hunk.old_lines,
            "newStart": hunk.new_start,
            "newLines": hunk.new_lines,
            "lines": list(hunk.lines),
        }
        for hunk in hunks(before, after)
    ]


def unified(before: str | None, after: str | None, path: str) -> str:
    """A patch that `git apply` takes; None is a file that is not there."""
    header = (
        f"--- {'/dev/null' if before is None else 'a/' + path}\n+++ {'/dev/null' if after is None else 'b/' + path}\n"
    )
    body = ""
    for hunk in hunks(before or "", after or ""):
        body += f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@\n"
        body += "\n".join(hunk.lines) + "\n"
    return header + body if body else ""


def counts(before: str | None, after: str | None) -> tuple[int, int]:
    """Lines added and removed."""
    added = removed = 0
    for hunk in hunks(before or "", after or "", context=0):
        added += sum(line.startswith("+") for line in hunk.lines)
        removed += sum(line.startswith("-") for line in hunk.lines)
    return added, removed
