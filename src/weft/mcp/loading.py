"""When the `mcp` package is loaded: late, and beside the loop, never on it.

Importing it takes about a second of processor time. That must not stand between a person and the first answer, so it
waits until the first request to the model is on its way (or a little while), and happens in a thread.
"""

from importlib import import_module

import anyio

GRACE = 0.3
"""Seconds that a request gets to leave before the import competes with it."""


class Loading:
    """`begin` says that the first request is being made; `hurry` that somebody waits for a server already."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._begun = anyio.Event()
        self._hurried = anyio.Event()
        self.done = anyio.Event()

    def begin(self) -> None:
        self._begun.set()

    def hurry(self) -> None:
        self._begun.set()
        self._hurried.set()

    async def run(self) -> None:
        with anyio.move_on_after(self._delay):
            await self._begun.wait()
        if self._delay:
            with anyio.move_on_after(GRACE):
                await self._hurried.wait()
        from anyio import to_thread

        await to_thread.run_sync(import_module, "weft.mcp.link", abandon_on_cancel=True)
        self.done.set()
