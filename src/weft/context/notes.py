"""`# note`: a line added to a memory file of the person's choice."""

import os
from pathlib import Path
from typing import Literal

from weft.context.places import Homes
from weft.errors import UsageError

NoteScope = Literal["user", "project", "local"]
HEADING = "# Notes"


def targets(cwd: Path, homes: Homes) -> dict[NoteScope, Path]:
    """The files that a note can go to. A project that has only AGENTS.md keeps its notes there."""
    project = cwd / "CLAUDE.md"
    if not project.exists() and (cwd / "AGENTS.md").exists():
        project = cwd / "AGENTS.md"
    return {"project": project, "local": cwd / "CLAUDE.local.md", "user": homes.weft / "CLAUDE.md"}


def choose(scope: str | None, cwd: Path, homes: Homes) -> Path:
    """The file of that name; the project's when none is named."""
    found = targets(cwd, homes)
    for name, path in found.items():
        if name == (scope or "project"):
            return path
    raise UsageError(f"There is no memory file called {scope!r}.", hint="Use user, project or local.")


def add(text: str, path: Path) -> Path:
    """Adds a line to the end of the file, which is made when it is not there.

    Raises:
        UsageError: it cannot be written, or is a link to somewhere else.
    """
    line = " ".join(text.split())
    if path.is_symlink() and path.parent.resolve() not in path.resolve().parents:
        raise UsageError(f"{path} is a link to {path.resolve()}; the note was not written.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(fd).st_size
            head = "" if size == 0 or os.pread(fd, 1, size - 1) == b"\n" else "\n"
            if HEADING.encode() not in os.pread(fd, size, 0):
                head += ("\n" if size else "") + HEADING + "\n\n"
            os.write(fd, f"{head}- {line}\n".encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise UsageError(f"The note could not be written to {path}: {error.strerror or error}.") from error
    return path
