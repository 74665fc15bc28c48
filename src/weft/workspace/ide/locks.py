"""Lock files of editors: where they are, which fit, and which one to attach to.

A lock says that an editor was there. Whether it still is, only a connection can tell: its pid may be of another
machine, container or time. Locks of others are never removed.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from weft.paths import claude_home, user_home, weft_home
from weft.protocols.ide.lock import Lock, decode_lock
from weft.workspace.ide.paths import PathMap, is_below, read_path_map

MAX_LOCK = 1 << 16


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A lock, where it was found, and how its paths map to ours. `hosts` are tried in order."""

    lock: Lock
    path: Path
    mtime: float
    hosts: tuple[str, ...] = ("127.0.0.1",)
    paths: PathMap = PathMap()

    def covers(self, cwd: Path) -> bool:
        """Whether the editor has our folder open, or one above it."""
        ours = os.path.realpath(cwd)
        return any(is_below(ours, os.path.realpath(self.paths.to_ours(folder))) for folder in self.lock.folders)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What to attach to without asking: `found`; or None, with the `candidates` that a person may choose from."""

    found: Found | None = None
    candidates: tuple[Found, ...] = ()
    reason: str = ""


def lock_folders(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where editors write their locks, each folder once."""
    folders = [claude_home(env) / "ide", user_home(env) / ".claude" / "ide", weft_home(env) / "ide"]
    if env.get("WSL_DISTRO_NAME"):
        users = Path(env.get("WEFT_WINDOWS_USERS", "/mnt/c/Users"))
        folders += [home / ".claude" / "ide" for home in _list(users) if home.name not in ("Public", "Default")]
    return tuple(dict.fromkeys(folders))


def find_locks(env: Mapping[str, str] | None = None) -> tuple[Found, ...]:
    """All usable locks, newest first. Files that others could have written are passed over."""
    env = os.environ if env is None else env
    found: list[Found] = []
    for folder in lock_folders(env):
        for path in _list(folder):
            item = _read(path, env)
            if item is not None and all(item.lock.port != other.lock.port for other in found):
                found.append(item)
    return tuple(sorted(found, key=lambda item: -item.mtime))


def choose(cwd: Path, env: Mapping[str, str] | None = None, *, auto: bool = False) -> Choice:
    """Which editor to attach to, by the variables of the terminal we run in, else by folder when `auto` is set.

    `CLAUDE_CODE_AUTO_CONNECT_IDE` says `true` or `false` for all; several that fit are left to the person.
    """
    env = os.environ if env is None else env
    found = find_locks(env)
    switch = env.get("CLAUDE_CODE_AUTO_CONNECT_IDE", "").lower()
    if switch in ("false", "0"):
        return Choice(candidates=found, reason="CLAUDE_CODE_AUTO_CONNECT_IDE is false")
    port = env.get("CLAUDE_CODE_SSE_PORT", "")
    if port:
        named = [item for item in found if str(item.lock.port) == port]
        return Choice(
            found=named[0] if named else None,
            candidates=found,
            reason="" if named else f"no editor has left a lock file for port {port[:10]}",
        )
    if not auto and switch not in ("true", "1"):
        return Choice(candidates=found, reason="attaching was not asked for")
    anywhere = env.get("CLAUDE_CODE_IDE_SKIP_VALID_CHECK", "").lower() in ("true", "1")
    fitting = tuple(item for item in found if anywhere or item.covers(cwd))
    if len(fitting) == 1:
        return Choice(found=fitting[0], candidates=fitting)
    return Choice(
        candidates=fitting or found,
        reason="several editors have this folder open" if fitting else "no editor has this folder open",
    )


def _read(path: Path, env: Mapping[str, str]) -> Found | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_ours(status, path, env):
                return None
            lock = decode_lock(path.name, file.read(MAX_LOCK))
    except OSError:
        return None
    if lock is None or lock.transport != "ws":
        return None
    outside = lock.windows and bool(env.get("WSL_DISTRO_NAME"))
    return Found(
        lock=lock,
        path=path,
        mtime=status.st_mtime,
        hosts=_hosts(env, outside=outside),
        paths=read_path_map(env, windows=outside),
    )


def _is_ours(status: os.stat_result, path: Path, env: Mapping[str, str]) -> bool:
    """Written by us or by root, and by nobody else since. Windows folders under WSL have no such modes."""
    if env.get("WSL_DISTRO_NAME") and path.is_relative_to("/mnt"):
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022


def _hosts(env: Mapping[str, str], *, outside: bool) -> tuple[str, ...]:
    override = env.get("CLAUDE_CODE_IDE_HOST_OVERRIDE")
    if override:
        return (override,)
    gateway = default_gateway() if outside else None
    return ("127.0.0.1", gateway) if gateway else ("127.0.0.1",)


def default_gateway(table: Path = Path("/proc/net/route")) -> str | None:
    """Where Windows answers when WSL has a network of its own."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return None
    for row in rows:
        if len(row) > 2 and row[1] == "00000000" and row[2] != "00000000":
            return ".".join(str(byte) for byte in reversed(bytes.fromhex(row[2])))
    return None


def listener_is_foreign(port: int, tables: Sequence[Path] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> bool:
    """Whether another user's program listens on this port of ours: then a stale lock points at a stranger."""
    wanted = f":{port:04X}"
    for table in tables:
        try:
            rows = [line.split() for line in table.read_text().splitlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if len(row) > 7 and row[1].endswith(wanted) and row[3] == "0A" and row[7].isdigit():
                return int(row[7]) not in (os.getuid(), 0)
    return False


def _list(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
