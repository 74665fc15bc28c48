"""The port of a tool: arguments, a name and one method.

`run` returns its result and reports progress through the context. It is not a generator: a tool that waits on
processes needs a task group, and nothing may be yielded from inside one (PEP 789).
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from weft.schema.content import Content, Json, ToolUse
from weft.schema.display import DiffView, Display, Todo
from weft.schema.events import Mode, Question, TaskInfo, ToolKind
from weft.workspace.port import Workspace

A = TypeVar("A", bound=msgspec.Struct)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`content` is what the model reads; `display` what a person sees; `data` what programs get.

    `edits` are the files that changed, for surfaces and for rewinding. `cwd` moves the session's folder.
    `structured` (with `final`) ends the turn with a value. `ends_turn` ends it without.
    """

    content: str | Content = ""
    is_error: bool = False
    display: tuple[Display, ...] = ()
    data: object = None
    edits: tuple[DiffView, ...] = ()
    ends_turn: bool = False
    structured: object = None
    final: bool = False
    interrupt: bool = False


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    output: str = ""
    message: str = ""
    fraction: float | None = None


class PlanVerdict(msgspec.Struct, frozen=True):
    approved: bool
    mode: Mode = "default"
    feedback: str = ""


class Asker(Protocol):
    """Asks the person. Each returns None at once when no surface can ask."""

    async def question(self, tool_use_id: str, questions: Sequence[Question]) -> dict[str, str] | None: ...

    async def plan(self, tool_use_id: str, plan: str) -> PlanVerdict | None: ...


class SubagentRequest(msgspec.Struct, frozen=True, kw_only=True):
    tool_use_id: str
    agent: str
    description: str
    prompt: str
    model: str | None = None
    background: bool = False
    extra_tools: tuple[str, ...] = ()


class Spawner(Protocol):
    """Runs a subagent to its end (its result is its last message), or starts one in the background."""

    async def run(self, request: SubagentRequest) -> Result: ...


class Tasks(Protocol):
    """Background commands and subagents of this session."""

    def list(self) -> tuple[TaskInfo, ...]: ...

    async def start_shell(
        self, tool_use_id: str, command: str, description: str, cwd: Path, *, sandbox: bool = True
    ) -> TaskInfo: ...

    async def adopt_shell(
        self, tool_use_id: str, command: str, description: str, process: Any, so_far: bytes
    ) -> TaskInfo: ...

    async def read(self, task_id: str, *, wait: float = 0.0) -> tuple[TaskInfo, str]:
        """The task and its output since the last read; waits up to `wait` seconds for it to end.

        Raises:
            ToolError: there is no such task.
        """
        ...

    async def stop(self, task_id: str) -> TaskInfo: ...


class FileStates(Protocol):
    """What was read, and how it looked then (seed 002's `readFileState`): bounded, whatever the session's length."""

    def note(self, path: Path, data: bytes, mtime_ns: int, *, partial: bool = False) -> None: ...

    def changed(self, path: Path, data: bytes) -> bool | None:
        """Whether `data` differs from what was last seen; None when it was never read."""
        ...

    def forget(self, path: Path) -> None: ...


class SessionView(Protocol):
    """The part of a session that tools may see and change."""

    @property
    def session_id(self) -> str: ...

    @property
    def cwd(self) -> Path: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def todos(self) -> tuple[Todo, ...]: ...

    def set_cwd(self, cwd: Path) -> None: ...

    def set_todos(self, todos: tuple[Todo, ...]) -> None: ...

    def set_mode(self, mode: Mode) -> None: ...

    def spill(self, name: str, data: bytes) -> Path:
        """Keeps a long output beside the session log; returns where."""
        ...


class Hit(msgspec.Struct, frozen=True):
    """One result of a web search."""

    title: str
    url: str
    snippet: str = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider's search found, and what it says about it."""

    hits: tuple[Hit, ...]
    text: str = ""


Search = Callable[[str, tuple[str, ...], tuple[str, ...]], Awaitable[Found]]
"""(query, allowed domains, blocked domains) to results. Raises ToolError: it failed; the sentence says why."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a tool may touch. Fakes of all parts are in `weft.testing`."""

    use: ToolUse
    workspace: Workspace
    session: SessionView
    files: FileStates
    tasks: Tasks
    asker: Asker
    spawner: Spawner | None
    progress: Callable[[Progress], None]
    settings: Json
    allowed: Callable[[str, Json], bool]
    """False when a rule denies this (tool name, input): searches hide what may not be read."""
    sandbox: bool = True
    """Commands run in the sandbox, where there is one."""
    search: Search | None = None
    """The search of the model's provider, where it has one."""


class Tool(Generic[A]):
    """A subclass sets the class variables and writes `run`.

    `manual` is what the model is told; it is read from `<module>.md` beside the module when not set.
    Several calls run at once only when all of them are `read_only` for their input.
    """

    name: ClassVar[str]
    args: type[A]
    aliases: ClassVar[tuple[str, ...]] = ()
    arg_aliases: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Other names of an argument, with the right one. Never for what rules look at: they see the input as it came."""
    kind: ClassVar[ToolKind] = "other"
    group: ClassVar[str] = "other"
    """Seed 000's permission group: readonly, edit, execution, mcp or other."""
    read_only: ClassVar[bool] = False
    deferred: ClassVar[bool] = False
    """Told to the model by name only, until it is looked up."""

    async def run(self, args: A, context: ToolContext) -> Result:
        raise NotImplementedError

    @property
    def manual(self) -> str:
        from weft.tools.manual import manual_of

        return manual_of(type(self))

    @property
    def input_schema(self) -> Json:
        from weft.tools.schema import schema_of

        return schema_of(self.args)

    def is_read_only(self, args: A) -> bool:
        return self.read_only

    def title(self, args: A) -> str:
        """A line for people: what this call does."""
        return self.name

    def paths(self, args: A) -> tuple[str, ...]:
        """The files that this call touches, as the model wrote them."""
        return ()

    async def preview(self, args: A, context: ToolContext) -> tuple[Display, ...]:
        """What the permission gate shows before the call; must not change anything."""
        return ()

    def decode(self, value: Json) -> A:
        """Arguments from the model's JSON.

        Raises:
            msgspec.ValidationError: with a sentence that says where.
        """
        from weft.tools.arguments import decode

        return decode(self.args, value, self.arg_aliases)


AnyTool = Tool[Any]
ToolFactory = Callable[[], Awaitable[Sequence[AnyTool]]]
