"""The schema that the next answer must fit: made from the tools in play and from the state.

Paths are those that exist, old text is a line that is in the file, and "done" is offered after an action that worked,
never first and never after an error.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final, cast

from weft.providers.small.actions import NEEDS
from weft.providers.small.excerpt import CUT, excerpt
from weft.providers.small.look import code_words, named_files
from weft.providers.small.turn import Files, Turn
from weft.schema.content import Json

MOST_ACTS: Final = 14
_LINES: Final = 150
_PATHS: Final = 60
_READS: Final = ("read", "search")
_VERBS: Final = {
    "delete": r"(delet|remov|eras|drop|clean up|unlink|get rid of|throw away)\w*",
    "move": r"(renam|mov|relocat)\w*",
}
_OBJECT: Final = r"(\s+(the|this|that|old|unused|all|both|every|file|folder|module|called|named))*\s+[`'\"]?"
_FILE: Final = r"(files?\b|folders?\b|[\w./-]+\.\w{1,5}\b)"
_RUNS: Final = re.compile(r"\b(tests?|run|runs|pass|passes|fails?|output|outputs|prints?)\b", re.I)


def speaks_of(task: str, action: str) -> bool:
    """Files go or change their names only when the task says so of a file: a function that is renamed, or a line
    that is removed, is another matter. Every other action is always possible."""
    verb = _VERBS.get(action)
    if verb is None:
        return True
    return re.search(rf"\b{verb}{_OBJECT}{_FILE}", task, re.I) is not None


def shape(turn: Turn, files: Files, *, question: bool, room: int, refused: Collection[tuple[str, str]] = ()) -> Json:
    """A choice of flat objects. `refused` are lines, with their files, whose edit was refused: others are offered."""
    options = list(_answering(turn, files) if question else _working(turn, files, room, refused))
    return {"anyOf": options}


def offered(schema: Json) -> set[str]:
    """The names of the actions: a server that cannot constrain its answers may give others."""
    options = cast(list[dict[str, dict[str, dict[str, str]]]], schema["anyOf"])
    return {option["properties"]["action"]["const"] for option in options}


def may_end(turn: Turn) -> bool:
    acts = turn.acts
    if len(acts) >= MOST_ACTS:
        return True
    worked = any(not step.failed and step.use.name not in ("Read", "Grep") for step in acts)
    return worked and not acts[-1].failed


def _answering(turn: Turn, files: Files) -> Iterator[Json]:
    if len(turn.acts) < MOST_ACTS:
        yield from _reading(turn, files)
        if "Bash" in turn.tools and _RUNS.search(turn.task):
            yield _object("run", command=_STRING)
    yield _object("answer", text=_STRING)


def _working(turn: Turn, files: Files, room: int, refused: Collection[tuple[str, str]]) -> Iterator[Json]:
    if len(turn.acts) < MOST_ACTS:
        yield from _changing(turn, files, room, refused)
        yield from _reading(turn, files)
    if may_end(turn):
        yield _object("done", text=_STRING)


def _changing(turn: Turn, files: Files, room: int, refused: Collection[tuple[str, str]]) -> Iterator[Json]:
    share = max(room // max(len(files.texts), 1), 400)
    for path, text in files.texts.items():
        if _has(turn, "edit") and (lines := old_lines(text, turn.task, share)):
            # A line of brackets alone is no line to change.
            old = [line for line in lines if re.search(r"\w", line) and (path, line) not in refused]
            yield _object("edit", path={"const": path}, old={"enum": old or lines}, new=_STRING)
            yield _object("insert", path={"const": path}, after={"enum": lines}, text=_STRING)
        if _has(turn, "replace_all") and (words := repeated_words(text, turn.task)):
            yield _object("replace_all", path={"const": path}, old={"enum": words}, new=_STRING)
    if _has(turn, "append") and files.texts:
        yield _object("append", path={"enum": list(files.texts)}, text=_STRING)
    if _has(turn, "write"):
        yield _object("write", path=_STRING, text=_STRING)
    # Where the task names files, no others are deleted or moved.
    paths = named_files(turn.task, files.paths, binary=True) or _paths(turn, files)
    if _has(turn, "delete") and paths and speaks_of(turn.task, "delete"):
        yield _object("delete", path={"enum": paths})
    if _has(turn, "move") and paths and speaks_of(turn.task, "move"):
        yield _object("move", path={"enum": paths}, to=_STRING)
    if _has(turn, "run"):
        yield _object("run", command=_STRING)


def _reading(turn: Turn, files: Files) -> Iterator[Json]:
    unread = [path for path in _paths(turn, files) if path not in files.texts]
    if _has(turn, "read") and unread:
        yield _object("read", path={"enum": unread})
    if _has(turn, "search") and unread:
        yield _object("search", text=_STRING)


def _has(turn: Turn, action: str) -> bool:
    return NEEDS[action] in turn.tools


def _paths(turn: Turn, files: Files) -> list[str]:
    first = named_files(turn.task, files.paths)
    return [*first, *(path for path in files.paths if path not in first)][:_PATHS]


def old_lines(text: str, task: str, room: int) -> list[str]:
    """Lines that may be replaced. One that occurs again is told apart by the line before it."""
    lines = text.split("\n")
    if len(lines) > _LINES:
        lines = [line for line in excerpt(text, task, room) if line != CUT]
    found: list[str] = []
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if line in found and at:
            line = f"{lines[at - 1]}\n{line}"
        if line not in found:
            found.append(line)
    return found[:_LINES]


def repeated_words(text: str, task: str) -> list[str]:
    """Names that the task speaks of and that the file has more than once."""
    words = [*code_words(task), *re.findall(r"\b[A-Za-z_]\w{2,}\b", task)]
    return [
        word
        for word in dict.fromkeys(words)
        if word.lower() not in _PLAIN and len(re.findall(rf"\b{re.escape(word)}\b", text)) > 1
    ]


_COMMON: Final = "the and for with that this from into not are was its file line return def class import"
_PLAIN: Final = frozenset(_COMMON.split())
_STRING: Final[Json] = {"type": "string"}


def _object(action: str, **fields: Json) -> Json:
    properties: Json = {"action": {"const": action}, **fields}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
