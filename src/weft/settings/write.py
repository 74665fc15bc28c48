"""Writes to a settings file, atomically and without losing what we do not know in it."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from weft.errors import SettingsError
from weft.schema.content import Json


def edit_file(path: Path, change: Callable[[Json], None]) -> None:
    """Reads the file, lets `change` alter its object in place, and replaces it. A missing file starts as `{}`.

    Key order is kept; the text is indented by two spaces. A symlink is followed, so that dotfiles stay links.

    Raises:
        SettingsError: the file is not a JSON object, or cannot be written. Nothing was changed then.
    """
    target = Path(os.path.realpath(path))
    try:
        text = target.read_bytes().removeprefix(b"\xef\xbb\xbf")
        data = msgspec.json.decode(text, type=dict[str, object]) if text.strip() else {}
    except FileNotFoundError:
        data = {}
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be changed: {error}", hint="mend the file by hand first") from error
    change(data)
    try:
        _replace(target, msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from error


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # costly to import, and few runs write settings

    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".settings-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
