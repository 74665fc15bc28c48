"""A thread of work: one history and the loop on it. The conversation has one; every subagent has its own."""

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import msgspec

from weft.agent.asking import Asking, Compactor, RequestMaker
from weft.agent.asks import Asks
from weft.agent.closing import Closing
from weft.agent.history import Addition, History
from weft.agent.loop import Answered, Loop, Tools
from weft.agent.state import State
from weft.agent.toolbox import ToolBox
from weft.agent.turn import Limits, Turn
from weft.hooks.port import Hooks
from weft.permissions.port import Gate
from weft.providers.port import Provider
from weft.schema.content import Content, Json, ToolResult, ToolUse
from weft.schema.events import AgentEvent
from weft.schema.messages import Reply
from weft.tools.port import ToolContext

if TYPE_CHECKING:
    from weft.agent.dispatch import Dispatch


class Around(Protocol):
    """Something that a subagent has to itself: there before its first request, gone after its last. Entering may
    raise ToolError: the work cannot begin, and the sentence says why."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...

    def report(self) -> tuple[str, Json]:
        """Once it is over: what whoever gave the work has to know, in words and as data."""
        ...


class Work(msgspec.Struct, kw_only=True):
    """The parts that a thread works with. A subagent's differ from its parent's only where they are narrower."""

    provider: Callable[[], Provider]
    make: RequestMaker
    compactor: Compactor
    limits: Limits
    hooks: Hooks
    asks: Asks
    gate: Gate
    state: State
    box: ToolBox
    context: Callable[[ToolUse], ToolContext]
    emit: Callable[[AgentEvent], None]
    steering: Callable[[], Awaitable[list[Addition]]] | None = None
    touched: Callable[[str], Content] | None = None
    before_edit: Callable[[str, str], Awaitable[None]] | None = None
    shown: Callable[[str, Reply], Awaitable[None]] | None = None
    """Told of every message of the model that people see, with the turn's id."""
    running: Callable[[], list[Json]] = list
    """What works in the background, as hooks read it."""
    structured: bool = False
    opening: Callable[[], Awaitable[Content]] | None = None
    """What a subagent is told in front of its work."""
    around: Sequence["Around"] = ()
    background: bool = False
    """Its definition wants it to work beside the conversation."""
    agent: str = ""
    color: str = ""
    about: Json | None = None
    """What hooks are told of a subagent: its id, its kind, its log."""
    parent: str | None = None


class _LateTools:
    """The loop's `Tools` port, made when the first call comes: most turns of a new session begin without one."""

    def __init__(self, make: Callable[[], Tools]) -> None:
        self._make = make
        self._made: Tools | None = None

    async def answer(self, uses: Sequence[ToolUse], results: dict[str, ToolResult], logged: set[str]) -> Answered:
        if self._made is None:
            self._made = self._make()
        return await self._made.answer(uses, results, logged)


class WorkThread:
    """Runs turns on its history, one after the other."""

    def __init__(self, work: Work, history: History) -> None:
        self.work = work
        self.history = history

    async def run(self, turn: Turn) -> Reply:
        work = self.work
        asking = Asking(
            provider=work.provider,
            make=work.make,
            compactor=work.compactor,
            limits=work.limits,
            turn=turn,
            emit=work.emit,
            parent=work.parent,
            shown=work.shown,
        )
        tools = _LateTools(lambda: self.dispatch(turn))
        return await Loop(asking, tools, self._closing(turn)).run(self.history)

    def dispatch(self, turn: Turn) -> "Dispatch":
        from weft.agent.dispatch import Dispatch
        from weft.agent.permission import Permission

        work = self.work
        permission = Permission(
            gate=work.gate, hooks=work.hooks, asks=work.asks, state=work.state, emit=work.emit, parent=work.parent
        )
        return Dispatch(
            box=work.box,
            permission=permission,
            hooks=work.hooks,
            context=work.context,
            history=self.history,
            state=work.state,
            turn=turn,
            limits=work.limits,
            emit=work.emit,
            steering=work.steering,
            touched=work.touched,
            before_edit=work.before_edit,
            parent=work.parent,
        )

    def _closing(self, turn: Turn) -> Closing:
        work = self.work
        return Closing(
            turn=turn,
            limits=work.limits,
            hooks=work.hooks,
            state=work.state,
            structured=work.structured,
            subagent=work.agent,
            about=work.about or {"background_tasks": work.running(), "session_crons": []},
        )
