"""What is read before the model is asked: the list of files, and those that the task speaks of.

These are ordinary calls of read-only tools. They go through the permissions, the person sees them, and they cost the
model nothing but the text that `prompt` shows of them.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final
from uuid import uuid4

from weft.providers.small.turn import LOOK, Files, Turn
from weft.schema.content import Json, ToolUse

EVERYTHING: Final = "**/*"
_MOST: Final = 3
"""Files that are put before the model; a project that has no more of them is shown whole."""
_NAME: Final = re.compile(r"[\w./+-]*\w")
_QUOTED: Final = re.compile(r"[`'\"]([A-Za-z_][\w.]*)(?:\(\))?[`'\"]")
_CODE_LIKE: Final = re.compile(
    r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]+(?:_[A-Z0-9]+)+)\b|\b\w+(?=\(\))"
)
_BINARY: Final = (".png", ".jpg", ".gif", ".pdf", ".zip", ".gz", ".whl", ".so", ".pyc", ".bin", ".gguf", ".ico")


def next_look(turn: Turn) -> tuple[ToolUse, ...]:
    """The calls to make before the model is asked, or none. First the list, then a search where the task names no
    file, then the files; and a file whose edit failed is read again."""
    done = turn.looks
    if "Glob" in turn.tools and not any(step.use.name == "Glob" for step in done):
        return (_call("Glob", pattern=EVERYTHING),)
    if turn.acts:
        return _again(turn)
    files = Files(turn.steps)
    wanted = named_files(turn.task, files.paths)
    searched = [step for step in done if step.use.name == "Grep"]
    if not wanted and 0 < len(files.paths) <= _MOST:
        wanted = [path for path in files.paths if not path.endswith(_BINARY)]
    if not wanted and not searched and "Grep" in turn.tools and (words := code_words(turn.task)):
        pattern = rf"\b({'|'.join(re.escape(word) for word in words[:4])})\b"
        return (_call("Grep", pattern=pattern, output_mode="files_with_matches"),)
    for step in searched:
        found = [files.short(line) for line in step.text.split("\n")]
        wanted += [path for path in found if path in files.paths][:2]
    if "Read" not in turn.tools:
        return ()
    asked = {files.short(str(step.use.input.get("file_path"))) for step in done if step.use.name == "Read"}
    return tuple(_call("Read", file_path=path) for path in wanted[:_MOST] if path not in asked)


def _again(turn: Turn) -> tuple[ToolUse, ...]:
    last = turn.steps[-1]
    if last.looked or not last.failed or last.use.name != "Edit" or "Read" not in turn.tools:
        return ()
    return (_call("Read", file_path=last.use.input.get("file_path")),)


def named_files(task: str, paths: Iterable[str], *, binary: bool = False) -> list[str]:
    """The paths that the task names, whole or by their last part, in the order of their naming. A name that fits
    several files is taken for none of them unless one of them is at the top. Those that are no text are left out
    unless `binary` is wanted."""
    known = list(paths)
    found: list[str] = []
    for word in _NAME.findall(task):
        word = word.strip("./") if word not in known else word
        if word in known:
            fits = [word]
        elif "." in word or word.istitle() or word.isupper():
            fits = [path for path in known if path.endswith(f"/{word}") or PurePosixPath(path).name == word]
        else:
            fits = []
        if len(fits) == 1 and fits[0] not in found:
            found.append(fits[0])
    return [path for path in found if binary or not path.endswith(_BINARY)]


def code_words(task: str) -> list[str]:
    """Names in the task that look like code: quoted, with an underscore, in camel case, or followed by brackets."""
    quoted = [word for group in _QUOTED.findall(task) for word in [group.rpartition(".")[2]]]
    words = [*quoted, *_CODE_LIKE.findall(task)]
    return [word for word in dict.fromkeys(words) if len(word) > 2]


def _call(name: str, **arguments: object) -> ToolUse:
    given: Json = dict(arguments)
    return ToolUse(f"{LOOK}{uuid4().hex[:12]}", name, given)
