"""Hooks as settings write them, and which of them an event concerns."""

import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias, get_args

import msgspec

from weft.hooks.kinds import ModelWork, Work, read_work
from weft.hooks.port import NEVER_HERE, HookEvent
from weft.schema.content import Json
from weft.settings import Settings
from weft.settings.layers import as_list, as_object, as_strings, is_object

EVENTS: frozenset[str] = frozenset(get_args(HookEvent))
DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 600.0

Function: TypeAlias = Callable[[Json, str | None], Awaitable[Json | None]]
"""A hook in this process: (input, tool use id) to the output that a command would print as JSON."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook: a shell `command`, a `function`, or other `work`. `blocks_on_failure` counts a failure as a refusal;
    nobody waits for one that is `aside`, and it decides nothing."""

    matcher: str = "*"
    command: str = ""
    function: Function | None = None
    work: Work | None = None
    aside: bool = False
    key: str = ""
    timeout: float = DEFAULT_TIMEOUT
    blocks_on_failure: bool = False
    source: str = ""

    @property
    def name(self) -> str:
        return self.command or self.key or "function"

    @property
    def asks_a_model(self) -> bool:
        return isinstance(self.work, ModelWork)


class Found(msgspec.Struct, frozen=True):
    hooks: dict[str, tuple[Hook, ...]]
    problems: tuple[str, ...] = ()


def from_settings(settings: Settings) -> Found:
    """The hooks of all layers that count. Those of an untrusted project do not; `disableAllHooks` leaves policy's;
    a policy with `allowManagedHooksOnly` leaves nothing else."""
    policy_only = any(
        layer.scope == "policy" and layer.data.get("allowManagedHooksOnly") is True for layer in settings.layers
    )
    disabled = settings.values.get("disableAllHooks") is True
    hooks: dict[str, tuple[Hook, ...]] = {}
    problems: list[str] = []
    for layer in settings.layers:
        from_project = layer.scope in ("project", "local")
        if (from_project and layer.path not in settings.accepted) or (
            layer.scope != "policy" and (policy_only or disabled)
        ):
            continue
        for event, entries in as_object(layer.data.get("hooks")).items():
            if event not in EVENTS:
                problems += _unknown(event, layer.path)
                continue
            found = read_entries(entries, layer.path, problems)
            hooks[event] = hooks.get(event, ()) + found
    return Found(hooks, tuple(problems))


def _unknown(event: str, source: str) -> list[str]:
    if event in NEVER_HERE:
        return [f"{source}: {event} never happens in Weft, so its hooks are not run"]
    return [f"{source}: no hook event is named {event!r}"]


def read_entries(entries: object, source: str, problems: list[str]) -> tuple[Hook, ...]:
    """The hooks in a list of `{"matcher": …, "hooks": [{"type": "command", "command": …}]}`; what is wrong in it."""
    found: list[Hook] = []
    for entry in as_list(entries):
        if not is_object(entry):
            problems.append(f"{source}: a hook entry is not an object")
            continue
        matcher = entry.get("matcher")
        for item in as_list(entry.get("hooks")):
            value = as_object(item)
            made = _read_hook(value, matcher if isinstance(matcher, str) else "*", source)
            if isinstance(made, Hook):
                found.append(made)
            else:
                problems.append(f"{source}: {made}")
    return tuple(found)


def _read_hook(value: Json, matcher: str, source: str) -> Hook | str:
    """The hook, or what is wrong with it."""
    limit, aside = _timeout(value.get("timeout")), value.get("async") is True
    kind = value.get("type", "command")
    if kind == "command":
        command = value.get("command")
        if not isinstance(command, str) or not command:
            return "a hook of type 'command' needs a command"
        return Hook(matcher=matcher, command=command, timeout=limit, source=source, aside=aside)
    work = read_work(value)
    if isinstance(work, str):
        return work
    return Hook(matcher=matcher, work=work, key=f"({kind})", timeout=limit, source=source, aside=aside)


def from_host(given: Json | None, call: Callable[[str, Json, str | None], Awaitable[Json]] | None) -> Found:
    """Hooks that a caller gives: in the settings' form, or as callback ids that `call` reaches."""
    hooks: dict[str, tuple[Hook, ...]] = {}
    problems: list[str] = []
    for event, entries in (given or {}).items():
        if event not in EVENTS:
            problems += _unknown(event, "the caller's hooks")
            continue
        found = list(read_entries(entries, "the caller", problems))
        for entry in as_list(entries):
            value = as_object(entry)
            matcher = value.get("matcher")
            for callback in as_strings(value.get("hookCallbackIds")):
                if call is None:
                    problems.append("the caller's hooks: there is no way to call them back")
                    continue
                found.append(
                    Hook(
                        matcher=matcher if isinstance(matcher, str) else "*",
                        function=_calling(callback, call),
                        key=callback,
                        timeout=_timeout(value.get("timeout")),
                        blocks_on_failure=value.get("onFailure") == "block",
                        source="the caller",
                    )
                )
        hooks[event] = tuple(found)
    return Found(hooks, tuple(problems))


def _calling(callback: str, call: Callable[[str, Json, str | None], Awaitable[Json]]) -> Function:
    async def function(input: Json, tool_use_id: str | None) -> Json | None:
        return await call(callback, input, tool_use_id)

    return function


def _timeout(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return min(float(value), MAX_TIMEOUT)
    return DEFAULT_TIMEOUT


_PLAIN = re.compile(r"[A-Za-z0-9_ -]+(?:\|[A-Za-z0-9_ -]+)*")


def matches(matcher: str, subject: str) -> bool:
    """`*`, an empty matcher, a name, `A|B`, or a regular expression for the whole subject. A broken expression
    matches nothing, except where it is the very text."""
    if matcher in ("", "*") or matcher == subject:
        return True
    if _PLAIN.fullmatch(matcher):
        return subject in [part.strip() for part in matcher.split("|")]
    try:
        return re.fullmatch(matcher, subject) is not None
    except re.error:
        return False
