"""Checkpoints: every file as it was before a turn changed it, so that files can go back to before any message.

`<home>/file-history/<session>/` holds the old contents as `<hash of the path>@v<N>`, and `index.jsonl`: one line for
each message that began a turn and one for each file's first change in it. The index is only appended to.
"""

import logging
import os
from pathlib import Path

import msgspec

from weft.errors import WorkspaceError
from weft.schema.content import Json
from weft.tools.text import showable
from weft.workspace.port import Workspace

log = logging.getLogger(__name__)


class _Began(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    message: str


class _Saved(msgspec.Struct, frozen=True, tag_field="type", tag="file", omit_defaults=True):
    """A file before its first change after `message`. `backup` is empty for a file that was not there."""

    message: str
    tool_use: str
    path: str
    real: str
    backup: str = ""


_Line = _Began | _Saved


class Checkpoints:
    """The checkpoints of one session. `begin` at each prompt, `save` before each change, `rewind` when asked."""

    def __init__(self, home: Path, session_id: str, workspace: Workspace) -> None:
        self._folder = home / "file-history" / session_id
        self._workspace = workspace
        self._lines: list[_Line] = self._load()
        self._message = next((line.message for line in reversed(self._lines) if isinstance(line, _Began)), "")
        self._done: set[tuple[str, str]] = {
            (line.message, line.real) for line in self._lines if isinstance(line, _Saved)
        }

    def _load(self) -> list[_Line]:
        try:
            data = (self._folder / "index.jsonl").read_bytes()
        except OSError:
            return []
        found: list[_Line] = []
        for line in data.split(b"\n"):
            try:
                found.append(msgspec.json.decode(line, type=_Line))
            except msgspec.DecodeError:  # The last line of a process that was killed.
                continue
        return found

    def begin(self, message_id: str) -> None:
        """A prompt: what changes from now on can be taken back to before it. Costs nothing until something does."""
        self._message = message_id
        self._lines.append(_Began(message_id))

    async def save(self, tool_use_id: str, path: Path) -> None:
        """Keeps the file as it is now, once for each message. What cannot be kept is logged, never in the way."""
        real = _real(path)
        key = (self._message, real)
        if key in self._done:
            return
        try:
            there = await self._workspace.stat(path)
            data = await self._workspace.read(path) if there is not None else None
            backup = self._store(real, data) if data is not None else ""
            self._append(_Saved(self._message, tool_use_id, str(path), real, backup))
        except (OSError, WorkspaceError) as error:
            log.warning("no checkpoint of %s: %s", path, error)
            return
        self._done.add(key)

    def _store(self, real: str, data: bytes) -> str:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        from hashlib import sha256

        stem = sha256(os.fsencode(real)).hexdigest()[:16]
        version = 1 + sum(isinstance(line, _Saved) and line.real == real for line in self._lines)
        while True:
            name = f"{stem}@v{version}"
            try:
                fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                version += 1
                continue
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            return name

    def _append(self, line: _Saved) -> None:
        """Messages reach the disk with the first file that changed after them."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        known = {each.message for each in self._lines if isinstance(each, _Saved)}
        fresh: list[_Line] = [line] if line.message in known else [_Began(line.message), line]
        self._lines.append(line)
        fd = os.open(
            self._folder / "index.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, b"".join(msgspec.json.encode(each) + b"\n" for each in fresh))
        finally:
            os.close(fd)

    def _before(self, message_id: str) -> list[_Saved] | None:
        """Of each file that changed since this message, how it was then; None for a message that is not known."""
        starts = [index for index, line in enumerate(self._lines) if line.message == message_id]
        if not starts:
            return None
        first: dict[str, _Saved] = {}
        for line in self._lines[starts[0] :]:
            if isinstance(line, _Saved):
                first.setdefault(line.real, line)
        return list(first.values())

    async def rewind(self, message_id: str, *, dry_run: bool = False) -> Json:
        """Brings files back to before this message; with `dry_run` says what that would change.

        A file whose path leads elsewhere now, because a link was put in its way, is left alone and named.
        """
        from weft.tools.diff import counts

        saved = self._before(message_id)
        if saved is None:
            return {"canRewind": False, "error": "No file checkpoint found for this message."}
        changed: list[str] = []
        skipped: list[str] = []
        added = removed = 0
        for line in saved:
            path = Path(line.real)
            if _real(Path(line.path)) != line.real:
                skipped.append(line.path)
                continue
            try:
                there = await self._workspace.stat(path)
                now = await self._workspace.read(path) if there is not None else None
                then = (self._folder / line.backup).read_bytes() if line.backup else None
                if now == then:
                    continue
                more, less = counts(_text(now), _text(then))
                if not dry_run:
                    await self._restore(path, then)
            except (OSError, WorkspaceError) as error:
                log.warning("%s could not be brought back: %s", line.path, error)
                skipped.append(line.path)
                continue
            changed.append(line.path)
            added, removed = added + more, removed + less
        found: Json = {"canRewind": True, "filesChanged": changed, "insertions": added, "deletions": removed}
        return {**found, "skippedLinks": skipped} if skipped else found

    async def _restore(self, path: Path, then: bytes | None) -> None:
        if then is None:
            await self._workspace.remove(path)
        else:
            await self._workspace.write(path, then)


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _text(data: bytes | None) -> str | None:
    return None if data is None else showable(data.decode("utf-8", "surrogateescape"))
