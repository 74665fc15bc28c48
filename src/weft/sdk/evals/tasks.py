"""Task files: what a model is asked, the files it finds, and how the result is judged.

A file is TOML: one `[[task]]` for each, with the fields of `Task`. Two sets ship with Weft; see `sets/`.
"""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import UsageError
from weft.schema.content import Json

SETS: Final = Path(__file__).with_name("sets")


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`check` is a shell command run in the folder afterwards: exit code 0 is success. `answer` is a regular
    expression that the final text must have. `keep` are files that must be as they were."""

    name: str
    prompt: str
    files: dict[str, str] = {}
    package: str = ""
    """`name==version` from PyPI: its files are put into the folder, without those that it depends on."""
    check: str = ""
    answer: str = ""
    keep: tuple[str, ...] = ()
    solution: tuple[Json, ...] = ()
    """Actions that do it, for a scripted model: proof that the check can pass."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    task: list[Task]


def read_tasks(name: str) -> tuple[Task, ...]:
    """The tasks of a shipped set, or of a file.

    Raises:
        UsageError: there is no such set or file, or it cannot be used; the message says why.
    """
    path = SETS / f"{name}.toml"
    if not path.is_file():
        path = Path(name).expanduser()
    try:
        tasks = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File).task
    except OSError:
        raise UsageError(f"there are no tasks {name!r}", hint=f"Shipped are {', '.join(shipped())}.") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be used: {error}") from None
    for task in tasks:
        _check(task, path)
    if not tasks:
        raise UsageError(f"{path} has no tasks")
    return tuple(tasks)


def _check(task: Task, path: Path) -> None:
    if not task.check and not task.answer:
        raise UsageError(f"{path}: {task.name} has neither a check nor an answer: nothing could fail")
    for name in (*task.files, *task.keep):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UsageError(f"{path}: {task.name}: the path {name!r} leads out of the folder")


def shipped() -> list[str]:
    return sorted(path.stem for path in SETS.glob("*.toml"))
