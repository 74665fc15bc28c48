"""Subagents: a tool call that is a conversation of its own.

Its context, tools and model are its own; its permissions, budget and ledger are never wider than the parent's.
Its events carry the id of the call that started it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from anyio.abc import TaskGroup

from weft.agent.loop import TurnOver
from weft.agent.state import State
from weft.agent.thread import Around, WorkThread
from weft.agent.turn import Turn
from weft.errors import ToolError
from weft.exits import ExitStack
from weft.hooks.port import Hooks
from weft.schema.commands import Prompt
from weft.schema.content import Json, Text
from weft.schema.events import AgentEvent, TaskChanged, TaskInfo, ToolCalled, UsageChanged
from weft.schema.ids import new_id
from weft.tools.port import Result, SubagentRequest

logger = logging.getLogger(__name__)

MAX_DEPTH = 4


class ThreadMaker(Protocol):
    """Builds the thread of a subagent; `emit` sees its events on their way out.

    Raises:
        ToolError: there is no such agent; the sentence lists those that there are.
    """

    async def __call__(
        self, request: SubagentRequest, agent_id: str, emit: Callable[[AgentEvent], None], depth: int
    ) -> WorkThread: ...


class Ended(msgspec.Struct, frozen=True):
    """How a subagent's work ended, and what comes of it."""

    state: str
    text: str
    data: Json = {}

    def told(self, around: Sequence[Around]) -> "Ended":
        """With what is left of what it had to itself."""
        said, data = [self.text] if self.text else [], dict(self.data)
        for words, more in (each.report() for each in around):
            said += [words] if words else []
            data.update(more)
        return Ended(self.state, "\n\n".join(said), data)


class Subagents:
    """Implements `tools.port.Spawner`. Background ones live in the session's task group and end with it."""

    def __init__(
        self,
        *,
        make: ThreadMaker,
        hooks: Hooks,
        state: State,
        emit: Callable[[AgentEvent], None],
        group: Callable[[], TaskGroup],
        prompt: Callable[[Prompt], None],
        parent_turn: Callable[[], Turn | None],
        depth: int = 0,
        agents: tuple[str, ...] | None = None,
    ) -> None:
        self._make = make
        self._hooks = hooks
        self._state = state
        self._emit = emit
        self._group = group
        self._prompt = prompt
        self._parent_turn = parent_turn
        self._depth = depth
        self._agents = agents
        self.running: dict[str, TaskInfo] = {}
        self._scopes: dict[str, Callable[[], None]] = {}

    def deeper(self, make: ThreadMaker, hooks: Hooks, agents: tuple[str, ...] | None = None) -> "Subagents":
        """For the tools of a subagent itself. `make` builds agents that are no wider than that one; `agents` are those
        that it may give work to."""
        child = Subagents(
            make=make,
            hooks=hooks,
            state=self._state,
            emit=self._emit,
            group=self._group,
            prompt=self._prompt,
            parent_turn=self._parent_turn,
            depth=self._depth + 1,
            agents=agents,
        )
        child.running, child._scopes = self.running, self._scopes
        return child

    async def run(self, request: SubagentRequest) -> Result:
        if self._depth >= MAX_DEPTH:
            raise ToolError(f"Subagents may be nested {MAX_DEPTH} deep; do this work yourself.")
        if self._agents is not None and request.agent not in self._agents:
            raise ToolError(f"This agent may only give work to: {', '.join(self._agents) or 'nobody'}.")
        agent_id = new_id()[:8]
        follower = _Follower(self, request, agent_id)
        thread = await self._make(request, agent_id, follower.see, self._depth + 1)
        if thread.work.background and not request.background:
            request = msgspec.structs.replace(request, background=True)
        follower.task = msgspec.structs.replace(
            follower.task, background=request.background, color=thread.work.color, agent=thread.work.agent
        )
        self._changed(follower.task)
        if not request.background:
            return await self._work(thread, request, follower)
        self._group().start_soon(self._in_background, thread, request, follower)
        text = (
            f"The agent {request.agent} is working in the background as {agent_id}. "
            "You will be told when it has finished; do not wait for it."
        )
        return Result(content=text, data={"status": "async_launched", "agentId": agent_id})

    def stop(self, task_id: str) -> bool:
        cancel = self._scopes.get(task_id)
        if cancel is None:
            return False
        cancel()
        return True

    def _changed(self, task: TaskInfo) -> None:
        if task.state == "running":
            self.running[task.id] = task
        else:
            self.running.pop(task.id, None)
        self._emit(TaskChanged(task=task))

    async def _work(self, thread: WorkThread, request: SubagentRequest, follower: "_Follower") -> Result:
        import anyio

        turn = Turn(new_id())
        ended = Ended("stopped", "")
        try:
            with anyio.CancelScope() as scope:
                self._scopes[follower.task.id] = scope.cancel
                ended = await self._surrounded(thread, request, turn, follower.task.id)
            if scope.cancelled_caught:
                ended = Ended("stopped", "The agent was stopped before it finished.")
            ended = ended.told(thread.work.around)
        finally:
            self._scopes.pop(follower.task.id, None)
            self._roll_up(turn)
            follower.finish(ended.state, ended.text, turn)
        data = {
            "status": ended.state,
            "agentId": follower.task.id,
            "content": [{"type": "text", "text": ended.text}],
            "totalDurationMs": round(turn.seconds * 1000),
            "totalTokens": turn.usage.context,
            "totalToolUseCount": follower.task.tool_uses,
            **ended.data,
        }
        text = ended.text or "(the agent said nothing)"
        return Result(content=text, is_error=ended.state != "completed", data=data)

    async def _surrounded(self, thread: WorkThread, request: SubagentRequest, turn: Turn, agent_id: str) -> "Ended":
        """The work, between what is made for it and its end."""
        ended = Ended("stopped", "")
        try:
            async with ExitStack() as stack:
                for each in thread.work.around:
                    await stack.enter_async_context(each)
                await self._brief(thread, request, agent_id)
                try:
                    ended = Ended("completed", (await thread.run(turn)).text)
                except TurnOver as over:
                    ended = Ended("failed", over.message or over.reason)
        except ToolError as error:
            ended = Ended("failed", str(error))
        return ended

    async def _brief(self, thread: WorkThread, request: SubagentRequest, agent_id: str) -> None:
        context: tuple[str, ...] = ()
        if self._hooks.wants("SubagentStart"):
            details = self._state.hook_input("SubagentStart", agent_id=agent_id, agent_type=request.agent)
            context = (await self._hooks.run("SubagentStart", details, subject=request.agent)).context
        opening = await thread.work.opening() if thread.work.opening is not None else ()
        thread.history.add_prompt((Text(request.prompt),), before=opening + tuple(Text(text) for text in context))

    def _roll_up(self, turn: Turn) -> None:
        parent = self._parent_turn()
        if parent is not None:
            parent.usage += turn.usage
            parent.cost += turn.cost
            parent.api_seconds += turn.api_seconds
            parent.denials.extend(turn.denials)

    async def _in_background(self, thread: WorkThread, request: SubagentRequest, follower: "_Follower") -> None:
        try:
            result = await self._work(thread, request, follower)
        except Exception:
            logger.exception("a background agent failed")
            return
        words = "finished" if not result.is_error else "failed"
        text = f"The background agent {follower.task.id} ({request.description}) has {words}:\n\n{result.content}"
        self._prompt(Prompt((Text(text),), verbatim=True, synthetic=True, origin="task-notification"))


class _Follower:
    """Keeps a task's row up to date while its events go by."""

    def __init__(self, owner: Subagents, request: SubagentRequest, agent_id: str) -> None:
        self._owner = owner
        self._started = time.monotonic()
        self.task = TaskInfo(
            id=agent_id,
            kind="agent",
            description=request.description,
            tool_use_id=request.tool_use_id,
            background=request.background,
            agent=request.agent,
            prompt=request.prompt,
        )

    def see(self, event: AgentEvent) -> None:
        self._owner._emit(event)  # pyright: ignore[reportPrivateUsage]
        if isinstance(event, ToolCalled) and event.state == "pending":
            self._update(tool_uses=self.task.tool_uses + 1, last_tool=event.use.name)
        elif isinstance(event, UsageChanged):
            self._update(duration=time.monotonic() - self._started)

    def finish(self, state: str, summary: str, turn: Turn) -> None:
        self._update(state=state, summary=summary, usage=turn.usage, cost=turn.cost, duration=turn.seconds)

    def _update(self, **changes: object) -> None:
        self.task = msgspec.structs.replace(self.task, **changes)
        self._owner._changed(self.task)  # pyright: ignore[reportPrivateUsage]
