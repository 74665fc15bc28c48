"""The workspace through an ACP editor: unsaved buffers are read, edits land in the editor, commands run in its
terminals. What the editor does not offer goes to the workspace behind it."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio
import msgspec

from weft.errors import TransportError, WorkspaceError
from weft.protocols.acp import session as s
from weft.protocols.acp.frames import RpcError
from weft.workspace.local import LocalWorkspace
from weft.workspace.port import FileStat, Process, RunSpec, Workspace

if TYPE_CHECKING:
    from weft.workspace.folder_note import FolderNote

Call: TypeAlias = Callable[[str, object], Awaitable[msgspec.Raw]]
_POLL = (0.02, 0.05, 0.1, 0.2)
"""Seconds between looks at a terminal's output: quick at first, then calmer."""
_NOT_OFFERED = re.compile("not configured|not supported|method not found", re.IGNORECASE)
OUTPUT_LIMIT = 2**20


class AcpWorkspace:
    """`call` asks the editor. A file that is not text on disk never goes through it: ACP has text only. What the
    workspace behind it refuses (`check`) or cannot read is not asked for either.

    `doubtful` is for clients that announce files also when they have switched them off, and answer an error as if it
    were the content: only what is on disk is read through them, and nothing is written before a read has worked.
    """

    def __init__(
        self,
        inner: Workspace,
        call: Call,
        session_id: str,
        capabilities: s.ClientCapabilities,
        *,
        doubtful: bool = False,
        on_terminal: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        self._inner = inner
        self._call = call
        self._session_id = session_id
        self._reads = capabilities.fs.read_text_file
        self._writes = capabilities.fs.write_text_file
        self._terminals = capabilities.terminal
        self._doubtful = doubtful
        self._proven = not doubtful
        self._ours: set[Path] = set()
        """Written to the disk behind the editor's back: read from there as well."""
        self._local = inner if isinstance(inner, LocalWorkspace) else None
        self._on_terminal = on_terminal

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._inner.roots

    async def read(self, path: Path) -> bytes:
        if not self._reads or path in self._ours:
            return await self._inner.read(path)
        stat = await self._inner.stat(path)
        if self._local is not None:
            self._local.check(path, "read")
        if stat is None and self._doubtful:
            raise WorkspaceError(f"There is no file {path}.")
        if stat is not None and (stat.kind != "file" or await self._is_binary(path)):
            return await self._inner.read(path)
        try:
            raw = await self._call("fs/read_text_file", s.ReadFile(session_id=self._session_id, path=str(path)))
            data = msgspec.json.decode(raw, type=s.FileText).content.encode()
            self._proven = True
            return data
        except RpcError as error:
            if _NOT_OFFERED.search(error.message):
                self._reads = self._writes = False
                return await self._inner.read(path)
            raise WorkspaceError(f"The editor did not give {path}: {error.message}") from error
        except (TransportError, msgspec.MsgspecError) as error:
            raise WorkspaceError(f"The editor did not give {path}: {error}") from error

    async def _is_binary(self, path: Path) -> bool:
        """By its bytes on disk."""
        data = await self._inner.read(path)
        if b"\0" in data[:8192]:
            return True
        try:
            data.decode()
        except UnicodeDecodeError:
            return True
        return False

    async def write(self, path: Path, data: bytes) -> None:
        try:
            content = data.decode()
        except UnicodeDecodeError:
            content = None
        if not self._writes or not self._proven or content is None:
            await self._inner.write(path, data)
            self._ours.add(path)
            return
        if self._local is not None:
            self._local.check(path, "write")
        self._ours.discard(path)
        request = s.WriteFile(session_id=self._session_id, path=str(path), content=content)
        try:
            await self._call("fs/write_text_file", request)
        except RpcError as error:
            if _NOT_OFFERED.search(error.message):
                self._reads = self._writes = False
                await self._inner.write(path, data)
                return
            raise WorkspaceError(f"The editor did not write {path}: {error.message}") from error
        except TransportError as error:
            raise WorkspaceError(f"The editor did not write {path}: {error}") from error

    async def remove(self, path: Path) -> None:
        await self._inner.remove(path)

    async def stat(self, path: Path) -> FileStat | None:
        return await self._inner.stat(path)

    async def list(self, path: Path) -> Sequence[tuple[str, FileStat]]:
        return await self._inner.list(path)

    async def diagnostics(self, path: Path) -> Sequence[str] | None:
        return await self._inner.diagnostics(path)

    async def start(self, spec: RunSpec) -> Process:
        """Shell lines run in the editor's terminals. Programs of our own tools (a search) are no business of a
        person's, and a command that must be in the sandbox cannot be: the editor's terminals have none."""
        if (
            not self._terminals
            or not spec.shell
            or (spec.sandbox and self._local is not None and self._local.sandboxed)
        ):
            return await self._inner.start(spec)
        line = spec.bare or spec.shell
        folder = _note() if spec.bare else None
        try:
            return await self._start(spec, line, folder)
        except BaseException:
            if folder is not None:
                folder.remove()
            raise

    async def _start(self, spec: RunSpec, line: str, folder: "FolderNote | None") -> Process:
        wanted = {**(spec.env or {}), **({} if folder is None else folder.env)}
        env = [s.EnvVariable(name=name, value=value) for name, value in wanted.items()]
        request = s.CreateTerminal(
            session_id=self._session_id,
            command="/bin/bash",
            args=("-c", line),
            env=env or None,
            cwd=str(spec.cwd),
            output_byte_limit=OUTPUT_LIMIT,
        )
        try:
            raw = await self._call("terminal/create", request)
            terminal_id = str(msgspec.json.decode(raw, type=dict[str, object])["terminalId"])
        except RpcError as error:
            if _NOT_OFFERED.search(error.message):
                self._terminals = False
                if folder is not None:
                    folder.remove()
                return await self._inner.start(spec)
            raise WorkspaceError(f"The editor did not start the command: {error.message}") from error
        except (TransportError, msgspec.MsgspecError, KeyError) as error:
            raise WorkspaceError(f"The editor did not start the command: {error}") from error
        if self._on_terminal:
            await self._on_terminal(terminal_id, line)
        ref = s.TerminalRef(session_id=self._session_id, terminal_id=terminal_id)
        return AcpProcess(terminal_id, ref, self._call, folder=folder, mark=spec.mark)


class AcpProcess:
    """A command in a terminal of the editor. With `folder`, its output ends with `mark` and where it ended up."""

    def __init__(
        self, id_: str, ref: s.TerminalRef, call: Call, *, folder: "FolderNote | None" = None, mark: bytes = b""
    ) -> None:
        self._folder = folder
        self._mark = mark
        self.id = id_
        self._ref = ref
        self._call = call
        self._code: int | None = None
        self._released = False

    async def output(self) -> AsyncIterator[bytes]:
        """Polled: ACP has no stream of a terminal's output. Only what is new is given.

        An editor may know the end of a command before it has read its last words, so they are asked for once more.
        """
        seen = ""
        turn = 0
        while True:
            raw = await self._ask("terminal/output")
            if raw is None:
                return
            told = msgspec.json.decode(raw, type=s.TerminalOutput)
            new = _suffix(seen, told.output)
            seen = told.output
            if new:
                turn = 0
                yield new.encode()
            if self._code is not None:
                if self._folder is not None and (where := self._folder.read()):
                    yield self._mark + where + b"\x1e"
                return
            if told.exit_status is not None:
                self._code = to_code(told.exit_status)
                await self._ask("terminal/wait_for_exit")
                continue
            await anyio.sleep(_POLL[min(turn, len(_POLL) - 1)])
            turn += 1

    async def _ask(self, method: str) -> msgspec.Raw | None:
        try:
            return await self._call(method, self._ref)
        except (RpcError, TransportError):
            return None

    async def wait(self) -> int:
        if self._code is None:
            raw = await self._ask("terminal/wait_for_exit")
            self._code = -9 if raw is None else to_code(msgspec.json.decode(raw, type=s.ExitStatus))
        await self._release()
        return self._code

    async def kill(self) -> None:
        with anyio.move_on_after(5, shield=True):
            if self._code is None and not self._released:
                await self._ask("terminal/kill")
            await self._release()

    async def _release(self) -> None:
        if not self._released:
            self._released = True
            if self._folder is not None:
                self._folder.remove()
            await self._ask("terminal/release")


def _note() -> "FolderNote":
    from weft.workspace.folder_note import FolderNote

    return FolderNote()


def to_code(status: s.ExitStatus) -> int:
    """Negative for a signal, as our port has it."""
    if status.exit_code is not None:
        return status.exit_code
    import signal

    name = status.signal or "SIGKILL"
    found = getattr(signal, name, None) or getattr(signal, f"SIG{name}", None)
    return -int(found) if found is not None else -9


def _suffix(seen: str, now: str) -> str:
    """What `now` has after what was `seen`; the beginning may have been dropped to keep within the limit."""
    if now.startswith(seen):
        return now[len(seen) :]
    tail = seen[-1000:]
    at = now.find(tail)
    return now[at + len(tail) :] if at >= 0 else now
