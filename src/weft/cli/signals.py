"""Signals of a terminal and of a parent: the first asks to stop, the second insists."""

import signal
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

INTERRUPTED, TERMINATED = 130, 143


async def run_interruptible(work: Callable[[], Awaitable[int]], interrupt: Callable[[], Awaitable[None]]) -> int:
    """The work's exit code. SIGINT calls `interrupt`; a second one, or SIGTERM, cancels the work. Both are heard from
    before the work begins, also where the parent had switched SIGINT off."""
    code = 0

    async def listen(*, task_status: TaskStatus[None]) -> None:
        nonlocal code
        asked = False
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGINT and not asked:
                    asked = True
                    await interrupt()
                    continue
                code = INTERRUPTED if number == signal.SIGINT else TERMINATED
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        await group.start(listen)
        try:
            code = await work()
        except SystemExit as left:
            # A reader that went away ends the work. Inside of a group this would come out as a group.
            code = left.code if isinstance(left.code, int) else 1
        group.cancel_scope.cancel()
    return code
