"""The index as a session sees it: started when it is first asked for, searched while it is still being built."""

import hashlib
import logging
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import msgspec

from weft.errors import ToolError, TransportError
from weft.extend.api import Call, Host
from weft.extend.editor_tools.index.store import open_readable
from weft.transports.process import spawn

logger = logging.getLogger(__name__)

PATIENCE: Final = 20.0
"""Seconds that a first search waits for the index before it answers with what is there."""
INDEXER: Final = "weft.extend.editor_tools.index.indexer"
T = TypeVar("T")


class _Told(msgspec.Struct):
    done: int = 0
    total: int = 0
    ready: bool = False
    files: int = 0
    updated: int = 0


class Index:
    """The index of one tree."""

    def __init__(self, root: Path, file: Path) -> None:
        self.root = root
        self.file = file
        self.done = self.total = self.files = self.updates = 0
        self.ready = False
        self.over = False
        """Its process has ended: nothing follows the disk any more."""
        self.failed = ""
        self._started = False
        self._news = anyio.Event()
        self._db: sqlite3.Connection | None = None

    def start(self, host: Host) -> None:
        """Builds beside the session, and watches until it ends."""
        if not self._started:
            self._started = True
            host.spawn(self._run)

    async def _run(self) -> None:
        # -P and another folder: nothing of the repository is ever imported.
        argv = [sys.executable, "-P", "-m", INDEXER, str(self.root), str(self.file), "--watch"]
        try:
            child = await spawn(argv, cwd="/", stdin="pipe", on_stderr=lambda line: logger.warning("indexer: %s", line))
        except TransportError as error:
            self.failed = str(error)
            self._tell()
            return
        assert child.stdout is not None
        tail = b""
        try:
            async for data in child.stdout:
                *lines, tail = (tail + data).split(b"\n")
                for line in lines:
                    self._heard(line)
        finally:
            with anyio.move_on_after(3, shield=True):
                await child.kill()
            if not self.ready:
                self.failed = "the indexer ended before it was done"
            self.over = True
            self.close()
            self._tell()

    def _heard(self, line: bytes) -> None:
        try:
            told = msgspec.json.decode(line, type=_Told)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        self.done, self.total = (told.done, told.total) if told.total else (self.done, self.total)
        self.updates += bool(told.updated)
        if told.ready:
            self.ready, self.files = True, told.files
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def wait(self, call: Call | None = None, *, patience: float = PATIENCE) -> None:
        """Until the index is ready, within limits. The person sees how far it is."""
        with anyio.move_on_after(patience):
            while not self.ready and not self.failed:
                if call is not None and self.total:
                    call.progress(
                        f"Indexing the code: {self.done} of {self.total} files", fraction=self.done / self.total
                    )
                await self._news.wait()

    async def changed(self) -> None:
        """Until the index tells something new."""
        await self._news.wait()

    @property
    def note(self) -> str:
        """What a reader of results should know."""
        if self.ready:
            return ""
        if self.failed:
            return f"The index may be old: {self.failed}."
        return f"The index is still being built ({self.done} of {self.total} files): there may be more."

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a question on the index, in a thread.

        Raises:
            ToolError: there is no index yet.
        """
        if self._db is None:
            self._db = await anyio.to_thread.run_sync(open_readable, self.file)
        if self._db is None:
            raise ToolError("the index of the code is not there yet. Search with text or names, or try again later")
        return await anyio.to_thread.run_sync(question, self._db)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


_indexes: dict[tuple[str, str], Index] = {}


def index_of(call: Call) -> Index:
    """The index of the session's main folder; it is started when it is first asked for."""
    root = call.host.folders[0].resolve()
    name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    file = call.host.storage / "index" / f"{name}.db"
    key = (str(file), call.context.session.session_id)
    for old in [known for known, index in _indexes.items() if index.over]:
        del _indexes[old]
    if key not in _indexes:
        _indexes[key] = Index(root, file)
    index = _indexes[key]
    index.start(call.host)
    return index
