"""A Jupyter kernel: one process that keeps its variables between calls, spoken to over ZeroMQ.

Its sockets are files in a folder that only we can enter, not ports that every program here could try.

`jupyter_client` starts the process itself; it is imported when the first code is run.
"""

import importlib
import importlib.util
import re
import tempfile
from pathlib import Path
from typing import Any, Protocol, cast

import anyio

from weft.errors import WorkspaceError
from weft.protocols.ide.notices import as_object
from weft.protocols.ide.values import Output

START_LIMIT = 60.0
RUN_LIMIT = 600.0
MAX_OUTPUT = 1 << 20
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Client(Protocol):
    """What is used of `jupyter_client`'s asynchronous client."""

    def execute(self, code: str, *, store_history: bool, allow_stdin: bool) -> str: ...
    async def get_iopub_msg(self) -> dict[str, Any]: ...
    async def wait_for_ready(self, timeout: float) -> None: ...
    def start_channels(self) -> None: ...
    def stop_channels(self) -> None: ...


class _Manager(Protocol):
    async def start_kernel(self, *, cwd: str) -> None: ...
    async def shutdown_kernel(self, now: bool) -> None: ...
    async def interrupt_kernel(self) -> None: ...
    async def is_alive(self) -> bool: ...
    def client(self) -> _Client: ...


def kernel_is_installed() -> bool:
    """As of now: what was installed since we started counts."""
    importlib.invalidate_caches()
    return all(importlib.util.find_spec(name) is not None for name in ("jupyter_client", "ipykernel"))


class Kernel:
    """Started by the first `execute`, one call at a time; `stop` ends it. A kernel that died is started anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manager: _Manager | None = None
        self._client: _Client | None = None
        self._turn = anyio.Lock()
        self._sockets: tempfile.TemporaryDirectory[str] | None = None

    async def execute(self, code: str, *, limit: float = RUN_LIMIT) -> tuple[Output, ...]:
        """What the code printed, showed and returned, in order; an error is the traceback as text.

        Raises:
            WorkspaceError: the kernel cannot be started, or the code took longer than `limit` and was interrupted.
        """
        async with self._turn:
            client = await self._started()
            number = client.execute(code, store_history=True, allow_stdin=False)
            try:
                with anyio.fail_after(limit):
                    return await self._collect(client, number)
            except TimeoutError:
                await self._interrupt()
                raise WorkspaceError(f"the code took longer than {limit:g} s and was interrupted") from None
            except anyio.get_cancelled_exc_class():
                await self._interrupt()
                raise

    async def stop(self) -> None:
        manager, self._manager = self._manager, None
        client, self._client = self._client, None
        if client is not None:
            client.stop_channels()
        if manager is not None:
            with anyio.move_on_after(5, shield=True):
                await manager.shutdown_kernel(now=True)
        if self._sockets is not None:
            self._sockets.cleanup()
            self._sockets = None

    async def _started(self) -> _Client:
        if self._client is not None and self._manager is not None and await self._manager.is_alive():
            return self._client
        await self.stop()
        from jupyter_client.manager import AsyncKernelManager

        self._sockets = tempfile.TemporaryDirectory(prefix="weft-kernel-")
        wanted = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/kernel")
        self._manager = manager = cast("_Manager", wanted)
        try:
            with anyio.fail_after(START_LIMIT):
                await manager.start_kernel(cwd=str(self._folder))
                client = manager.client()
                client.start_channels()
                await client.wait_for_ready(timeout=START_LIMIT)
        except (TimeoutError, RuntimeError, OSError) as error:
            await self.stop()
            raise WorkspaceError(f"the Jupyter kernel did not start: {error}") from error
        self._client = client
        return client

    async def _interrupt(self) -> None:
        if self._manager is not None:
            with anyio.move_on_after(5, shield=True):
                await self._manager.interrupt_kernel()

    async def _collect(self, client: _Client, number: str) -> tuple[Output, ...]:
        found: list[Output] = []
        size = 0
        while True:
            message = await client.get_iopub_msg()
            if as_object(message["parent_header"]).get("msg_id") != number:
                continue
            kind, content = str(message["msg_type"]), as_object(message["content"])
            if kind == "status" and content.get("execution_state") == "idle":
                return _joined(found)
            for output in _outputs(kind, content):
                size += len(output.data)
                if size <= MAX_OUTPUT:
                    found.append(output)


def _outputs(kind: str, content: dict[str, object]) -> list[Output]:
    if kind == "stream":
        return [Output(str(content.get("text", "")))]
    if kind == "error":
        lines = content.get("traceback")
        trace = "\n".join(map(str, cast("list[object]", lines))) if isinstance(lines, list) else ""
        return [Output(_COLOUR.sub("", trace))]
    if kind not in ("execute_result", "display_data"):
        return []
    data = as_object(content.get("data"))
    for media_type in _IMAGES:
        if media_type in data:
            return [Output(str(data[media_type]).strip(), media_type)]
    return [Output(str(data.get("text/plain", "")))]


def _joined(found: list[Output]) -> tuple[Output, ...]:
    """Neighbouring texts as one."""
    joined: list[Output] = []
    for output in found:
        if joined and output.media_type == joined[-1].media_type == "text/plain":
            joined[-1] = Output(joined[-1].data + output.data)
        else:
            joined.append(output)
    return tuple(joined)
