"""A tool call that may outlive the task that asked for it."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from weft.mcp.catalogue import McpResult


class Running:
    """Started in the host's own task group; whoever waits may stop waiting, and the call goes on until `cancel`."""

    def __init__(self) -> None:
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()
        self.result: McpResult | None = None
        self.error: Exception | None = None

    def start(self, group: TaskGroup, work: Callable[[], Awaitable[McpResult]]) -> None:
        group.start_soon(self._run, work)

    async def _run(self, work: Callable[[], Awaitable[McpResult]]) -> None:
        try:
            with self._scope:
                self.result = await work()
        except Exception as error:  # noqa: BLE001 - given to whoever waits
            self.error = error
        finally:
            self._done.set()

    def cancel(self) -> None:
        self._scope.cancel()

    async def wait(self) -> McpResult | None:
        """The result; None when the call was cancelled.

        Raises:
            Exception: what the call raised.
        """
        await self._done.wait()
        if self.error is not None:
            raise self.error
        return self.result
