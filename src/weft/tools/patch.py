"""Patches as models write them: unified diffs, and the `*** Begin Patch` form. Parsed, then applied strictly.

Every line that a patch keeps or removes must be in the file as it stands in the patch. Line numbers are a hint: the
place is the nearest one where the lines are.
"""

import re

import msgspec

from weft.errors import ToolError
from weft.tools.text import TextFile

_RANGE = re.compile(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Chunk(msgspec.Struct):
    """Marked lines (` `, `-`, `+`). `line` is where a unified diff says they begin, from 0; `anchor` a line above."""

    lines: list[str]
    line: int | None = None
    anchor: str = ""
    bare: set[int] = msgspec.field(default_factory=set[int])
    """Lines without a newline at their end."""


class FileChange(msgspec.Struct):
    """What happens to one file. `path` is None for a new file, `new_path` for a removed one."""

    path: str | None
    new_path: str | None
    chunks: list[Chunk] = msgspec.field(default_factory=list[Chunk])


def parse_patch(text: str) -> list[FileChange]:
    """
    Raises:
        ToolError: it is not a patch.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    found = _parse_marked(lines) if any(line.startswith("*** Begin Patch") for line in lines) else _parse_unified(lines)
    if not found:
        raise ToolError("there is no change in the patch. It is a unified diff, or begins with *** Begin Patch.")
    return found


def _parse_marked(lines: list[str]) -> list[FileChange]:
    found: list[FileChange] = []
    for number, line in enumerate(lines, 1):
        head, _, name = line.partition(": ")
        if head == "*** Add File":
            found.append(FileChange(None, name.strip(), [Chunk([])]))
        elif head == "*** Delete File":
            found.append(FileChange(name.strip(), None))
        elif head == "*** Update File":
            found.append(FileChange(name.strip(), name.strip()))
        elif head == "*** Move to" and found:
            found[-1].new_path = name.strip()
        elif line.startswith("***") or (not found and not line.strip()):
            continue
        elif not found:
            raise ToolError(f"line {number} of the patch is before any file: {line!r}")
        elif line.startswith("@@"):
            found[-1].chunks.append(Chunk([], anchor=line[2:].strip()))
        elif line[:1] in ("+", "-", " ") or not line:
            if not found[-1].chunks:
                found[-1].chunks.append(Chunk([]))
            found[-1].chunks[-1].lines.append(line or " ")
        else:
            raise ToolError(f"line {number} of the patch has no mark (+, - or a space) in front: {line!r}")
    for change in found:
        for chunk in change.chunks:
            while chunk.lines and chunk.lines[-1] == " ":
                chunk.lines.pop()
        if change.path is None and any(not line.startswith("+") for line in change.chunks[0].lines):
            raise ToolError(f"every line of the new file {change.new_path} must begin with +")
    return found


def _name(text: str) -> str | None:
    name = text.split("\t")[0].strip().strip('"')
    return None if name == "/dev/null" else re.sub(r"^[ab]/", "", name)


def _parse_unified(lines: list[str]) -> list[FileChange]:
    found: list[FileChange] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise ToolError("the patch changes a binary file, which cannot be done here")
        if line.startswith("rename from ") and at + 1 < len(lines) and lines[at + 1].startswith("rename to "):
            found.append(FileChange(line[12:].strip(), lines[at + 1][10:].strip()))
            at += 1
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            old, new = _name(line[4:]), _name(lines[at + 1][4:])
            if not (found and not found[-1].chunks and (found[-1].path, found[-1].new_path) == (old, new)):
                found.append(FileChange(old, new))
            at += 1
        elif line.startswith("@@"):
            at = _parse_hunk(lines, at, found)
            continue
        at += 1
    return found


def _parse_hunk(lines: list[str], at: int, found: list[FileChange]) -> int:
    """Reads as many lines as the head says, so that a removed line `-- x` is not taken for a new file."""
    numbers = _RANGE.match(lines[at])
    if numbers is None or not found:
        raise ToolError(f"this is not the head of a change: {lines[at]!r}. It looks like @@ -1,3 +1,4 @@.")
    old_left, new_left = int(numbers[2] or 1), int(numbers[4] or 1)
    start = int(numbers[1])
    chunk = Chunk([], line=max(start - 1, 0) if old_left else start)
    at += 1
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        line = lines[at] or " "
        if line.startswith("\\"):
            chunk.bare.add(len(chunk.lines) - 1)
        elif line[0] in " -+" and not (at == len(lines) - 1 and not lines[at]):
            old_left -= line[0] in " -"
            new_left -= line[0] in " +"
            chunk.lines.append(line)
        else:
            break
        at += 1
    if old_left > 0 or new_left > 0:
        raise ToolError(f"the change at line {start} is shorter than its head says")
    found[-1].chunks.append(chunk)
    return at


def apply_change(file: TextFile, change: FileChange) -> str:
    """The file's new text.

    Raises:
        ToolError: lines that the patch names are not there.
    """
    lines = file.text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    carriage = "\r" if file.newline == "\r\n" else ""
    done: list[str] = []
    at = 0
    for number, chunk in enumerate(change.chunks, 1):
        old = [line[1:] for line in chunk.lines if line[0] in " -"]
        start = _place(lines, old, chunk, at, number, change.path or "")
        done += lines[at:start]
        at = start
        for index, line in enumerate(chunk.lines):
            if line[0] == "+":
                done.append(line[1:] + ("" if index in chunk.bare else carriage))
            else:
                done += [lines[at]] if line[0] == " " else []
                at += 1
        if at == len(lines):
            ended = _ends_with_newline(chunk, ended)
    done += lines[at:]
    return "\n".join(done) + ("\n" if ended and done else "")


def _ends_with_newline(chunk: Chunk, before: bool) -> bool:
    """How the file ends after a change that reaches its end."""
    kept = [index for index, line in enumerate(chunk.lines) if line[0] in " +"]
    if not kept:
        return True
    if kept[-1] in chunk.bare:
        return False
    # A line that stays and was the last keeps its end; one before a removed line has a newline, and so has a new one.
    was_last = chunk.lines[kept[-1]][0] == " " and kept[-1] == len(chunk.lines) - 1
    return before if was_last else True


def _place(lines: list[str], old: list[str], chunk: Chunk, at: int, number: int, path: str) -> int:
    bare = [line.removesuffix("\r") for line in lines]
    if chunk.anchor:
        anchors = [index for index in range(at, len(bare)) if chunk.anchor in bare[index]]
        if not anchors:
            raise ToolError(f"change {number} of {path}: there is no line {chunk.anchor!r}")
        at = anchors[0] if old and bare[anchors[0]] == old[0] else anchors[0] + 1
    if not old:
        if chunk.line is not None:
            return min(max(chunk.line, at), len(lines))
        return at if chunk.anchor else len(lines)
    found = [index for index in range(at, len(bare) - len(old) + 1) if bare[index : index + len(old)] == old]
    if not found:
        shown = "\n".join(old[:10])
        raise ToolError(f"change {number} does not fit {path}: these lines are not in it:\n{shown}")
    wanted = chunk.line
    return found[0] if wanted is None else min(found, key=lambda index: abs(index - wanted))
