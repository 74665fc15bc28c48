"""Where an editor runs code: a Jupyter kernel, there from the moment that Jupyter is installed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from weft.errors import WorkspaceError
from weft.protocols.ide.values import Output
from weft.transports.kernel import Kernel, kernel_is_installed


class Notebook:
    """One kernel of one folder, started by the first code. `installed` says whether there can be one now."""

    poll = 3.0

    def __init__(self, folder: Path, *, installed: Callable[[], bool] = kernel_is_installed) -> None:
        self._kernel = Kernel(folder)
        self._installed = installed
        self.there = installed()

    async def watch(self, changed: Callable[[], None]) -> None:
        """Calls `changed` whenever a kernel can be had that could not before, or the other way round. It is installed
        into our own Python, and nothing tells of that: so we look."""
        while True:
            await anyio.sleep(self.poll)
            if self._installed() != self.there:
                self.there = not self.there
                changed()

    async def execute(self, code: str) -> Sequence[Output]:
        """
        Raises:
            WorkspaceError: there is no kernel, it cannot be started, or the code took too long.
        """
        if not self.there:
            raise WorkspaceError("No Jupyter kernel is installed here", hint="pip install 'weft[jupyter]'")
        return await self._kernel.execute(code)

    async def stop(self) -> None:
        await self._kernel.stop()
