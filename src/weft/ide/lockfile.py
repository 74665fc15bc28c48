"""The lock file of an editor, on disk: readable by its owner only, in a folder of its owner only.

The last port and token of a project are kept beside it, so that an editor that restarts is found again by agents
that still hold them.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec

from weft.errors import WorkspaceError
from weft.protocols.ide.lock import Lock, encode_lock


class Seat(msgspec.Struct, frozen=True):
    """Where an editor listens, and the word that lets agents in."""

    port: int
    token: str


def private_folder(folder: Path) -> Path:
    """Makes `folder` if needed, and sees to it that only its owner can enter.

    Raises:
        WorkspaceError: it is a symbolic link, not a folder, or somebody else's.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"{folder} is not a plain folder", hint="Remove it, and start again.")
    if found.st_uid != os.getuid():
        raise WorkspaceError(f"{folder} belongs to somebody else", hint="Set CLAUDE_CONFIG_DIR to a folder of yours.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def write_private(path: Path, data: bytes) -> None:
    """Whole or not at all, and never through a link; mode 0600 from the first byte on."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class LockFile:
    """A lock on disk, from `write` until `remove`. Only a file that we wrote is ever removed."""

    def __init__(self, home: Path, lock: Lock) -> None:
        self.path = home / "ide" / f"{lock.port}.lock"
        self._data = encode_lock(lock)

    def write(self) -> None:
        private_folder(self.path.parent)
        write_private(self.path, self._data)

    def remove(self) -> None:
        """Safe to call twice. A lock that another editor put in its place stays."""
        with contextlib.suppress(OSError):
            if self.path.read_bytes() == self._data:
                self.path.unlink()


def _seat_file(home: Path, folders: Sequence[Path]) -> Path:
    digest = hashlib.sha256("\0".join(str(folder) for folder in folders).encode()).hexdigest()[:24]
    return home / "ide-seats" / f"{digest}.json"


def last_seat(home: Path, folders: Sequence[Path]) -> Seat | None:
    """The seat of the last editor of these folders; None when there was none, or others could have read it."""
    path = _seat_file(home, folders)
    try:
        if path.is_symlink() or stat.S_IMODE(path.stat().st_mode) & 0o077:
            return None
        seat = msgspec.json.decode(path.read_bytes(), type=Seat)
    except (OSError, msgspec.DecodeError):
        return None
    return seat if 10000 <= seat.port <= 65535 and len(seat.token) >= 32 else None


def keep_seat(home: Path, folders: Sequence[Path], seat: Seat) -> None:
    path = _seat_file(home, folders)
    private_folder(path.parent)
    write_private(path, msgspec.json.encode(seat))


def new_seat() -> Seat:
    """A random port in the protocol's range, and a random token."""
    return Seat(10000 + secrets.randbelow(55536), str(uuid.uuid4()))
