"""The port to the machine that is worked on: a disk, an editor's buffers, or a disk with an editor in between."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec


class FileStat(msgspec.Struct, frozen=True):
    kind: Literal["file", "folder", "other"]
    size: int
    mtime_ns: int
    mode: int = 0o644


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A command to start. `shell` is a line for the user's shell; `argv` is run as it is. One of them is set.

    When `bare` is set, `shell` is that line with words of ours around it, so that its output ends with `mark`, the
    folder that it ended up in, and a record separator. A workspace whose terminals a person watches runs the bare
    line, and puts the same end to the output by itself.
    """

    argv: tuple[str, ...] = ()
    shell: str = ""
    cwd: Path
    env: Mapping[str, str] | None = None
    """Added to the workspace's environment."""
    sandbox: bool = True
    bare: str = ""
    mark: bytes = b""


class Process(Protocol):
    """A started command. Its whole process group ends with `kill`, and with our own process, however that ends."""

    id: str

    def output(self) -> AsyncIterator[bytes]:
        """Standard output and error as they come, interleaved; ends when both are closed, and soon after the
        command's own end where something that it left running keeps them open. For one reader."""
        ...

    async def wait(self) -> int:
        """The exit code; negative for a signal."""
        ...

    async def kill(self) -> None:
        """SIGTERM, then SIGKILL, to the whole group; returns when it is gone."""
        ...


Sandbox = Callable[[tuple[str, ...], Path, dict[str, str]], tuple[tuple[str, ...], dict[str, str]]]
"""Wraps a command: (argv, cwd, environment) to the argv and environment that run it confined."""


class Workspace(Protocol):
    """Files and commands. Paths are absolute; nothing is resolved or confined here (the gate does that).

    Raises:
        WorkspaceError: the file is missing, is not a file, or cannot be reached; the message is a sentence.
    """

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders worked on; the first is the main one."""
        ...

    async def read(self, path: Path) -> bytes: ...

    async def write(self, path: Path, data: bytes) -> None:
        """Atomic; makes parent folders; keeps the mode of a file that exists; writes through a symlink."""
        ...

    async def remove(self, path: Path) -> None: ...

    async def stat(self, path: Path) -> FileStat | None:
        """None when nothing is there."""
        ...

    async def list(self, path: Path) -> Sequence[tuple[str, FileStat]]:
        """Names in a folder, sorted."""
        ...

    async def start(self, spec: RunSpec) -> Process: ...

    async def diagnostics(self, path: Path) -> Sequence[str] | None:
        """Problems that an attached editor knows of in this file, one line each; None without an editor."""
        ...
