"""What a session does for commands that are not prompts."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from weft.agent.dispatch import run_tool
from weft.agent.history import History, new_id
from weft.agent.permission import Permission
from weft.agent.state import State
from weft.agent.subagents import Subagents
from weft.agent.thread import WorkThread
from weft.errors import ToolError, UsageError
from weft.schema.commands import Rewind, ServerCommand
from weft.schema.content import Json, ToolUse, text_of
from weft.schema.display import Display
from weft.tools.port import Tasks


class Compacts(Protocol):
    async def now(self, history: History, instructions: str) -> None: ...


class Rewinds(Protocol):
    """Takes files and conversation back to before a message; returns a sentence about what it did."""

    async def __call__(self, command: Rewind, history: History) -> str: ...


class SessionControl:
    """The session's `Control` port."""

    def __init__(
        self,
        *,
        state: State,
        thread: WorkThread,
        tasks: Tasks,
        subagents: Subagents,
        compactor: Compacts,
        choose: Callable[[str | None], Awaitable[str]],
        rewinds: Rewinds,
        servers: Callable[[ServerCommand], Awaitable[None]] | None,
    ) -> None:
        self._state = state
        self._thread = thread
        self._tasks = tasks
        self._subagents = subagents
        self._compactor = compactor
        self._choose = choose
        self._rewinds = rewinds
        self._servers = servers

    async def set_model(self, model: str | None) -> None:
        self._state.model = await self._choose(model)
        self._state.changed("model")

    async def compact(self, history: History, instructions: str) -> None:
        await self._compactor.now(history, instructions)

    async def rewind(self, command: Rewind) -> str:
        return await self._rewinds(command, self._thread.history)

    async def stop_task(self, task_id: str) -> None:
        if self._subagents.stop(task_id):
            return
        try:
            await self._tasks.stop(task_id)
        except ToolError as error:
            raise UsageError(str(error)) from None

    async def server(self, command: ServerCommand) -> None:
        if self._servers is None:
            raise UsageError(f"Server not found: {command.server}")
        await self._servers(command)

    async def shell(self, command: str) -> str:
        """The person's own command: the same gate, the same tool, no model in between."""
        work = self._thread.work
        tool = work.box.find("Bash")
        if tool is None:
            raise UsageError("There is no shell in this session.")
        use = ToolUse(f"shell_{new_id()}", tool.name, {"command": command})
        context = work.context(use)
        permission = Permission(gate=work.gate, hooks=work.hooks, asks=work.asks, state=work.state, emit=work.emit)

        async def preview(value: Json) -> tuple[Display, ...]:
            return await tool.preview(tool.decode(value), context)

        ruling = await permission.rule(tool, use, preview)
        if not ruling.allowed:
            return f"<bash-input>{command}</bash-input>\n<bash-stderr>{ruling.message}</bash-stderr>"
        result = await run_tool(tool, ruling.input, msgspec.structs.replace(context, sandbox=ruling.sandbox))
        return f"<bash-input>{command}</bash-input>\n<bash-stdout>{text_of(result.content)}</bash-stdout>"
