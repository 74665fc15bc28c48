"""An editor with its server, and agents attached to it over real sockets."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import find_servers
from weft.ide.server import IdeServer
from weft.transports.kernel import kernel_is_installed
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

CALC = "def add(a, b):\n    return a + b\n"


class Desk:
    def __init__(self, folder: Path, *, servers: bool = False, jupyter: Callable[[], bool] | None = None) -> None:
        self.folder = folder
        self.file = folder / "calc.py"
        self.file.write_text(CALC)
        self._servers = find_servers(trusted=False) if servers else ()
        self._jupyter = jupyter
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        kernel = self._jupyter is not None
        editor = HeadlessEditor(
            [self.folder], servers=self._servers, kernel=kernel, jupyter=self._jupyter or kernel_is_installed
        )
        self.editor = await self._stack.enter_async_context(editor)
        self.server = IdeServer(self.editor, home=Path.home() / ".claude", keep=Path.home() / ".weft", debounce=0.01)
        await self._stack.enter_async_context(self.server)
        self.work = await self.attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def attach(self, work: IdeWorkspace | None = None) -> IdeWorkspace:
        work = work or IdeWorkspace(LocalWorkspace((self.folder,)))
        (found,) = find_locks()
        work.link = await self._stack.enter_async_context(IdeLink(found, cwd=self.folder, heard=work.heard))
        return work

    def second(self) -> IdeLink:
        """Another agent, to be entered."""
        (found,) = find_locks()
        return IdeLink(found, cwd=self.folder)

    async def pending(self, count: int) -> None:
        """Returns when so many diffs wait."""
        while len(self.server.toolbox.diffs) != count:
            await anyio.sleep(0.002)


def link_of(work: IdeWorkspace) -> IdeLink:
    assert work.link is not None
    return work.link
