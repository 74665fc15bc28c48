"""May this call run? Hooks, the gate and the person, in that order; a deny wins wherever it comes from."""

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from weft.agent.asks import Asks
from weft.agent.state import State
from weft.errors import UsageError
from weft.hooks.port import Hooks, Verdict
from weft.permissions.port import Call, Decision, Gate
from weft.schema.commands import PermissionAnswered
from weft.schema.content import Json, ToolUse
from weft.schema.display import Display
from weft.schema.events import AgentEvent, Notice, PermissionAsked
from weft.settings.layers import as_object
from weft.tools.port import AnyTool

NOT_ASKED = (
    "Nobody is there to give permission for this: {reason}. Go on without it, or say what would have to be allowed."
)
DEFERRED = "A hook put this call off: it has not run, and the turn ended with it."
REFUSED = (
    "The person refused this call. Do not look for another way to do the same thing; "
    "go on with something else, or ask what they would like."
)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The last word on a call. `input` is what it runs with."""

    allowed: bool
    input: Json
    message: str = ""
    source: Literal["config", "hook", "user", "mode"] = "config"
    interrupt: bool = False
    sandbox: bool = True
    notes: tuple[str, ...] = ()
    stop: str | None = None
    deferred: bool = False
    """A hook put the call off: it is not run, and the turn ends with it."""


def as_understood(args: msgspec.Struct, value: Json) -> Json:
    """The input as the tool reads it: defaults filled in, strings that stand for numbers and booleans as such, other
    spellings of a name as the right one. The gate must not judge another call than the one that is run."""
    read = as_object(msgspec.to_builtins(args, enc_hook=str))
    return {**value, **{key: item for key, item in read.items() if item is not None}}


class Permission:
    """Rules on calls. `preview` makes what the person is shown, and is called only when they are asked."""

    def __init__(
        self,
        *,
        gate: Gate,
        hooks: Hooks,
        asks: Asks,
        state: State,
        emit: Callable[[AgentEvent], None],
        parent: str | None = None,
    ) -> None:
        self._gate = gate
        self._hooks = hooks
        self._asks = asks
        self._state = state
        self._emit = emit
        self._parent = parent

    async def rule(
        self, tool: AnyTool, use: ToolUse, preview: Callable[[Json], Awaitable[tuple[Display, ...]]]
    ) -> Ruling:
        """
        Raises:
            msgspec.ValidationError: a hook or the person put an input in place that the tool does not take.
        """
        verdict = await self._pre_hook(use)
        value = verdict.input if verdict.input is not None else use.input
        notes = verdict.context
        stop = (verdict.stop_reason or "A hook ended the turn.") if verdict.stop else None
        if verdict.block or verdict.permission == "deny":
            message = f"PreToolUse:{use.name} hook error: {verdict.reason}"
            return Ruling(allowed=False, input=value, message=message, source="hook", notes=notes, stop=stop)
        decision = self._decide(tool, value)
        if decision.behavior == "deny":
            return Ruling(allowed=False, input=value, message=self._denial(use, decision), notes=notes, stop=stop)
        if verdict.permission == "defer":
            return Ruling(allowed=False, input=value, message=DEFERRED, source="hook", notes=notes, deferred=True)
        waved = verdict.permission == "allow" and decision.reason_kind != "rule"
        wants_asking = verdict.permission == "ask"
        if not wants_asking and (decision.behavior == "allow" or waved):
            source = "hook" if decision.behavior == "ask" else "config"
            return Ruling(allowed=True, input=value, source=source, sandbox=decision.sandbox, notes=notes, stop=stop)
        reason = verdict.reason if wants_asking and verdict.reason else decision.reason
        ruling = await self._ask(tool, use, value, decision, reason, preview)
        return msgspec.structs.replace(ruling, notes=notes, stop=stop)

    async def _pre_hook(self, use: ToolUse) -> Verdict:
        if not self._hooks.wants("PreToolUse"):
            return Verdict()
        details = self._state.hook_input("PreToolUse", tool_name=use.name, tool_input=use.input, tool_use_id=use.id)
        return await self._hooks.run("PreToolUse", details, subject=use.name, tool_use_id=use.id)

    def _decide(self, tool: AnyTool, value: Json) -> Decision:
        args = tool.decode(value)
        call = Call(
            name=tool.name,
            input=as_understood(args, value),
            group=tool.group,
            kind=tool.kind,
            read_only=tool.is_read_only(args),
            paths=tool.paths(args),
            cwd=str(self._state.cwd),
        )
        return self._gate.decide(call)

    def _denial(self, use: ToolUse, decision: Decision) -> str:
        by = f" (rule {decision.rule} in {decision.scope} settings)" if decision.rule else ""
        return f"Permission to use {use.name} has been denied{by}: {decision.reason or 'it is not allowed'}."

    async def _ask(
        self,
        tool: AnyTool,
        use: ToolUse,
        value: Json,
        decision: Decision,
        reason: str,
        preview: Callable[[Json], Awaitable[tuple[Display, ...]]],
    ) -> Ruling:
        asked = await self._ask_hook(tool, use, value, decision)
        if asked is not None:
            return asked
        if "permission" not in self._asks.kinds:
            why = reason.rstrip(".") or "it needs approval"
            return Ruling(allowed=False, input=value, message=NOT_ASKED.format(reason=why), source="mode")
        answer = await self._asks.permission(
            PermissionAsked(
                request_id=self._asks.next_id(),
                use=ToolUse(use.id, use.name, value),
                title=tool.title(tool.decode(value)),
                reason=reason,
                reason_kind=decision.reason_kind,
                suggestions=decision.suggestions,
                preview=await preview(value),
                kind=tool.kind,
                blocked_path=decision.blocked_path,
                parent=self._parent,
            )
        )
        if answer is None or answer.behavior == "deny":
            message = answer.message if answer is not None and answer.message else REFUSED
            interrupt = answer is not None and answer.interrupt
            return Ruling(allowed=False, input=value, message=message, source="user", interrupt=interrupt)
        return self._granted(tool, use, value, decision, answer)

    async def _ask_hook(self, tool: AnyTool, use: ToolUse, value: Json, decision: Decision) -> Ruling | None:
        if not self._hooks.wants("PermissionRequest"):
            return None
        from weft.permissions.suggest import to_update

        details = self._state.hook_input(
            "PermissionRequest",
            tool_name=use.name,
            tool_input=value,
            permission_suggestions=[to_update(suggestion) for suggestion in decision.suggestions],
        )
        verdict = await self._hooks.run("PermissionRequest", details, subject=use.name, tool_use_id=use.id)
        if verdict.block or verdict.permission == "deny":
            return Ruling(allowed=False, input=value, message=verdict.reason or REFUSED, source="hook")
        if verdict.permission == "allow":
            changed = verdict.input is not None and verdict.input != value
            final = self._decide(tool, verdict.input) if changed and verdict.input is not None else decision
            if final.behavior == "deny":
                return Ruling(allowed=False, input=value, message=self._denial(use, final))
            return Ruling(allowed=True, input=verdict.input or value, source="hook", sandbox=final.sandbox)
        return None

    def _granted(
        self, tool: AnyTool, use: ToolUse, value: Json, decision: Decision, answer: PermissionAnswered
    ) -> Ruling:
        """What the person changed is checked again: a deny rule holds against them too."""
        final = answer.input if answer.input is not None else value
        if final != value:
            again = self._decide(tool, final)
            if again.behavior == "deny":
                return Ruling(allowed=False, input=final, message=self._denial(use, again))
        self._remember(answer)
        return Ruling(allowed=True, input=final, source="user", sandbox=decision.sandbox)

    def _remember(self, answer: PermissionAnswered) -> None:
        try:
            if answer.rules:
                self._gate.add_rules(answer.rules)
            if answer.directories:
                self._gate.add_directories(answer.directories)
                self._state.joined(answer.directories)
            if answer.mode is not None:
                self._state.set_mode(answer.mode)
        except (UsageError, OSError) as error:
            self._emit(Notice(text=f"The permission could not be kept: {error}", level="warning", tag="permissions"))
