"""A workspace in memory: the same contract as the disk's, with commands answered from a table."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import anyio
import anyio.lowlevel

from weft.errors import WorkspaceError
from weft.workspace.port import FileStat, Process, RunSpec


class FakeProcess:
    """Ends at once with what it was given, or runs until it is killed (`code` None)."""

    def __init__(self, output: bytes = b"", code: int | None = 0, id: str = "1") -> None:
        self.id = id
        self.killed = False
        self._output = output
        self._code = code
        self._ended = anyio.Event()
        if code is not None:
            self._ended.set()

    async def output(self) -> AsyncIterator[bytes]:
        if self._output:
            yield self._output
        await self._ended.wait()

    async def wait(self) -> int:
        await self._ended.wait()
        return -15 if self._code is None else self._code

    async def kill(self) -> None:
        self.killed = True
        self._ended.set()


Answer = Callable[[RunSpec], FakeProcess]


def _silent(_spec: RunSpec) -> FakeProcess:
    return FakeProcess()


class MemoryWorkspace:
    """Files in a dict. `answer` plays every command; `started` keeps what was asked for."""

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        roots: Sequence[Path] = (Path("/work"),),
        answer: Answer | None = None,
    ) -> None:
        self._roots = tuple(roots)
        self.files: dict[str, bytes] = {}
        self.modes: dict[str, int] = {}
        self.started: list[RunSpec] = []
        self.processes: list[FakeProcess] = []
        self.problems: dict[str, tuple[str, ...]] = {}
        self._answer: Answer = answer or _silent
        self._clock = 1_000_000_000
        self._times: dict[str, int] = {}
        for name, text in (files or {}).items():
            self.put(self._roots[0] / name, text)

    def put(self, path: Path, data: str | bytes) -> None:
        """Changes a file as someone else would."""
        self._clock += 1_000_000
        self._times[str(path)] = self._clock
        self.files[str(path)] = data.encode() if isinstance(data, str) else data

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._roots

    async def read(self, path: Path) -> bytes:
        await anyio.lowlevel.checkpoint()
        if self._is_folder(path):
            raise WorkspaceError(f"{path} is a folder, not a file")
        if str(path) not in self.files:
            raise WorkspaceError(f"{path} does not exist")
        return self.files[str(path)]

    async def write(self, path: Path, data: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        if self._is_folder(path):
            raise WorkspaceError(f"{path} is a folder: it cannot be written")
        if any(str(parent) in self.files for parent in path.parents):
            raise WorkspaceError(f"{path} is not reachable: a part of it is not a folder")
        self.put(path, data)

    async def remove(self, path: Path) -> None:
        await anyio.lowlevel.checkpoint()
        if self._is_folder(path):
            raise WorkspaceError(f"{path} is a folder, not a file")
        if str(path) not in self.files:
            raise WorkspaceError(f"{path} does not exist")
        del self.files[str(path)]

    async def stat(self, path: Path) -> FileStat | None:
        await anyio.lowlevel.checkpoint()
        name = str(path)
        if name in self.files:
            return FileStat("file", len(self.files[name]), self._times[name], self.modes.get(name, 0o644))
        return FileStat("folder", 0, self._clock, 0o755) if self._is_folder(path) else None

    async def list(self, path: Path) -> Sequence[tuple[str, FileStat]]:
        await anyio.lowlevel.checkpoint()
        if str(path) in self.files or not self._is_folder(path):
            raise WorkspaceError(f"{path} does not exist or is not a folder")
        depth = len(path.parts)
        names = {
            PurePosixPath(name).parts[depth]
            for name in self.files
            if PurePosixPath(name).is_relative_to(path) and name != str(path)
        }
        found = [(name, await self.stat(path / name)) for name in sorted(names)]
        return [(name, stat) for name, stat in found if stat]

    async def start(self, spec: RunSpec) -> Process:
        await anyio.lowlevel.checkpoint()
        if not self._is_folder(spec.cwd):
            raise WorkspaceError(f"cannot start the command: the folder {str(spec.cwd)!r} does not exist")
        self.started.append(spec)
        process = self._answer(spec)
        self.processes.append(process)
        return process

    async def diagnostics(self, path: Path) -> Sequence[str] | None:
        return self.problems.get(str(path)) if self.problems else None

    def _is_folder(self, path: Path) -> bool:
        inside = (PurePosixPath(name) for name in self.files)
        return path in self._roots or any(path in each.parents for each in inside)
