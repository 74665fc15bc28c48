"""Tasks as the revision of 2025-11-25 has them: a call that must run as a task is asked for as one and followed.

`tools/call` with `task` answers with a task; `tasks/get` says how it stands, `tasks/result` waits for what the call
would have answered. While the task waits for a person, its questions come as usual once its result is asked for. A
call that is cancelled cancels its task.
"""

from collections.abc import Awaitable, Callable

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError

from weft.mcp.catalogue import ProgressCallback, table_of, text_of
from weft.mcp.clock import Clock
from weft.mcp.shapes import RAW
from weft.schema.content import Json

SHORTEST, LONGEST = 0.2, 30.0
KEPT_FOR = 3_600_000
"""Milliseconds that the server is asked to keep the result."""

Ask = Callable[[str, Json], Awaitable[Json]]


async def call_as_task(ask: Ask, params: Json, clock: Clock, report: ProgressCallback | None) -> Json:
    """The raw answer of the call. `ask` makes one request.

    Raises:
        MCPError: the server did not make a task of it, or the task failed.
    """
    created = await ask("tools/call", {**params, "task": {"ttl": KEPT_FOR}})
    whole = table_of(table_of(created.get("_meta")).get(RAW)) or created
    task = table_of(whole.get("task"))
    task_id = task.get("taskId")
    if not isinstance(task_id, str):
        return whole
    try:
        return await _followed(ask, task_id, task, clock, report)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(2, shield=True):
            await ask("tasks/cancel", {"taskId": task_id})
        raise


async def _followed(ask: Ask, task_id: str, task: Json, clock: Clock, report: ProgressCallback | None) -> Json:
    while task.get("status") == "working":
        wait = task.get("pollInterval")
        seconds = wait / 1000 if isinstance(wait, int | float) else 1.0
        await anyio.sleep(max(SHORTEST, min(seconds, LONGEST)))
        clock.touch()
        task = await ask("tasks/get", {"taskId": task_id})
        if report is not None and task.get("statusMessage"):
            report(None, text_of(task.get("statusMessage"), 500))
    if task.get("status") == "cancelled":
        raise MCPError(mcp_types.INTERNAL_ERROR, "the task was cancelled")
    return await ask("tasks/result", {"taskId": task_id})
