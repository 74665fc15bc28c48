"""The headless editor: what it holds is in memory over the disk, what it knows comes from real programs."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import anyio

from weft.errors import WorkspaceError
from weft.exits import ExitStack
from weft.ide.editors.headless.documents import Documents, Open
from weft.ide.editors.headless.languages import ServerSpec, find_servers
from weft.ide.editors.headless.servers import LanguageServers
from weft.ide.editors.notebook import Notebook
from weft.ide.port import Diff, EditorEvent, Listener, Mentioned, SelectionMoved, ToolsChanged
from weft.ide.texts import find_range, offset_at, select
from weft.protocols.ide.catalogue import SPECS, OpenFile
from weft.protocols.ide.uris import to_path
from weft.protocols.ide.values import (
    Accepted,
    Document,
    FileDiagnostics,
    Mention,
    Output,
    Position,
    Rejected,
    Selection,
    Tab,
)
from weft.transports.kernel import kernel_is_installed

Decide: TypeAlias = Callable[[Diff], Awaitable[Accepted | Rejected]]


async def hold(diff: Diff) -> Accepted | Rejected:
    """Leaves every change to whoever else was asked: the agent's own prompt."""
    await anyio.sleep_forever()
    return Rejected()


class HeadlessEditor:
    """Entered, it may start language servers and a kernel; left, all of them have ended.

    `decide` stands in for the person that a diff is shown to. `servers` are those that were found, unless given.
    `executeCode` is offered while `jupyter` says that there can be a kernel; with `kernel` false there is none.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        name: str = "Weft",
        decide: Decide = hold,
        trusted: bool = False,
        servers: tuple[ServerSpec, ...] | None = None,
        kernel: bool = True,
        jupyter: Callable[[], bool] = kernel_is_installed,
    ) -> None:
        if not folders:
            raise WorkspaceError("an editor needs a folder")
        self._name = name
        self._folders = tuple(Path(os.path.abspath(folder)) for folder in folders)
        self._decide = decide
        self._specs = find_servers(trusted=trusted) if servers is None else servers
        self._documents = Documents()
        self._latest: Selection | None = None
        self._listeners: list[Listener] = []
        self._stack = ExitStack()
        self._servers: LanguageServers | None = None
        self._notebook = Notebook(self._folders[0], installed=jupyter) if kernel else None

    @property
    def name(self) -> str:
        return self._name

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._folders

    @property
    def tools(self) -> frozenset[str]:
        there = self._notebook is not None and self._notebook.there
        return frozenset(spec.name for spec in SPECS if there or spec.name != "executeCode")

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self._specs)

    async def __aenter__(self) -> Self:
        group = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(group.cancel_scope.cancel)
        self._servers = LanguageServers(self._specs, self._folders[0], group)
        if self._notebook:
            self._stack.push_async_callback(self._notebook.stop)
            group.start_soon(self._notebook.watch, lambda: self._tell(ToolsChanged()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # What an agent asks for.

    async def open_file(self, request: OpenFile) -> Document:
        document = self._documents.open(self._absolute(request.file_path))
        document.preview = request.preview
        if request.make_frontmost:
            self._documents.active = document.path
        marked = find_range(document.path, document.text, request)
        self._mark(document, marked or document.selection)
        return document.to_document()

    async def document(self, path: str) -> Document | None:
        found = self._documents.get(self._absolute(path))
        return found.to_document() if found is not None and found.shown else None

    async def save(self, path: str) -> bool | None:
        return self._documents.save(self._absolute(path))

    async def selection(self) -> Selection | None:
        active = self._documents.get(self._documents.active) if self._documents.active else None
        return active.selection if active else None

    async def latest_selection(self) -> Selection | None:
        return self._latest

    async def tabs(self) -> Sequence[Tab]:
        return self._documents.tabs()

    async def close_tab(self, name: str) -> bool:
        done = self._documents.close(name)
        if done:
            self._tell(SelectionMoved(await self.selection()))
        return done

    async def show_diff(self, diff: Diff) -> Accepted | Rejected:
        return await self._decide(diff)

    async def diagnostics(self, path: str | None) -> Sequence[FileDiagnostics]:
        """Files that were asked about once are watched from then on, so that a change to them is seen without a uri."""
        if path is not None:
            return (await self._check(self._absolute(path)),)
        found: dict[str, FileDiagnostics] = {}

        async def check(path: str) -> None:
            found[path] = await self._check(path)

        paths = [document.path for document in self._documents if self._documents.get(document.path)]
        async with anyio.create_task_group() as group:
            for each in paths:
                group.start_soon(check, each)
        return [found[each] for each in paths]

    async def execute(self, code: str) -> Sequence[Output]:
        if self._notebook is None:
            raise WorkspaceError("This editor runs no code")
        return await self._notebook.execute(code)

    # What a person does.

    def edit(self, path: str, text: str) -> None:
        """Types: the document has this text now, and is dirty until it is saved."""
        document = self._documents.open(self._absolute(path))
        document.text = text
        self._mark(document, select(document.path, text, 0, 0))

    def select(self, path: str, start: Position, end: Position) -> None:
        """Marks a range of a file, and looks at it."""
        document = self._documents.open(self._absolute(path))
        self._documents.active = document.path
        text = document.text
        low, high = sorted((offset_at(text, start), offset_at(text, end)))
        self._mark(document, select(document.path, text, low, high))

    def mention(self, mention: Mention) -> None:
        self._tell(Mentioned(mention))

    def text(self, path: str) -> str:
        """
        Raises:
            WorkspaceError: there is no such file.
        """
        return self._documents.open(self._absolute(path)).text

    def _mark(self, document: Open, selection: Selection) -> None:
        document.selection = selection
        if not selection.is_empty:
            self._latest = selection
        if self._documents.active == document.path:
            self._tell(SelectionMoved(selection))

    async def _check(self, path: str) -> FileDiagnostics:
        if self._servers is None:
            raise WorkspaceError("the editor is not running")
        if not self._servers.knows(path):
            return FileDiagnostics(path)
        try:
            document = self._documents.open(path, shown=False)
        except WorkspaceError:
            return FileDiagnostics(path)
        return FileDiagnostics(path, await self._servers.check(path, document.text))

    def _absolute(self, path: str) -> str:
        return os.path.normpath(self._folders[0] / (to_path(path) or path))

    def _tell(self, event: EditorEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)
