"""Hooks at the points of a session that are no tool call: its start and end, a question, a move, a compaction.

What a hook wants the model to know waits here until there is a message that it can stand before. Each hook has its
own limit of time; nothing that one does takes a turn with it.
"""

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio

from weft.agent.state import State
from weft.hooks.port import HookEvent, Hooks, Verdict
from weft.schema.content import Content, Text
from weft.schema.events import AgentEvent, InputRequested, PermissionAsked, PlanProposed, QuestionAsked

StartSource = Literal["startup", "resume", "clear", "compact", "fork"]
EndReason = Literal["clear", "prompt_input_exit", "other"]
Trigger = Literal["auto", "manual"]
Later = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]

END_LIMIT = 5.0
IDLE_AFTER = 60.0
_MEMORY_TYPES = {"managed": "Managed", "user": "User", "project": "Project", "local": "Local"}


def _nothing() -> Sequence[tuple[Path, str]]:
    return ()


class Moments:
    """`later` runs something beside the turn; the session sets it while it lives. `memory` are the memory files that
    hold from the start, with their scope."""

    def __init__(self, hooks: Hooks, state: State) -> None:
        self._hooks = hooks
        self._state = state
        self._waiting: list[str] = []
        self.later: Later = lambda _work: None
        self.memory: Callable[[], Sequence[tuple[Path, str]]] = _nothing
        state.moved = self._moved

    def take(self) -> Content:
        """What hooks said since the last call, for the model."""
        said, self._waiting = self._waiting, []
        return tuple(Text(text) for text in said)

    async def begin(self, source: StartSource) -> None:
        if source in ("startup", "resume", "fork"):
            self._keep(await self._run("SetUpEnvironment", source, source=source))
        self._keep(await self._run("SessionStart", source, source=source, model=self._state.model))
        if source != "compact" and self._hooks.wants("InstructionsLoaded"):
            for path, scope in self.memory():
                await self._run(
                    "InstructionsLoaded",
                    "session_start",
                    file_path=str(path),
                    memory_type=_MEMORY_TYPES.get(scope, "Project"),
                    load_reason="session_start",
                )

    async def end(self, reason: EndReason) -> None:
        """Also after a cancel, and never for long: whoever ends a session waits for this."""
        if self._hooks.wants("SessionEnd"):
            with anyio.move_on_after(END_LIMIT, shield=True):
                await self._run("SessionEnd", reason, reason=reason)

    async def may_compact(self, trigger: Trigger, instructions: str) -> bool:
        verdict = await self._run("PreCompact", trigger, trigger=trigger, custom_instructions=instructions)
        return not (verdict.block or verdict.stop)

    async def compacted(self, trigger: Trigger, summary: str, *, main: bool) -> None:
        await self._run("PostCompact", trigger, trigger=trigger, compact_summary=summary)
        if main:
            await self.begin("compact")

    async def idle(self) -> None:
        await self._notify("Weft is waiting for your input", "idle_prompt")

    def see(self, event: AgentEvent) -> None:
        """Questions on their way out: a person who looks elsewhere is told of them."""
        match event:
            case PermissionAsked(use=use):
                words, kind = f"Weft needs your permission to use {use.name}", "permission_prompt"
            case QuestionAsked() | PlanProposed():
                words, kind = "Weft is waiting for your answer", "question"
            case InputRequested(server=server):
                words, kind = f"The server {server} is waiting for your input", "elicitation_dialog"
            case _:
                return
        if self._hooks.wants("Notification"):
            self.later(lambda: self._notify(words, kind))

    async def _notify(self, message: str, kind: str) -> None:
        await self._run("Notification", kind, message=message, title="Weft", notification_type=kind)

    def _moved(self, old: Path, new: Path) -> None:
        if self._hooks.wants("CwdChanged"):

            async def tell() -> None:
                self._keep(await self._run("CwdChanged", "", old_cwd=str(old), new_cwd=str(new)))

            self.later(tell)

    def _keep(self, verdict: Verdict) -> None:
        self._waiting.extend(verdict.context)

    async def _run(self, event: HookEvent, subject: str, **extra: object) -> Verdict:
        if not self._hooks.wants(event):
            return Verdict()
        return await self._hooks.run(event, self._state.hook_input(event, **extra), subject=subject)
