"""`@path` in a memory file: the file named joins what the model is told, four hops deep at most.

An import is followed only to a file inside what is trusted for the file that asks, with every link resolved first:
a project's file reaches its project, the person's own file their home, the organisation's file anything.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MAX_HOPS: Final = 4
MAX_SIZE: Final = 256 * 1024
_FENCE: Final = r" {0,3}(```+|~~~+)"
_SPAN: Final = r"(?s)(`+)(?:.+?)\1"
_IMPORT: Final = r"(?:^|(?<=[\s(]))@((?:[^\s\\`()]|\\.)+)"
_COMMENT: Final = r"(?s)<!--.*?-->"


def outside_code(text: str) -> str:
    """The text with fenced blocks and code spans left out."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(_FENCE, line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        kept.append(line)
    return re.sub(_SPAN, " ", "\n".join(kept))


def imports_in(text: str) -> Iterator[str]:
    """The paths that a memory file imports, in order, as they are written."""
    for found in re.finditer(_IMPORT, re.sub(_COMMENT, " ", outside_code(text))):
        yield re.sub(r"\\(.)", r"\1", found[1]).rstrip(".,;:!?")


def resolve(name: str, base: Path, home: Path, trusted: tuple[Path, ...]) -> Path | None:
    """The real file that an import means; None when it is not there, not a file, or not trusted."""
    if name.startswith("~/"):
        path = home / name[2:]
    elif name.startswith("~"):
        return None
    else:
        path = base / name
    real = Path(os.path.realpath(path))
    if not any(real == folder or folder in real.parents for folder in trusted) or not real.is_file():
        return None
    return real


def read_text(path: Path) -> str | None:
    """A regular text file of a sane size; None for anything else. Never waits on a pipe or device."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not os.path.isfile(path) or os.fstat(fd).st_size > MAX_SIZE:
                return None
            data = os.read(fd, MAX_SIZE + 1)
        finally:
            os.close(fd)
    except OSError:
        return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
