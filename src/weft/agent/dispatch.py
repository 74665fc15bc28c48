"""Tool use: hook, permission, run, hook. Every call ends in a result that the model can read."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import anyio
import msgspec

from weft.agent.history import Addition, History
from weft.agent.limits import LoopGuard, TextGuard
from weft.agent.loop import Answered, TurnOver
from weft.agent.permission import Permission, Ruling
from weft.agent.state import State
from weft.agent.toolbox import ToolBox
from weft.agent.turn import Limits, Turn
from weft.errors import ToolError, WorkspaceError
from weft.hooks.port import Hooks
from weft.schema.content import Content, Json, Text, ToolResult, ToolUse
from weft.schema.display import Display
from weft.schema.events import AgentEvent, Denial, ToolCalled, ToolEnded
from weft.settings.layers import as_object
from weft.tools.arguments import explain
from weft.tools.port import AnyTool, Result, ToolContext

logger = logging.getLogger(__name__)

AT_ONCE = 10
Outcome = Literal["ok", "error", "denied", "cancelled"]


class _Call:
    """One call on its way: what was asked, the tool, how far it came."""

    def __init__(self, use: ToolUse, tool: AnyTool | None) -> None:
        self.use = use
        self.tool = tool
        self.args: msgspec.Struct | None = None
        self.problem: str | None = None
        self.started = time.monotonic()
        self.ended = False
        self.response: object = None
        if tool is None:
            self.problem = f"There is no tool named {use.name}."
            return
        try:
            self.args = tool.decode(use.input)
        except msgspec.ValidationError as error:
            self.problem = explain(error, tool)

    @property
    def read_only(self) -> bool:
        return self.tool is not None and self.args is not None and self.tool.is_read_only(self.args)


class Dispatch:
    """The loop's `Tools` port. Read-only calls run at once when all of them are; others in order."""

    def __init__(
        self,
        *,
        box: ToolBox,
        permission: Permission,
        hooks: Hooks,
        context: Callable[[ToolUse], ToolContext],
        history: History,
        state: State,
        turn: Turn,
        limits: Limits,
        emit: Callable[[AgentEvent], None],
        steering: Callable[[], Awaitable[list[Addition]]] | None = None,
        touched: Callable[[str], Content] | None = None,
        before_edit: Callable[[str, str], Awaitable[None]] | None = None,
        parent: str | None = None,
    ) -> None:
        self._box = box
        self._permission = permission
        self._hooks = hooks
        self._context = context
        self._history = history
        self._state = state
        self._turn = turn
        self._limits = limits
        self._emit = emit
        self._steering = steering
        self._touched = touched
        self._before_edit = before_edit
        self._parent = parent
        self._guard = LoopGuard()
        self._words = TextGuard()
        self._over: TurnOver | None = None
        self._final = False
        self._notes: list[str] = []
        self._paths: dict[str, None] = {}

    async def answer(self, uses: Sequence[ToolUse], results: dict[str, ToolResult], logged: set[str]) -> Answered:
        self._turn.phase = "tools"
        self._limits.check_budget()
        self._over, self._final, self._notes, self._paths = None, False, [], {}
        calls = [self._announce(use) for use in uses]
        try:
            await self._run_all(calls, results, logged)
        finally:
            for call in calls:
                if not call.ended:
                    self._end(call, results[call.use.id], "cancelled", Result())
        await self._after_all(calls)
        if self._over is None and (repeated := self._words.note(self._turn.said)):
            self._over = TurnOver("loop", repeated)
        if self._over is not None:
            raise self._over
        return Answered(self._final, tuple(await self._additions()))

    def _announce(self, use: ToolUse) -> _Call:
        call = _Call(use, self._box.find(use.name))
        title, locations = use.name, ()
        if call.tool is not None and call.args is not None:
            title, locations = call.tool.title(call.args), call.tool.paths(call.args)
        kind = call.tool.kind if call.tool is not None else "other"
        self._emit(ToolCalled(use=use, title=title, kind=kind, locations=locations, parent=self._parent))
        return call

    async def _run_all(self, calls: list[_Call], results: dict[str, ToolResult], logged: set[str]) -> None:
        if len(calls) > 1 and all(call.read_only for call in calls):
            limiter = anyio.CapacityLimiter(AT_ONCE)

            async def limited(call: _Call) -> None:
                async with limiter:
                    await self._one(call, results, logged)

            async with anyio.create_task_group() as group:
                for call in calls:
                    group.start_soon(limited, call)
            return
        for call in calls:
            if self._over is not None:
                return
            await self._one(call, results, logged)

    async def _one(self, call: _Call, results: dict[str, ToolResult], logged: set[str]) -> None:
        ruling, result, outcome = await self._rule_and_run(call)
        content = result.content if result.content != "" else "(no output)"
        answer = ToolResult(call.use.id, content, is_error=result.is_error)
        results[call.use.id] = answer
        call.response = result.data if result.data is not None else content
        logged.add(call.use.id)
        self._turn.user_messages += 1
        self._history.log_result(answer, result.data)
        self._end(call, answer, outcome, result, source=ruling.source if ruling is not None else "")
        if result.final:
            self._turn.structured, self._turn.has_structured, self._final = result.structured, True, True
        if result.ends_turn:
            self._final = True
        if result.interrupt or (ruling is not None and ruling.interrupt):
            self._over = TurnOver("cancelled", "The person ended the turn.")
        elif ruling is not None and ruling.deferred:
            self._over = TurnOver("tool_deferred", f"A hook put off the call of {call.use.name}: it has not run.")
        elif ruling is not None and ruling.stop is not None:
            self._over = TurnOver("hook_stopped", ruling.stop)
        elif repeated := self._guard.note(call.use, answer):
            self._over = TurnOver("loop", repeated)

    def _end(self, call: _Call, answer: ToolResult, outcome: Outcome, result: Result, *, source: str = "") -> None:
        call.ended = True
        self._emit(
            ToolEnded(
                tool_use_id=call.use.id,
                name=call.use.name,
                result=answer,
                outcome=outcome,
                display=result.display,
                data=result.data,
                edits=result.edits,
                duration=time.monotonic() - call.started,
                decision_source=source,
                parent=self._parent,
            )
        )

    async def _rule_and_run(self, call: _Call) -> tuple[Ruling | None, Result, Outcome]:
        tool, use = call.tool, call.use
        if tool is None or call.problem is not None:
            return None, _failure(call.problem or "The call cannot be understood."), "error"
        context = self._context(use)

        async def preview(value: Json) -> tuple[Display, ...]:
            return await tool.preview(tool.decode(value), context)

        try:
            ruling = await self._permission.rule(tool, use, preview)
        except msgspec.ValidationError as error:
            return None, _failure(explain(error, tool)), "error"
        self._notes.extend(ruling.notes)
        if ruling.deferred:
            self._turn.deferred = ToolUse(use.id, use.name, ruling.input)
            return ruling, Result(content=ruling.message, is_error=True), "cancelled"
        if not ruling.allowed:
            self._turn.denials.append(Denial(use.name, use.id, use.input, ruling.message))
            await self._tell_denied(use, ruling)
            return ruling, Result(content=ruling.message, is_error=True), "denied"
        final = ToolUse(use.id, use.name, ruling.input)
        self._emit(
            ToolCalled(
                use=final,
                state="running",
                title=tool.title(tool.decode(ruling.input)),
                kind=tool.kind,
                locations=tool.paths(tool.decode(ruling.input)),
                parent=self._parent,
            )
        )
        call.started = time.monotonic()
        context = msgspec.structs.replace(context, use=final, sandbox=ruling.sandbox)
        if self._before_edit is not None and tool.group == "edit":
            for path in tool.paths(tool.decode(ruling.input)):
                await self._before_edit(use.id, path)
        result = await run_tool(tool, ruling.input, context)
        if not result.is_error:
            self._paths.update(dict.fromkeys(tool.paths(tool.decode(ruling.input))))
        result = await self._after_hooks(final, result, time.monotonic() - call.started)
        return ruling, result, "error" if result.is_error else "ok"

    async def _tell_denied(self, use: ToolUse, ruling: Ruling) -> None:
        if self._hooks.wants("PermissionDenied"):
            details = self._state.hook_input(
                "PermissionDenied", tool_name=use.name, tool_input=use.input, tool_use_id=use.id, reason=ruling.message
            )
            await self._hooks.run("PermissionDenied", details, subject=use.name, tool_use_id=use.id)

    async def _after_hooks(self, use: ToolUse, result: Result, seconds: float) -> Result:
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        if not self._hooks.wants(event):
            return result
        details = self._state.hook_input(
            event,
            tool_name=use.name,
            tool_input=use.input,
            tool_use_id=use.id,
            duration_ms=round(seconds * 1000),
            **({"error": result.content, "is_interrupt": False} if result.is_error else {"tool_response": result.data}),
        )
        verdict = await self._hooks.run(event, details, subject=use.name, tool_use_id=use.id)
        if verdict.block and verdict.reason:
            self._notes.append(f"{event}:{use.name} hook feedback: {verdict.reason}")
        self._notes.extend(verdict.context)
        if verdict.stop:
            self._over = TurnOver("hook_stopped", verdict.stop_reason or "A hook ended the turn.")
        return _with_output(result, verdict.output)

    async def _after_all(self, calls: Sequence[_Call]) -> None:
        if not self._hooks.wants("PostToolBatch"):
            return
        rows = [
            {
                "tool_name": call.use.name,
                "tool_input": call.use.input,
                "tool_use_id": call.use.id,
                "tool_response": call.response,
            }
            for call in calls
        ]
        verdict = await self._hooks.run("PostToolBatch", self._state.hook_input("PostToolBatch", tool_calls=rows))
        if verdict.block and verdict.reason:
            self._notes.append(f"PostToolBatch hook feedback: {verdict.reason}")
        self._notes.extend(verdict.context)
        if verdict.stop and self._over is None:
            self._over = TurnOver("hook_stopped", verdict.stop_reason or "A hook ended the turn.")

    async def _additions(self) -> list[Addition]:
        found: list[Addition] = []
        if self._notes:
            found.append(Addition(tuple(Text(note) for note in self._notes), synthetic=True))
            self._turn.user_messages += 1
        told = [self._touched(path) for path in self._paths] if self._touched is not None else []
        found.extend(Addition(content, synthetic=True) for content in told if content)
        if self._steering is not None:
            found.extend(await self._steering())
        return found


def _with_output(result: Result, output: object) -> Result:
    """The result with what a hook put in its place: text, or a value of the shape that the tool's own has."""
    if output is None:
        return result
    if isinstance(output, str):
        return msgspec.structs.replace(result, content=output)
    if type(output) is not type(result.data):
        logger.warning("a hook's updatedToolOutput has not the shape of the tool's own output and is left out")
        return result
    streams = [text for key in ("stdout", "stderr") if isinstance(text := as_object(output).get(key), str) and text]
    content = "\n".join(streams) or msgspec.json.encode(output).decode()
    return msgspec.structs.replace(result, content=content, data=output)


def _failure(message: str) -> Result:
    return Result(content=message, is_error=True, data=f"Error: {message}")


async def run_tool(tool: AnyTool, value: Json, context: ToolContext) -> Result:
    """A failing tool is a result, not an exception: the model must read it."""
    try:
        return await tool.run(tool.decode(value), context)
    except (ToolError, WorkspaceError) as error:
        return _failure(str(error))
    except Exception as error:
        logger.exception("the tool %s failed", tool.name)
        return _failure(unexpected(tool, error))


def unexpected(tool: AnyTool, error: Exception) -> str:
    """What the model reads of a tool that raised what no tool should."""
    return f"{tool.name} failed unexpectedly: {error.__class__.__name__}: {error}"
