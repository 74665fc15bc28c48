"""Hooks at the points of a session that are no tool call: its start and end, a question, a move, a compaction, a
failure, a file that changed.

What a hook wants the model to know waits here until there is a message that it can stand before. Each hook has its
own limit of time; nothing that one does takes a turn with it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio

from weft.agent.state import State
from weft.hooks.port import HookEvent, Hooks, Verdict
from weft.schema.commands import InputGiven
from weft.schema.content import Content, Json, Text
from weft.schema.display import Todo
from weft.schema.events import AgentEvent, InputRequested, PermissionAsked, PlanProposed, QuestionAsked
from weft.schema.messages import Reply
from weft.settings.layers import as_object

if TYPE_CHECKING:
    from weft.hooks.watch import FileWatch

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
    hold from the start, with their scope; `config` the settings files, with the name of their source."""

    def __init__(self, hooks: Hooks, state: State) -> None:
        self._hooks = hooks
        self._state = state
        self._waiting: list[str] = []
        self.later: Later = lambda _work: None
        self.memory: Callable[[], Sequence[tuple[Path, str]]] = _nothing
        self.config: Callable[[], Mapping[Path, str]] = dict
        self._watch: FileWatch | None = None
        self._watched: list[str] = []
        state.moved = self._moved
        state.joined = self._joined
        state.planned = self._planned

    def take(self) -> Content:
        """What hooks said since the last call, for the model."""
        said, self._waiting = self._waiting, []
        return tuple(Text(text) for text in said)

    async def begin(self, source: StartSource, setup: str = "") -> None:
        await self.look()
        if setup:
            self._keep(await self._run("Setup", setup, trigger=setup))
        if source in ("startup", "resume", "fork"):
            self._keep(await self._run("SetUpEnvironment", source, source=source))
        self._keep(await self._run("SessionStart", source, source=source, model=self._state.model))
        if source != "compact" and self._hooks.wants("InstructionsLoaded"):
            for path, scope in self.memory():
                await self._instructions(path, scope, "session_start")

    def loaded(self, path: Path, scope: str, reason: str) -> None:
        """Instructions that came in with a file that was read or written."""
        self.later(lambda: self._instructions(path, scope, reason))

    async def _instructions(self, path: Path, scope: str, reason: str) -> None:
        kind = _MEMORY_TYPES.get(scope, "Project")
        await self._run("InstructionsLoaded", reason, file_path=str(path), memory_type=kind, load_reason=reason)

    async def end(self, reason: EndReason) -> None:
        """Also after a cancel, and never for long: whoever ends a session waits for this."""
        if self._hooks.wants("SessionEnd") or self._watch is not None:
            with anyio.move_on_after(END_LIMIT, shield=True):
                await self.look()
                await self._run("SessionEnd", reason, reason=reason)

    async def follow(self) -> None:
        """Looks at the files that hooks want to hear of, for as long as the session lives."""
        if self._hooks.wants("FileChanged") or self._hooks.wants("ConfigChange"):
            from weft.hooks.watch import EVERY

            while True:
                await anyio.sleep(EVERY)
                await self.look()

    async def look(self) -> None:
        """Tells hooks of files that changed since the last look."""
        files, config = self._hooks.wants("FileChanged"), self._hooks.wants("ConfigChange")
        if not files and not config:
            return
        from weft.hooks.watch import FileWatch, named_files

        watch = self._watch = self._watch or FileWatch()
        cwd = self._state.cwd
        wanted = named_files(self._hooks.matchers("FileChanged"), cwd) + [cwd / name for name in self._watched]
        for path, what in watch.look(dict.fromkeys(wanted)) if files else ():
            self._keep(await self._run("FileChanged", path.name, file_path=str(path), event=what))
        sources: Mapping[Path, str] = self.config() if config else {}
        for path, _what in watch.look(sources):
            await self._run("ConfigChange", sources[path], source=sources[path], file_path=str(path))

    async def shown(self, turn_id: str, reply: Reply) -> None:
        """A message of the model that people see, whole."""
        if reply.text:
            details = {"turn_id": turn_id, "message_id": reply.id, "index": 0, "final": True, "delta": reply.text}
            await self._run("MessageDisplay", "", **details)

    async def failed(self, error: str, kind: str, said: str) -> None:
        await self._run("StopFailure", kind, error=kind, error_details=error, last_assistant_message=said)

    async def submitted(self, prompt: str) -> tuple[str, tuple[str, ...]]:
        """Why a prompt is refused, empty when it is not; and what hooks want the model to know."""
        verdict = await self._run("UserPromptSubmit", "", prompt=prompt)
        if verdict.title is not None:
            self._state.set_title(verdict.title)
        return _blocked("UserPromptSubmit", verdict), verdict.context

    async def expanded(self, command: str, typed: str, text: str) -> tuple[str, tuple[str, ...]]:
        """As `submitted`, for a command of the person's that became a prompt."""
        about: Json = {
            "expansion_type": "mcp_prompt" if command.startswith(("mcp__", "mcp.")) else "slash_command",
            "command_name": command,
            "command_args": typed.partition(" ")[2].strip(),
            "prompt": text,
        }
        verdict = await self._run("UserPromptExpansion", command, **about)
        return _blocked("UserPromptExpansion", verdict), verdict.context

    async def may_switch(self, model: str) -> str:
        """Why the model may not be changed; empty when it may."""
        verdict = await self._run("PreModelSwitch", model, old_model=self._state.model, new_model=model)
        return (verdict.reason or "a hook objects") if verdict.block or verdict.stop else ""

    async def switched(self, old: str) -> None:
        model = self._state.model
        await self._run("PostModelSwitch", model, old_model=old, new_model=model)

    async def elicited(
        self, server: str, message: str, schema: Json | None, url: str, ask: Callable[[], Awaitable[InputGiven | None]]
    ) -> InputGiven | None:
        """A server wants to know something: hooks may answer before the person, and change what they answered."""
        about: Json = {"mcp_server_name": server, "message": message, "mode": "url" if url else "form"}
        about |= {"url": url} if url else {"requested_schema": schema}
        given = _given(await self._run("Elicitation", server, **about))
        if given is None:
            given = await ask()
        if given is None:
            return None
        told: Json = {"mcp_server_name": server, "mode": about["mode"], "action": given.action}
        changed = _given(await self._run("ElicitationResult", server, **told, content=given.content))
        return InputGiven(given.request_id, changed.action, changed.content) if changed is not None else given

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

    def _joined(self, folders: tuple[str, ...]) -> None:
        if self._hooks.wants("DirectoryAdded"):

            async def tell() -> None:
                for folder in folders:
                    self._keep(await self._run("DirectoryAdded", "", directory=folder))

            self.later(tell)

    def _planned(self, old: tuple[Todo, ...], new: tuple[Todo, ...]) -> None:
        """The list of things to do is the tasks that hooks hear of, by their place in it."""
        before = {todo.content: todo.status for todo in old}
        rows: list[tuple[HookEvent, str, str]] = []
        for number, todo in enumerate(new, 1):
            if todo.content not in before:
                rows.append(("TaskCreated", str(number), todo.content))
            if todo.status == "completed" and before.get(todo.content) != "completed":
                rows.append(("TaskCompleted", str(number), todo.content))
        wanted = [row for row in rows if self._hooks.wants(row[0])]

        async def tell() -> None:
            for event, number, words in wanted:
                self._keep(await self._run(event, "", task_id=number, task_subject=words))

        if wanted:
            self.later(tell)

    def _keep(self, verdict: Verdict) -> None:
        self._waiting.extend(verdict.context)
        self._watched.extend(verdict.watch)
        if verdict.watch and self._watch is not None:
            self._watch.look([self._state.cwd / name for name in verdict.watch])

    async def _run(self, event: HookEvent, subject: str, /, **extra: object) -> Verdict:
        if not self._hooks.wants(event):
            return Verdict()
        return await self._hooks.run(event, self._state.hook_input(event, **extra), subject=subject)


def _blocked(event: HookEvent, verdict: Verdict) -> str:
    if not verdict.block and not verdict.stop:
        return ""
    return f"{event} operation blocked by hook: {verdict.reason or verdict.stop_reason}"


def _given(verdict: Verdict) -> InputGiven | None:
    """The answer that a hook gave in the person's place; a refusal declines."""
    if verdict.block or verdict.permission == "deny":
        return InputGiven("", "decline")
    if verdict.answer is None:
        return None
    action = cast(Literal["accept", "decline", "cancel"], verdict.answer["action"])
    return InputGiven("", action, as_object(verdict.answer["content"]))
