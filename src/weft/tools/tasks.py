"""Background tasks of a session: shell commands that run on, and subagents that report here.

Each has a file with its whole output; reading gives what came since the last read. A change of state is told once.
"""

import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec

from weft.errors import ToolError, WorkspaceError
from weft.schema.events import TaskInfo
from weft.tools.shell import DEFAULT_LIMIT, TextStream, plain, shortened
from weft.workspace.port import Process, RunSpec, Workspace

log = logging.getLogger(__name__)

MAX_FILE = 256 * 1024 * 1024
KEPT = 200
"""Ended tasks that are still listed."""


class _Task:
    def __init__(self, info: TaskInfo, stop: Callable[[], Awaitable[None]]) -> None:
        self.info = info
        self.stop = stop
        self.started = time.monotonic()
        self.stopping = False
        self.ended = anyio.Event()
        self.code: int | None = None
        self.size = 0
        self.read_to = 0
        self.text = TextStream()


class BackgroundTasks:
    """`Tasks` of the port. `async with` it: leaving ends what still runs. `on_change` gets each new state."""

    def __init__(
        self,
        workspace: Workspace,
        folder: Path,
        *,
        on_change: Callable[[TaskInfo], None],
        env: Mapping[str, str] | None = None,
        max_file: int = MAX_FILE,
    ) -> None:
        self._workspace = workspace
        self._folder = folder
        self._on_change = on_change
        self._env = env
        self._max_file = max_file
        self._tasks: dict[str, _Task] = {}
        self._group: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> "BackgroundTasks":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        group, self._group = self._group, None
        if group is None:
            return None
        group.cancel_scope.cancel()
        return await group.__aexit__(kind, error, trace)

    def list(self) -> tuple[TaskInfo, ...]:
        return tuple(task.info for task in self._tasks.values())

    async def start_shell(
        self, tool_use_id: str, command: str, description: str, cwd: Path, *, sandbox: bool = True
    ) -> TaskInfo:
        if self._group is None:
            raise ToolError("the session is ending: nothing can be started in the background")
        try:
            process = await self._workspace.start(RunSpec(shell=command, cwd=cwd, env=self._env, sandbox=sandbox))
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        return await self.adopt_shell(tool_use_id, command, description, process, b"")

    async def adopt_shell(
        self, tool_use_id: str, command: str, description: str, process: Process, so_far: bytes
    ) -> TaskInfo:
        if self._group is None:
            await process.kill()
            raise ToolError("the session is ending: nothing can be started in the background")
        info = self.new(kind="shell", description=description, tool_use_id=tool_use_id, prompt=command)
        task = self.track(info, process.kill)
        self._append(task, so_far)
        self._group.start_soon(self._follow, task, process)
        return info

    def new(
        self,
        *,
        kind: Literal["shell", "agent", "mcp"],
        description: str,
        tool_use_id: str,
        prompt: str = "",
        agent: str = "",
    ) -> TaskInfo:
        """A task that begins now, with an output file of its own."""
        task_id = {"shell": "b", "agent": "a", "mcp": "m"}[kind] + os.urandom(4).hex()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{task_id}.output"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return TaskInfo(
            task_id,
            kind,
            description,
            tool_use_id=tool_use_id,
            background=True,
            output_file=str(path),
            prompt=prompt,
            agent=agent,
        )

    def track(self, info: TaskInfo, stop: Callable[[], Awaitable[None]]) -> _Task:
        """Lists a task. Its owner reports with `append` and `update`; `stop` ends it."""
        task = self._tasks[info.id] = _Task(info, stop)
        ended = [each.info.id for each in self._tasks.values() if each.ended.is_set()]
        for old in ended[: max(len(ended) - KEPT, 0)]:
            del self._tasks[old]
        self._on_change(info)
        return task

    def append(self, task_id: str, text: str) -> None:
        self._append(self._find(task_id), text.encode("utf-8", "replace"))

    def update(self, info: TaskInfo) -> None:
        """A new state of a tracked task; a state other than `running` is its last."""
        task = self._tasks.get(info.id)
        if task is None or task.ended.is_set():
            return
        task.info = info
        if info.state != "running":
            task.ended.set()
        self._on_change(info)

    async def _follow(self, task: _Task, process: Process) -> None:
        code: int | None = None
        try:
            async for data in process.output():
                self._append(task, data)
            code = task.code = await process.wait()
        finally:
            if code is None:
                await process.kill()
            stopped = code is None or task.stopping
            self._finish(task, "stopped" if stopped else "completed" if code == 0 else "failed")

    def _finish(self, task: _Task, state: Literal["completed", "failed", "stopped"]) -> None:
        summary = {
            "completed": "ended with exit code 0",
            "failed": f"ended with exit code {_shell_code(task.code)}",
            "stopped": "was stopped",
        }[state]
        text = f"The background command {task.info.description!r} {summary}."
        spent = time.monotonic() - task.started
        self.update(msgspec.structs.replace(task.info, state=state, summary=text, duration=spent))

    def _append(self, task: _Task, data: bytes) -> None:
        room = self._max_file - task.size
        if room <= 0 or not data:
            return
        kept = data if len(data) <= room else data[:room] + b"\n[the output is longer than is kept]\n"
        try:
            fd = os.open(task.info.output_file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                task.size += os.write(fd, kept)
            finally:
                os.close(fd)
        except OSError as error:  # A full disk costs the output, not the task.
            log.warning("the output of task %s is not kept: %s", task.info.id, error)

    async def read(self, task_id: str, *, wait: float = 0.0) -> tuple[TaskInfo, str]:
        task = self._find(task_id)
        await anyio.lowlevel.checkpoint()
        if wait > 0:
            with anyio.move_on_after(wait):
                await task.ended.wait()
        limit = 2 * DEFAULT_LIMIT
        fd = os.open(task.info.output_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            new = task.size - task.read_to
            start = task.read_to if new <= limit else task.size - limit
            data = os.pread(fd, task.size - start, start)
        finally:
            os.close(fd)
        skipped = start - task.read_to
        task.read_to = start + len(data)
        text = plain(task.text.feed(data, final=task.ended.is_set()).encode())
        pointer = f"All of it is in {task.info.output_file}."
        head = f"[{skipped:,} bytes before this are left out. {pointer}]\n" if skipped else ""
        return task.info, head + shortened(text, DEFAULT_LIMIT, pointer)

    def exit_code(self, task_id: str) -> int | None:
        code = self._find(task_id).code
        return None if code is None else _shell_code(code)

    async def stop(self, task_id: str) -> TaskInfo:
        task = self._find(task_id)
        if not task.ended.is_set():
            task.stopping = True
            await task.stop()
            with anyio.move_on_after(5):
                await task.ended.wait()
        return task.info

    def _find(self, task_id: str) -> _Task:
        if task_id in self._tasks:
            return self._tasks[task_id]
        known = ", ".join(self._tasks) or "none"
        raise ToolError(f"there is no task {task_id!r}. The tasks of this session are: {known}")


def _shell_code(code: int | None) -> int:
    return 0 if code is None else 128 - code if code < 0 else code
