"""What a session does for commands that are not prompts."""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from weft.agent.compactor import Compactor
from weft.agent.history import History
from weft.agent.state import State
from weft.agent.subagents import Subagents
from weft.agent.thread import WorkThread
from weft.context.port import Piece
from weft.errors import ToolError, UsageError
from weft.schema.commands import AppCall, Complete, Rewind, ServerCommand
from weft.schema.content import Content, Json, ToolResult, ToolUse, text_of
from weft.schema.display import Display
from weft.schema.events import Completed, Completion, TaskInfo, ToolCalled, ToolEnded
from weft.schema.ids import new_id
from weft.sessions.compaction import threshold
from weft.tools.port import AnyTool, Result, SubagentRequest, Tasks


class Rewinds(Protocol):
    """Takes files or the conversation back to before a message.

    Raises:
        UsageError: there is no such message, or nothing was kept of it.
    """

    async def files(self, message_id: str, *, dry_run: bool) -> Json: ...

    async def conversation(self, message_id: str, history: History) -> None: ...


async def _nothing(text: str) -> tuple[int, tuple[Completion, ...]]:
    return 0, ()


class SessionControl:
    """The session's `Control` port."""

    def __init__(
        self,
        *,
        state: State,
        thread: WorkThread,
        tasks: Tasks,
        subagents: Subagents,
        compactor: Compactor,
        choose: Callable[[str | None], Awaitable[str]],
        rewinds: Rewinds,
        servers: Callable[[ServerCommand], Awaitable[None]] | None,
        set_servers: Callable[[Json], Awaitable[Json]],
        apps: Callable[[str, str], AnyTool | None] = lambda _server, _tool: None,
        complete: Callable[[str], Awaitable[tuple[int, tuple[Completion, ...]]]] = _nothing,
        fresh: Callable[[], None],
        pieces: Callable[[], Awaitable[Sequence[Piece]]],
    ) -> None:
        self._state = state
        self._thread = thread
        self._tasks = tasks
        self._subagents = subagents
        self._compactor = compactor
        self._choose = choose
        self._rewinds = rewinds
        self._servers = servers
        self._set_servers = set_servers
        self._apps = apps
        self._complete = complete
        self._fresh = fresh
        self.pieces = pieces

    async def set_model(self, model: str | None) -> None:
        self._state.model = await self._choose(model)
        self._state.changed("model")

    async def compact(self, history: History, instructions: str) -> str:
        return await self._compactor.now(history, instructions)

    async def rewind(self, command: Rewind) -> str:
        done: list[str] = []
        if command.files:
            found = await self._rewinds.files(command.message_id, dry_run=False)
            if found.get("canRewind"):
                done.append("The files are as they were before that message.")
            elif not command.conversation:
                raise UsageError(str(found.get("error") or "No file checkpoint found for this message."))
        if command.conversation:
            await self._rewinds.conversation(command.message_id, self._thread.history)
            done.append("The conversation is back before that message.")
        return " ".join(done) or "There was nothing to rewind."

    async def rewind_files(self, message_id: str, *, dry_run: bool) -> Json:
        return await self._rewinds.files(message_id, dry_run=dry_run)

    def used(self) -> int:
        """Tokens of the window that are filled, as far as is known."""
        return self._compactor.used(self._thread.history)

    async def clear(self) -> None:
        self._fresh()

    async def context_usage(self) -> Json:
        """What fills the window, by source, as the SDK's context query shows it."""
        pieces = await self.pieces()
        history = self._thread.history
        used = self._compactor.used(history)
        window = self._thread.work.make.window
        messages = max(used - sum(piece.tokens for piece in pieces), 0)
        rows = [(piece.name, piece.tokens) for piece in pieces] + [("messages", messages)]
        total = sum(tokens for _name, tokens in rows)
        return {
            "categories": [
                {"id": name, "name": name, "tokens": tokens, "color": "text", "kind": "used"} for name, tokens in rows
            ],
            "totalTokens": total,
            "maxTokens": window,
            "rawMaxTokens": window,
            "percentage": round(100 * total / window) if window else 0,
            "gridRows": [],
            "model": self._state.model,
            "memoryFiles": [
                {"path": piece.where, "type": piece.name, "tokens": piece.tokens}
                for piece in pieces
                if piece.name == "memory"
            ],
            "mcpTools": [],
            "agents": [],
            "skills": {},
            "slashCommands": {},
            "messageBreakdown": {},
            "apiUsage": None,
            "isAutoCompactEnabled": True,
            "autoCompactThreshold": threshold(window) if window else 0,
        }

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

    def tasks(self) -> Sequence[TaskInfo]:
        return (*self._tasks.list(), *self._subagents.running.values())

    async def read(self, path: Path) -> bytes:
        return await self._thread.work.context(ToolUse("", "Read", {})).workspace.read(path)

    async def set_servers(self, servers: Json) -> Json:
        return await self._set_servers(servers)

    async def delegate(self, agent: str, name: str, content: Content) -> str:
        request = SubagentRequest(
            tool_use_id=f"command_{new_id()}", agent=agent, description=f"/{name}", prompt=text_of(content)
        )
        try:
            return text_of((await self._subagents.run(request)).content)
        except ToolError as error:
            return str(error)

    async def shell(self, command: str) -> str:
        """The person's own command: the same gate, the same tool, no model in between."""
        work = self._thread.work
        tool = work.box.find("Bash")
        if tool is None:
            raise UsageError("There is no shell in this session.")
        use = ToolUse(f"shell_{new_id()}", tool.name, {"command": command})
        result, outcome = await self._run_alone(tool, use)
        stream = "stderr" if outcome == "denied" else "stdout"
        return f"<bash-input>{command}</bash-input>\n<bash-{stream}>{text_of(result.content)}</bash-{stream}>"

    async def app_call(self, command: AppCall) -> None:
        """A tool that an app's page asks for: of its own server, meant for apps, and through the gate."""
        work = self._thread.work
        name = f"{command.server}: {command.tool}"
        tool = self._apps(command.server, command.tool)
        use = ToolUse(command.id, tool.name if tool is not None else name, command.arguments)
        began = time.monotonic()
        work.emit(ToolCalled(use=use, state="pending", title=name))
        if tool is None:
            result, outcome = Result(content=f"This app may not call {command.tool!r}.", is_error=True), "denied"
        else:
            result, outcome = await self._run_alone(tool, use, tell=True)
        content = result.content if isinstance(result.content, str) else tuple(result.content)
        work.emit(
            ToolEnded(
                tool_use_id=use.id,
                name=use.name,
                result=ToolResult(use.id, content, result.is_error),
                outcome=outcome,
                data=result.data,
                duration=time.monotonic() - began,
            )
        )

    async def complete(self, command: Complete) -> Completed:
        start, items = await self._complete(command.text)
        return Completed(id=command.id, start=start, items=items)

    async def _run_alone(
        self, tool: AnyTool, use: ToolUse, *, tell: bool = False
    ) -> tuple[Result, Literal["ok", "error", "denied"]]:
        """A call that no model made, through the gate; `tell` says when it begins."""
        from weft.agent.dispatch import run_tool
        from weft.agent.permission import Permission

        work = self._thread.work
        context = work.context(use)
        permission = Permission(gate=work.gate, hooks=work.hooks, asks=work.asks, state=work.state, emit=work.emit)

        async def preview(value: Json) -> tuple[Display, ...]:
            return await tool.preview(tool.decode(value), context)

        ruling = await permission.rule(tool, use, preview)
        if not ruling.allowed:
            return Result(content=ruling.message, is_error=True), "denied"
        if tell:
            work.emit(ToolCalled(use=use, state="running", title=tool.title(tool.decode(ruling.input))))
        result = await run_tool(tool, ruling.input, msgspec.structs.replace(context, sandbox=ruling.sandbox))
        return result, "error" if result.is_error else "ok"
