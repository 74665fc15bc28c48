"""Runs hooks. Nothing that a hook does reaches the turn but its verdict: it may hang, die, flood or lie."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio
import msgspec

from weft.errors import TransportError
from weft.hooks.config import MAX_TIMEOUT, Found, Function, Hook, from_host, from_settings, matches
from weft.hooks.kinds import Reach, inside, run_work
from weft.hooks.outcome import decode, fold, from_command, from_json, refusal
from weft.hooks.port import HookEvent, Verdict
from weft.schema.content import Json
from weft.schema.events import AgentEvent, HookRan, Notice, Reported
from weft.settings import Settings

if TYPE_CHECKING:
    from weft.transports.process import Child, ChildOutput

logger = logging.getLogger(__name__)

MAX_OUTPUT = 1 << 20
Emit = Callable[[AgentEvent], None]
AskHost = Callable[[str, str, Json], Awaitable[Json]]
Wrap = Callable[[tuple[str, ...], Path, dict[str, str]], tuple[tuple[str, ...], dict[str, str]]]
"""Puts a command into the sandbox: (argv, folder, environment) to what is really started."""


class HookRunner:
    """Implements `hooks.port.Hooks`."""

    def __init__(
        self,
        hooks: Mapping[str, tuple[Hook, ...]],
        *,
        emit: Emit,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        wrap: Wrap | None = None,
        reach: Reach | None = None,
    ) -> None:
        self._hooks = dict(hooks)
        self._reach = reach or Reach()
        self._emit = emit
        self._env = dict(os.environ if env is None else env)
        self._cwd = cwd
        self._wrap = wrap
        self._count = 0

    def wants(self, event: HookEvent) -> bool:
        return bool(self._hooks.get(event))

    def matchers(self, event: HookEvent) -> tuple[str, ...]:
        """What the hooks of an event ask for."""
        return tuple(hook.matcher for hook in self._hooks.get(event, ()))

    def add(self, event: HookEvent, function: Function, *, matcher: str = "*", timeout: float = 60.0) -> None:
        """Registers a function of this process."""
        hook = Hook(matcher=matcher, function=function, timeout=timeout, key=getattr(function, "__name__", "function"))
        self._hooks[event] = (*self._hooks.get(event, ()), hook)

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        chosen = self._chosen(event, subject)
        if not chosen:
            return Verdict()
        verdicts: list[Verdict] = [Verdict()] * len(chosen)
        name = f"{event}:{subject}" if subject else event

        async def one(index: int, hook: Hook) -> None:
            if hook.aside and self._reach.later is not None:
                self._reach.later(lambda: self._aside(hook, event, name, input, tool_use_id))
                return
            verdicts[index] = await self._one(hook, event, name, input, tool_use_id)

        async with anyio.create_task_group() as group:
            for index, hook in enumerate(chosen):
                group.start_soon(one, index, hook)
        verdict = fold(verdicts)
        for message in verdict.messages:
            self._emit(Notice(text=message, level="info", tag="hook"))
        return verdict

    def _chosen(self, event: HookEvent, subject: str) -> list[Hook]:
        """The hooks that match, each command once."""
        seen: set[str] = set()
        chosen: list[Hook] = []
        for hook in self._hooks.get(event, ()):
            if not matches(hook.matcher, subject) or (hook.command and hook.command in seen):
                continue
            if hook.asks_a_model and inside.get():
                continue
            seen.add(hook.command)
            chosen.append(hook)
        return chosen

    async def _aside(self, hook: Hook, event: HookEvent, name: str, input: Json, tool_use_id: str | None) -> None:
        verdict = await self._one(hook, event, name, input, tool_use_id)
        for message in verdict.messages:
            self._emit(Notice(text=message, level="info", tag="hook"))

    async def _one(self, hook: Hook, event: HookEvent, name: str, input: Json, tool_use_id: str | None) -> Verdict:
        self._count += 1
        hook_id = f"hook_{self._count}"
        self._emit(Reported(report=HookRan(hook_id=hook_id, name=name, hook_event=event)))
        try:
            with anyio.fail_after(hook.timeout):
                if hook.function is not None:
                    value = await hook.function(input, tool_use_id)
                    verdict = from_json(event, value) if value else Verdict()
                    done = HookRan(hook_id=hook_id, name=name, hook_event=event, outcome=_outcome(verdict))
                else:
                    if hook.work is not None:
                        code, stdout, stderr = await run_work(hook.work, input, self._reach, self._env)
                    else:
                        code, stdout, stderr = await self._command(hook, input)
                    verdict = from_command(event, hook.name, code, stdout, stderr)
                    done = HookRan(
                        hook_id=hook_id,
                        name=name,
                        hook_event=event,
                        outcome="error" if code not in (0, 2) else _outcome(verdict),
                        stdout=stdout,
                        stderr=stderr,
                        exit_code=code,
                    )
                    if code not in (0, 2):
                        self._say(f"{name} hook {hook.name} failed with {code}: {stderr.strip()[:500]}", "hook_error")
        except TimeoutError:
            done = HookRan(hook_id=hook_id, name=name, hook_event=event, outcome="timeout")
            verdict = self._failed(hook, event, f"{name} hook {hook.name} gave no answer in {hook.timeout:g} s")
        except Exception as error:
            logger.exception("hook %s of %s failed", hook.name, event)
            done = HookRan(hook_id=hook_id, name=name, hook_event=event, outcome="error", stderr=str(error))
            verdict = self._failed(hook, event, f"{name} hook {hook.name} failed: {error}")
        self._emit(Reported(report=done))
        return verdict

    def _failed(self, hook: Hook, event: HookEvent, message: str) -> Verdict:
        self._say(message, "hook_no_verdict")
        return refusal(event, message) if hook.blocks_on_failure else Verdict()

    def _say(self, message: str, tag: str) -> None:
        self._emit(Notice(text=message, level="warning", tag=tag))

    async def _command(self, hook: Hook, input: Json) -> tuple[int, str, str]:
        """
        Raises:
            TransportError: it cannot be started.
        """
        from weft.transports.process import spawn

        folder = str(input.get("cwd") or self._cwd or os.getcwd())
        project = self._cwd or folder
        env = {**self._env, "CLAUDE_PROJECT_DIR": project, "WEFT_PROJECT_DIR": project}
        argv: tuple[str, ...] = ("/bin/sh", "-c", hook.command)
        if self._wrap is not None:
            argv, env = self._wrap(argv, Path(folder), env)
        child = await spawn(argv, cwd=project, env=env, stdin="pipe", stderr="pipe")
        outputs = [bytearray(), bytearray()]
        left: float | None = None
        try:

            async def feed() -> None:
                if child.stdin is None:
                    return
                try:
                    await child.stdin.send(msgspec.json.encode(input) + b"\n")
                except TransportError:
                    pass  # it answers without having read all: that is its right
                finally:
                    child.stdin.close()

            async def drain(index: int) -> None:
                nonlocal left
                pipe = (child.stdout, child.stderr)[index]
                if pipe is not None:
                    async for data in pipe:
                        outputs[index] += data[: max(0, MAX_OUTPUT - len(outputs[index]))]
                        if index == 0 and self._reach.later is not None:
                            left = goes_on(bytes(outputs[0]), hook.timeout)
                        if left is not None:
                            group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(feed)
                group.start_soon(drain, 0)
                group.start_soon(drain, 1)
            if left is not None and self._reach.later is not None:
                limit = left
                self._reach.later(lambda: _see_out(child, limit))
                return 0, "", ""
            code = await child.wait()
        finally:
            if left is None:
                await _end(child)
        return code, outputs[0].decode("utf-8", "replace"), outputs[1].decode("utf-8", "replace")


def goes_on(output: bytes, timeout: float) -> float | None:
    """The seconds that a hook wants to go on for by itself: its first line is `{"async": true}`."""
    line, end, _ = output.partition(b"\n")
    if not end or b'"async"' not in line:
        return None
    value = decode(line.decode("utf-8", "replace"))
    if value is None or value.get("async") is not True:
        return None
    wanted = value.get("asyncTimeout")
    return min(float(wanted), MAX_TIMEOUT) if isinstance(wanted, int | float) and wanted > 0 else timeout


async def _see_out(child: "Child", limit: float) -> None:
    """Reads and drops until the hook ends; then it, and what it started, is gone."""

    async def drop(pipe: "ChildOutput | None") -> None:
        if pipe is not None:
            async for _ in pipe:
                pass

    try:
        with anyio.move_on_after(limit):
            async with anyio.create_task_group() as group:
                group.start_soon(drop, child.stdout)
                group.start_soon(drop, child.stderr)
            await child.wait()
    finally:
        await _end(child)


async def _end(child: "Child") -> None:
    with anyio.CancelScope(shield=True):
        await child.kill(grace=0.5)
    child.close()


def _outcome(verdict: Verdict) -> Literal["ok", "blocked"]:
    return "blocked" if verdict.block or verdict.permission == "deny" else "ok"


def open_hooks(
    settings: Settings,
    given: Json | None = None,
    *,
    emit: Emit,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    ask_host: AskHost | None = None,
    wrap: Wrap | None = None,
    reach: Reach | None = None,
) -> HookRunner:
    """The hooks of the settings and of the caller. `ask_host` reaches callbacks in another process by id."""

    async def call(callback: str, input: Json, tool_use_id: str | None) -> Json:
        assert ask_host is not None
        return await ask_host(
            "", "hook_callback", {"callback_id": callback, "input": input, "tool_use_id": tool_use_id}
        )

    found = from_settings(settings), from_host(given, call if ask_host is not None else None)
    return _runner(found, emit=emit, env=env, cwd=cwd, wrap=wrap, reach=reach)


def own_hooks(
    given: Json,
    *,
    emit: Emit,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    wrap: Wrap | None = None,
    reach: Reach | None = None,
) -> HookRunner:
    """Hooks in the settings' form and nothing else: those of an agent."""
    return _runner((from_host(given, None),), emit=emit, env=env, cwd=cwd, wrap=wrap, reach=reach)


def _runner(
    sources: tuple[Found, ...],
    *,
    emit: Emit,
    env: Mapping[str, str] | None,
    cwd: str | None,
    wrap: Wrap | None,
    reach: Reach | None,
) -> HookRunner:
    hooks: dict[str, tuple[Hook, ...]] = {}
    for found in sources:
        for event, entries in found.hooks.items():
            hooks[event] = hooks.get(event, ()) + entries
        for problem in found.problems:
            emit(Notice(text=problem, level="warning", tag="settings"))
    return HookRunner(hooks, emit=emit, env=env, cwd=cwd, wrap=wrap, reach=reach)
