"""Running language servers: started when a file of their language is asked about, restarted when they die."""

import logging
import os
from collections import OrderedDict
from pathlib import Path

import anyio
import anyio.abc
import msgspec

from weft.errors import RemoteProtocolError, TransportError
from weft.ide.editors.headless.languages import ServerSpec, language_of, server_environment
from weft.protocols.ide.uris import to_uri
from weft.protocols.ide.values import Diagnostic
from weft.protocols.lsp import LspClient, LspEvent, Published, RefreshAsked, Replied, decode_pulled
from weft.transports.process import Child, spawn

_log = logging.getLogger(__name__)
START_LIMIT = 60.0
"""Nobody waits for so long; but a server that is slow today is of use later."""
FIRST_LIMIT = 12.0
"""A server that has said nothing of a file yet may still be reading the project."""
LATER_LIMIT = 3.0
SILENCE = 1.5
"""A server that pushes says nothing when nothing changed: silence for this long means that."""
MAX_OPEN = 64
MAX_STARTS = 3


class _File(msgspec.Struct):
    """What the server was given of a file, and what it said. `fresh` is false until it spoke of this very text."""

    text: str
    fresh: bool = False
    times: int = 0
    """How often it spoke of this file."""
    diagnostics: tuple[Diagnostic, ...] = ()

    def hear(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        self.fresh = True
        self.times += 1


class LanguageServer:
    """One process, in `run`. `check` may be called by several tasks."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        self.spec = spec
        self._client = LspClient(root_uri=to_uri(str(folder)), pid=os.getpid(), settings=spec.settings)
        self._folder = folder
        self._child: Child | None = None
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._replies: dict[int, Replied | None] = {}
        self._news = anyio.Event()
        self._syncing = anyio.Lock()
        self._ready = anyio.Event()
        self.ended = False

    async def run(self) -> None:
        """Ends when the process does, or when cancelled. A server that cannot start counts as ended."""
        try:
            self._child = await spawn(
                self.spec.command,
                cwd=self._folder,
                env=server_environment(os.environ),
                stdin="pipe",
                on_stderr=lambda line: _log.debug("%s: %s", self.spec.name, line),
            )
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, self._child)
                await self._initialize()
                self._ready.set()
        except* (TransportError, RemoteProtocolError, TimeoutError) as errors:
            _log.warning("the language server %s ended: %s", self.spec.name, errors.exceptions[0])
        finally:
            self.ended = True
            self._ready.set()
            self._tell()
            await self._stop()

    async def check(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """The problems of this text. After its limit, or when the server died, what was known last.

        A server that is asked answers for the text; one that pushes has spoken when it was quiet for a while.
        """
        uri = to_uri(path)
        with anyio.move_on_after(FIRST_LIMIT):
            await self._ready.wait()
        if not self._ready.is_set():
            return ()
        try:
            file = await self._sync(uri, path, text)
            later = LATER_LIMIT if self._client.pulls else SILENCE
            with anyio.move_on_after(later if file.times else FIRST_LIMIT):
                if not self._client.pulls:
                    await self._settle(file)
                if self._client.pulls:
                    await self._pull(uri, file)
        except TransportError:
            self.ended = True
        known = self._files.get(uri)
        return known.diagnostics if known else ()

    async def close(self, path: str) -> None:
        if self._files.pop(to_uri(path), None) is not None:
            await self._send(self._client.close(to_uri(path)))

    async def _initialize(self) -> None:
        number, data = self._client.initialize()
        with anyio.fail_after(START_LIMIT):
            reply = await self._ask(number, data)
        if reply.error is not None:
            raise RemoteProtocolError(reply.error)
        await self._send(self._client.initialized(reply.result))

    async def _sync(self, uri: str, path: str, text: str) -> _File:
        async with self._syncing:
            file = self._files.get(uri)
            if file is None:
                file = self._files[uri] = _File(text)
                await self._send(self._client.open(uri, language_of(path), text))
                if len(self._files) > MAX_OPEN:
                    oldest, _ = self._files.popitem(last=False)
                    await self._send(self._client.close(oldest))
            elif file.text != text:
                file.text, file.fresh = text, False
                await self._send(self._client.change(uri, text))
            self._files.move_to_end(uri)
            return file

    async def _pull(self, uri: str, file: _File) -> None:
        number, data = self._client.pull(uri)
        reply = await self._ask(number, data)
        if reply.error is not None:
            # Servers refuse a pull that a newer text overtook; once more, for the newer text.
            number, data = self._client.pull(uri)
            reply = await self._ask(number, data)
        found = decode_pulled(reply.result) if reply.error is None else None
        if found is not None:
            file.hear(found)

    async def _settle(self, file: _File) -> None:
        while not file.fresh and not self.ended:
            await self._news.wait()
            if self._client.pulls:
                return
        quiet = False
        while not quiet and not self.ended:
            before = file.times
            with anyio.move_on_after(self.spec.settle):
                while file.times == before:
                    await self._news.wait()
            quiet = file.times == before

    async def _ask(self, number: int, data: bytes) -> Replied:
        self._replies[number] = None
        try:
            await self._send(data)
            while (reply := self._replies[number]) is None:
                if self.ended:
                    raise TransportError("the language server ended")
                await self._news.wait()
            return reply
        finally:
            del self._replies[number]

    async def _send(self, data: bytes) -> None:
        if self._child is None or self._child.stdin is None:
            raise TransportError("the language server is not running")
        await self._child.stdin.send(data)

    async def _read(self, child: Child) -> None:
        assert child.stdout is not None
        async for data in child.stdout:
            events, answers = self._client.feed(data)
            if answers:
                await self._send(answers)
            for event in events:
                self._take(event)
            if events:
                self._tell()
        raise TransportError("its output ended")

    def _take(self, event: LspEvent) -> None:
        match event:
            case Replied(id=number) if number in self._replies:
                self._replies[number] = event
            case Published(uri=uri, version=version, diagnostics=found):
                file = self._files.get(uri)
                if file is not None and (version is None or version >= self._client.version(uri)):
                    file.hear(found)
            case Replied() | RefreshAsked():
                pass

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _stop(self) -> None:
        if self._child is None:
            return
        with anyio.move_on_after(2, shield=True):
            try:
                await self._send(self._client.shutdown())
            except TransportError:
                _log.debug("%s is gone already", self.spec.name)
            await self._child.kill(grace=1.0)
        self._child.close()


class LanguageServers:
    """All servers of a folder, in a task group that somebody else owns."""

    def __init__(self, specs: tuple[ServerSpec, ...], folder: Path, group: anyio.abc.TaskGroup) -> None:
        self._specs = specs
        self._folder = folder
        self._group = group
        self._running: dict[str, LanguageServer] = {}
        self._starts: dict[str, int] = {}

    def knows(self, path: str) -> bool:
        return any(language_of(path) in spec.languages for spec in self._specs)

    async def check(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """The problems that all servers of the file's language see, in the order of the text."""
        found: list[Diagnostic] = []

        async def ask(server: LanguageServer) -> None:
            found.extend(await server.check(path, text))

        async with anyio.create_task_group() as group:
            for spec in self._specs:
                if language_of(path) in spec.languages and (server := self._server(spec)) is not None:
                    group.start_soon(ask, server)
        return tuple(sorted(found, key=lambda item: (item.start, item.source or "", item.message)))

    def _server(self, spec: ServerSpec) -> LanguageServer | None:
        """The running server; a new one when it died, a few times at most."""
        running = self._running.get(spec.name)
        if running is not None and not running.ended:
            return running
        starts = self._starts.get(spec.name, 0)
        if starts >= MAX_STARTS:
            return None
        self._starts[spec.name] = starts + 1
        server = self._running[spec.name] = LanguageServer(spec, self._folder)
        self._group.start_soon(server.run)
        return server
