"""Mending a damaged log: every line that can be read stays, the rest is put aside, the original is kept."""

import os
from pathlib import Path

from weft.errors import SessionError
from weft.sessions import files


def mend(path: Path) -> str:
    """Writes the readable lines anew, in their order, and keeps the damaged file beside it. A sentence about it.

    Raises:
        SessionError: nothing in it can be read, or it cannot be written.
    """
    data = files.read_bytes(path)
    good: list[bytes] = []
    bad = 0
    for line in files.lines(data):
        if files.decode(line)[1]:
            bad += 1
        else:
            good.append(line)
    if not bad:
        return "there is nothing to mend"
    if not good:
        raise SessionError(f"Nothing in {path} can be read.", hint="Move it away; a new conversation is not affected.")
    aside = path.with_suffix(".jsonl.damaged")
    try:
        _replace(aside, data)
        _replace(path, b"\n".join(good) + b"\n")
    except OSError as error:
        raise SessionError(f"{path} cannot be mended: {error.strerror}.") from None
    return f"mended: {len(good)} records kept, {bad} damaged lines put aside in {aside.name}"


def _replace(path: Path, data: bytes) -> None:
    """All of it or nothing, whatever happens in between."""
    new = path.with_name(f"{path.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
