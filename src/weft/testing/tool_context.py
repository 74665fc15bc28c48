"""A tool context made of small real parts, for tests of tools."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft.errors import ToolError
from weft.schema.content import Json, ToolUse
from weft.schema.display import Todo
from weft.schema.events import Mode, Question, TaskInfo
from weft.tools.file_states import FileStateStore
from weft.tools.port import (
    Asker,
    FileStates,
    PlanVerdict,
    Progress,
    Result,
    Spawner,
    SubagentRequest,
    Tasks,
    ToolContext,
)
from weft.workspace.port import Workspace


class FakeSession:
    """A session's state as tools see it. What is spilled goes to `spill_folder`."""

    def __init__(self, cwd: Path, spill_folder: Path | None = None) -> None:
        self.session_id = "00000000-0000-4000-8000-000000000000"
        self.cwd = cwd
        self.mode: Mode = "default"
        self.todos: tuple[Todo, ...] = ()
        self.spilled: dict[str, bytes] = {}
        self._folder = spill_folder

    def set_cwd(self, cwd: Path) -> None:
        self.cwd = cwd

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        self.todos = todos

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode

    def spill(self, name: str, data: bytes) -> Path:
        self.spilled[name] = data
        path = (self._folder or Path("/spilled")) / name
        if self._folder:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return path


class FakeAsker:
    """Answers from what it was given; None is a surface that cannot ask."""

    def __init__(self, answers: dict[str, str] | None = None, verdict: PlanVerdict | None = None) -> None:
        self.answers = answers
        self.verdict = verdict
        self.asked: list[Question] = []
        self.plans: list[str] = []

    async def question(self, tool_use_id: str, questions: Sequence[Question]) -> dict[str, str] | None:
        self.asked += questions
        return self.answers

    async def plan(self, tool_use_id: str, plan: str) -> PlanVerdict | None:
        self.plans.append(plan)
        return self.verdict


class FakeSpawner:
    """Keeps what was asked of it and answers with the same result."""

    def __init__(self, result: Result | None = None) -> None:
        self.requests: list[SubagentRequest] = []
        self.result = result or Result(content="done")

    async def run(self, request: SubagentRequest) -> Result:
        self.requests.append(request)
        return self.result


class FakeTasks:
    """Tasks that never run: what is started is listed, and `outputs` are read once."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskInfo] = {}
        self.outputs: dict[str, str] = {}

    def list(self) -> tuple[TaskInfo, ...]:
        return tuple(self.tasks.values())

    async def start_shell(
        self, tool_use_id: str, command: str, description: str, cwd: Path, *, sandbox: bool = True
    ) -> TaskInfo:
        info = TaskInfo(f"b{len(self.tasks) + 1}", "shell", description or command, tool_use_id=tool_use_id)
        self.tasks[info.id] = info
        return info

    async def adopt_shell(
        self, tool_use_id: str, command: str, description: str, process: Any, so_far: bytes
    ) -> TaskInfo:
        info = await self.start_shell(tool_use_id, command, description, Path("/"))
        self.outputs[info.id] = so_far.decode("utf-8", "replace")
        return info

    async def read(self, task_id: str, *, wait: float = 0.0) -> tuple[TaskInfo, str]:
        return self._find(task_id), self.outputs.pop(task_id, "")

    async def stop(self, task_id: str) -> TaskInfo:
        self.tasks[task_id] = msgspec.structs.replace(self._find(task_id), state="stopped")
        return self.tasks[task_id]

    def _find(self, task_id: str) -> TaskInfo:
        if task_id not in self.tasks:
            raise ToolError(f"there is no task {task_id!r}")
        return self.tasks[task_id]


def fake_tool_context(
    workspace: Workspace,
    *,
    cwd: Path | None = None,
    use: ToolUse | None = None,
    session: FakeSession | None = None,
    files: FileStates | None = None,
    tasks: Tasks | None = None,
    asker: Asker | None = None,
    spawner: Spawner | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: Json | None = None,
    allowed: Callable[[str, Json], bool] | None = None,
) -> ToolContext:
    """A context on this workspace; each part can be given, the rest are fakes that allow everything."""
    return ToolContext(
        use=use or ToolUse("toolu_test", "Test", {}),
        workspace=workspace,
        session=session or FakeSession(cwd or workspace.roots[0]),
        files=files or FileStateStore(),
        tasks=tasks or FakeTasks(),
        asker=asker or FakeAsker(),
        spawner=spawner,
        progress=progress or (lambda _progress: None),
        settings=settings or {},
        allowed=allowed or (lambda _name, _input: True),
    )
