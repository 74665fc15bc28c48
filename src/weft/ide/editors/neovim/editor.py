"""A running Neovim as an `Editor`: its buffers, its visual selection, its diff view, its diagnostics."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.to_thread
import msgspec

from weft.errors import WorkspaceError
from weft.exits import ExitStack
from weft.ide.editors.neovim.rpc import Neovim
from weft.ide.editors.notebook import Notebook
from weft.ide.port import Diff, EditorEvent, Listener, Mentioned, SelectionMoved, ToolsChanged
from weft.ide.texts import find_range, offset_at
from weft.ide.tools import read_text
from weft.protocols.ide.catalogue import SPECS, OpenFile
from weft.protocols.ide.uris import to_path
from weft.protocols.ide.values import (
    Accepted,
    Document,
    FileDiagnostics,
    Mention,
    Output,
    Rejected,
    Selection,
    Tab,
)
from weft.transports.kernel import kernel_is_installed


class _Pending(msgspec.Struct):
    event: anyio.Event
    answer: Accepted | Rejected = Rejected()


class _Tab(msgspec.Struct):
    document: Document
    active: bool


class NeovimEditor:
    """Entered, it is connected. Leaving it closes the diffs that it showed, and nothing else.

    `folders` are Neovim's working directory unless given. Neovim has no kernel: code runs in one of ours, while
    `jupyter` says that there can be one.
    """

    def __init__(
        self, address: str, folders: Sequence[Path] = (), *, jupyter: Callable[[], bool] = kernel_is_installed
    ) -> None:
        self._nvim = Neovim(address, self._hear)
        self._folders = tuple(folders)
        self._listeners: list[Listener] = []
        self._diffs: dict[str, _Pending] = {}
        self._latest: Selection | None = None
        self._jupyter = jupyter
        self._notebook: Notebook | None = None
        self._stack = ExitStack()

    @property
    def name(self) -> str:
        return "Neovim"

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._folders

    @property
    def tools(self) -> frozenset[str]:
        there = self._notebook is not None and self._notebook.there
        return frozenset(spec.name for spec in SPECS if there or spec.name != "executeCode")

    @property
    def ended(self) -> anyio.Event:
        return self._nvim.ended

    async def __aenter__(self) -> Self:
        async with ExitStack() as stack:
            await stack.enter_async_context(self._nvim)
            self._folders = self._folders or (Path(self._nvim.cwd),)
            notebook = self._notebook = Notebook(self._folders[0], installed=self._jupyter)
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            stack.push_async_callback(notebook.stop)
            group.start_soon(notebook.watch, lambda: self._tell(ToolsChanged()))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        for id in tuple(self._diffs):
            await self._close(id)
        return await self._stack.__aexit__(kind, error, trace)

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def open_file(self, request: OpenFile) -> Document:
        path = self._absolute(request.file_path)
        text = await self._nvim.call("text", path)
        if text is None:
            text = await anyio.to_thread.run_sync(read_text, path)
        if not isinstance(text, str):
            raise WorkspaceError(f"File not found: {path}")
        place: list[object] = []
        marked = find_range(path, text, request)
        if marked is not None and request.make_frontmost:
            for position in (marked.start, marked.end):
                place += [position.line, _byte_column(text, offset_at(text, position))]
        found = await self._nvim.call("open", path, request.make_frontmost, *place)
        return msgspec.convert(found, Document)

    async def document(self, path: str) -> Document | None:
        found = await self._nvim.call("document", self._absolute(path))
        return None if found is None else msgspec.convert(found, Document)

    async def save(self, path: str) -> bool | None:
        found = await self._nvim.call("save", self._absolute(path))
        return None if found is None else bool(found)

    async def selection(self) -> Selection | None:
        return _selection(await self._nvim.call("selection"))

    async def latest_selection(self) -> Selection | None:
        return self._latest

    async def tabs(self) -> Sequence[Tab]:
        current = await self.selection()
        found = msgspec.convert(_items(await self._nvim.call("tabs")), list[_Tab])
        return [
            Tab(
                document=tab.document,
                label=os.path.basename(tab.document.path),
                active=tab.active,
                selection=current if tab.active else None,
            )
            for tab in found
        ]

    async def close_tab(self, name: str) -> bool:
        return bool(await self._nvim.call("close", name))

    async def show_diff(self, diff: Diff) -> Accepted | Rejected:
        pending = self._diffs[diff.id] = _Pending(anyio.Event())
        try:
            await self._nvim.call("show_diff", diff.id, diff.path, diff.title, diff.after)
            await pending.event.wait()
            return pending.answer
        finally:
            del self._diffs[diff.id]
            await self._close(diff.id)

    async def diagnostics(self, path: str | None) -> Sequence[FileDiagnostics]:
        wanted = None if path is None else self._absolute(path)
        found = msgspec.convert(_diagnostics(await self._nvim.call("diagnostics", wanted)), list[FileDiagnostics])
        return found if found or wanted is None else [FileDiagnostics(wanted)]

    async def execute(self, code: str) -> Sequence[Output]:
        if self._notebook is None:
            raise WorkspaceError("the editor is not running")
        return await self._notebook.execute(code)

    async def _close(self, id: str) -> None:
        with anyio.move_on_after(2, shield=True):
            try:
                await self._nvim.call("close_diff", id)
            except WorkspaceError:
                return

    def _hear(self, name: str, arguments: list[Any]) -> None:
        match name, arguments:
            case "selection", [value]:
                selection = _selection(value)
                if selection is not None and not selection.is_empty:
                    self._latest = selection
                self._tell(SelectionMoved(selection))
            case "mention", [str(path)]:
                self._tell(Mentioned(Mention(path=path)))
            case "mention", [str(path), int(first), int(last)]:
                self._tell(Mentioned(Mention(path=path, first_line=first, last_line=last)))
            case "accepted", [str(id), str(text)]:
                self._decide(id, Accepted(text))
            case "rejected", [str(id)]:
                self._decide(id, Rejected())
            case _:
                pass

    def _decide(self, id: str, answer: Accepted | Rejected) -> None:
        pending = self._diffs.get(id)
        if pending is not None and not pending.event.is_set():
            pending.answer = answer
            pending.event.set()

    def _absolute(self, path: str) -> str:
        return os.path.normpath(self._folders[0] / (to_path(path) or path))

    def _tell(self, event: EditorEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)


def _byte_column(text: str, offset: int) -> int:
    start = text.rfind("\n", 0, offset) + 1
    return len(text[start:offset].encode())


def _selection(value: Any) -> Selection | None:
    try:
        return msgspec.convert(value, Selection) if value is not None else None
    except msgspec.ValidationError:
        return None


def _items(value: Any) -> Any:
    """An empty Lua table may cross as a map."""
    return value or []


def _diagnostics(value: Any) -> list[Any]:
    return [{**file, "diagnostics": _items(file.get("diagnostics"))} for file in _items(value)]
