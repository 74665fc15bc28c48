"""The workspace on this machine's disk, and its shell."""

import errno
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio.to_thread

from weft.errors import TransportError, WorkspaceError
from weft.workspace.port import FileStat, Process, RunSpec, Sandbox

if TYPE_CHECKING:
    from weft.transports.process import Child

MAX_FILE = 128 * 1024 * 1024
SMALL = 256 * 1024
"""Up to here a read is faster than handing it to a thread."""
_VIRTUAL = ("/proc/", "/sys/")
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS)

Refuse = Callable[[Path, Literal["read", "write"]], str | None]
"""A last look at the real path of a file that is open already: a sentence refuses it, None lets it pass."""


class LocalProcess:
    """A `Child` as the port has it."""

    def __init__(self, child: "Child") -> None:
        self.id = str(child.pid)
        self._child = child

    async def output(self) -> AsyncIterator[bytes]:
        stdout = self._child.stdout
        if stdout is not None:
            while data := await stdout.receive():
                yield data

    async def wait(self) -> int:
        return await self._child.wait()

    async def kill(self) -> None:
        await self._child.kill()
        self._child.close()


class LocalWorkspace:
    """Files on disk. `sandbox` wraps commands that ask for it; `refuse` closes the gap between the gate's look at
    a path and our opening of it, when a link was swapped in between."""

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        refuse: Refuse | None = None,
        max_file: int = MAX_FILE,
    ) -> None:
        self._roots = tuple(Path(os.path.abspath(root)) for root in roots)
        self._env = dict(env or {})
        self._sandbox = sandbox
        self._refuse = refuse
        self._max_file = max_file

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._roots

    @property
    def sandboxed(self) -> bool:
        """Whether commands that ask for the sandbox get one."""
        return self._sandbox is not None

    def check(self, path: Path, access: Literal["read", "write"]) -> None:
        """The last look, for those who open files in another way.

        Raises:
            WorkspaceError: the real path is refused.
        """
        if self._refuse and (reason := self._refuse(Path(os.path.realpath(path)), access)):
            raise WorkspaceError(reason)

    def add_root(self, root: Path) -> None:
        if root not in self._roots:
            self._roots = (*self._roots, root)

    async def read(self, path: Path) -> bytes:
        fd = self._open(path)
        try:
            if os.fstat(fd).st_size <= SMALL:
                return _read_all(fd, self._max_file, path)
            return await anyio.to_thread.run_sync(_read_all, fd, self._max_file, path)
        finally:
            os.close(fd)

    def _open(self, path: Path) -> int:
        try:
            # Without O_NONBLOCK, opening a FIFO waits for a writer that may never come.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _wrong(path, error) from error
        try:
            real = _real_path(fd, path)
            found = os.fstat(fd)
            _check_regular(path, real, found.st_mode)
            if found.st_size > self._max_file:
                raise WorkspaceError(_too_big(path, found.st_size, self._max_file))
            if self._refuse and (reason := self._refuse(Path(real), "read")):
                raise WorkspaceError(reason)
        except BaseException:
            os.close(fd)
            raise
        return fd

    async def write(self, path: Path, data: bytes) -> None:
        try:
            if len(data) <= SMALL:
                self._write(path, data)
            else:
                await anyio.to_thread.run_sync(self._write, path, data)
        except OSError as error:
            raise _wrong(path, error) from error

    def _write(self, path: Path, data: bytes) -> None:
        target = Path(os.path.realpath(path))
        if _is_virtual(str(target)):
            raise WorkspaceError(f"{path} is not a file on disk: it cannot be written")
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            real = Path(_real_path(folder, target.parent)) / target.name
            if real != target:
                raise WorkspaceError(f"{path} moved while it was written: nothing was changed. Try again.")
            if self._refuse and (reason := self._refuse(real, "write")):
                raise WorkspaceError(reason)
            _replace(folder, target, data)
        finally:
            os.close(folder)

    async def remove(self, path: Path) -> None:
        try:
            os.unlink(path)
        except OSError as error:
            raise _wrong(path, error) from error

    async def stat(self, path: Path) -> FileStat | None:
        try:
            return _stat(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise _wrong(path, error) from error

    async def list(self, path: Path) -> Sequence[tuple[str, FileStat]]:
        try:
            with os.scandir(path) as entries:
                found = [(entry.name, _stat_entry(entry)) for entry in entries]
        except OSError as error:
            raise _wrong(path, error) from error
        return sorted(found, key=lambda item: item[0])

    async def start(self, spec: RunSpec) -> Process:
        argv = spec.argv or (shell(), "-c", spec.shell)
        env = {**os.environ, **self._env, **(spec.env or {})}
        if spec.sandbox and self._sandbox is not None:
            argv, env = self._sandbox(argv, spec.cwd, env)
        from weft.transports.process import spawn

        try:
            return LocalProcess(await spawn(argv, cwd=spec.cwd, env=env))
        except TransportError as error:
            raise WorkspaceError(str(error)) from error

    async def diagnostics(self, path: Path) -> Sequence[str] | None:
        return None


@cache
def shell() -> str:
    """Bash where there is one: the permission rules read commands with its grammar, whatever the login shell is."""
    import shutil

    return shutil.which("bash") or "/bin/sh"


def _read_all(fd: int, limit: int, path: Path) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while chunk := os.read(fd, 1 << 20):
        chunks.append(chunk)
        total += len(chunk)
        if total > limit:
            raise WorkspaceError(_too_big(path, total, limit))
    return b"".join(chunks)


def _real_path(fd: int, path: Path) -> str:
    """Where an open file really is, whatever its name pointed to a moment ago."""
    if sys.platform == "linux":
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            pass
    return os.path.realpath(path)


def _is_virtual(real: str) -> bool:
    return real.startswith(_VIRTUAL)


def _check_regular(path: Path, real: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise WorkspaceError(f"{path} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise WorkspaceError(f"{path} is not a regular file (a pipe, socket or device): it cannot be read")
    if _is_virtual(real):
        raise WorkspaceError(f"{path} belongs to the system ({real}), not to a disk: it cannot be read")


def _replace(folder: int, target: Path, data: bytes) -> None:
    """Writes a new file beside the target and moves it into place, or writes in place where that is not allowed."""
    mode = 0o666 & ~_umask()
    owner: tuple[int, int] | None = None
    try:
        found = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise WorkspaceError(f"{target} is {kind}: it cannot be written")
        if not os.access(target.name, os.W_OK, dir_fd=folder):
            raise WorkspaceError(f"{target} is write-protected")
        mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
    temporary = f".{target.name[:100]}.{os.getpid():x}{os.urandom(4).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        if owner is None or error.errno not in _IN_PLACE:
            raise
        return _write_in_place(folder, target, data)
    try:
        try:
            _write_all(fd, data)
            if owner not in (None, (os.geteuid(), os.getegid())):
                _try_chown(fd, owner)
            os.fchmod(fd, mode)
        finally:
            os.close(fd)
        os.rename(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException as error:
        os.unlink(temporary, dir_fd=folder)
        if owner is None or not isinstance(error, OSError) or error.errno not in _IN_PLACE:
            raise
        _write_in_place(folder, target, data)


def _write_in_place(folder: int, target: Path, data: bytes) -> None:
    fd = os.open(target.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.ftruncate(fd, 0)
        _write_all(fd, data)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _try_chown(fd: int, owner: tuple[int, int] | None) -> None:
    if owner:
        try:
            os.fchown(fd, *owner)
        except OSError:
            return


@cache
def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _stat(found: os.stat_result) -> FileStat:
    kind = "file" if stat.S_ISREG(found.st_mode) else "folder" if stat.S_ISDIR(found.st_mode) else "other"
    return FileStat(kind, found.st_size, found.st_mtime_ns, stat.S_IMODE(found.st_mode))


def _stat_entry(entry: "os.DirEntry[str]") -> FileStat:
    try:
        return _stat(entry.stat())
    except OSError:  # A link that leads nowhere.
        return FileStat("other", 0, 0)


def _too_big(path: Path, size: int, limit: int) -> str:
    return (
        f"{path} has {size:,} bytes, more than the {limit:,} that can be read at once. "
        "Search in it with Grep, or cut a part out of it with a command."
    )


def _wrong(path: Path, error: OSError | ValueError) -> WorkspaceError:
    match error:
        case FileNotFoundError():
            return WorkspaceError(f"{path} does not exist")
        case IsADirectoryError():
            return WorkspaceError(f"{path} is a folder, not a file")
        case NotADirectoryError():
            return WorkspaceError(f"{path} is not reachable: a part of it is not a folder")
        case PermissionError():
            return WorkspaceError(f"{path}: the system does not permit it ({error.strerror})")
        case OSError(errno=errno.ENXIO):
            return WorkspaceError(f"{path} is not a regular file (a pipe, socket or device): it cannot be read")
        case OSError(errno=errno.ELOOP):
            return WorkspaceError(f"{path} is a link that leads back to itself")
        case OSError():
            return WorkspaceError(f"{path}: {error.strerror or error}")
        case _:
            return WorkspaceError(f"{str(path)!r} is not a usable path: {error}")
