"""Hooks as settings write them, and which of them an event concerns."""

import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias, get_args

import msgspec

from weft.hooks.port import HookEvent
from weft.schema.content import Json
from weft.settings import Settings
from weft.settings.layers import as_list, as_object, as_strings, is_object

EVENTS: frozenset[str] = frozenset(get_args(HookEvent))
DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 600.0

Function: TypeAlias = Callable[[Json, str | None], Awaitable[Json | None]]
"""A hook in this process: (input, tool use id) to the output that a command would print as JSON."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One hook: a shell `command`, or a `function`. `blocks_on_failure` counts a failure as a refusal."""

    matcher: str = "*"
    command: str = ""
    function: Function | None = None
    key: str = ""
    timeout: float = DEFAULT_TIMEOUT
    blocks_on_failure: bool = False
    source: str = ""

    @property
    def name(self) -> str:
        return self.command or self.key or "function"


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
                problems.append(f"{layer.path}: no hook event is named {event!r}")
                continue
            found = read_entries(entries, layer.path, problems)
            hooks[event] = hooks.get(event, ()) + found
    return Found(hooks, tuple(problems))


def read_entries(entries: object, source: str, problems: list[str]) -> tuple[Hook, ...]:
    """The hooks in a list of `{"matcher": …, "hooks": [{"type": "command", "command": …}]}`."""
    found: list[Hook] = []
    for entry in as_list(entries):
        if not is_object(entry):
            problems.append(f"{source}: a hook entry is not an object")
            continue
        matcher = entry.get("matcher")
        for item in as_list(entry.get("hooks")):
            value = as_object(item)
            command = value.get("command")
            if value.get("type", "command") != "command" or not isinstance(command, str) or not command:
                problems.append(f"{source}: hooks of type {value.get('type')!r} are not run; only commands are")
                continue
            found.append(
                Hook(
                    matcher=matcher if isinstance(matcher, str) else "*",
                    command=command,
                    timeout=_timeout(value.get("timeout")),
                    source=source,
                )
            )
    return tuple(found)


def from_host(given: Json | None, call: Callable[[str, Json, str | None], Awaitable[Json]] | None) -> Found:
    """Hooks that a caller gives: in the settings' form, or as callback ids that `call` reaches."""
    hooks: dict[str, tuple[Hook, ...]] = {}
    problems: list[str] = []
    for event, entries in (given or {}).items():
        if event not in EVENTS:
            problems.append(f"the caller's hooks: no event is named {event!r}")
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
