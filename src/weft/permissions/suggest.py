"""The rules that "always allow" would write: the narrowest that make sense, shown before they are written."""

import os
from typing import TYPE_CHECKING, Literal

from weft.permissions.groups import EDITORS, READERS, canonical
from weft.permissions.paths import is_within, protected, resolve
from weft.permissions.port import Call, Decision
from weft.permissions.rules import to_text
from weft.schema.content import Json
from weft.schema.events import RuleSuggestion

if TYPE_CHECKING:
    from weft.permissions.gate import RuleGate

Destination = Literal["session", "local", "project", "user"]
DESTINATIONS: tuple[Destination, ...] = ("session", "local", "project", "user")


def suggestions_for(call: Call, decision: Decision, gate: "RuleGate") -> tuple[RuleSuggestion, ...]:
    """Each rule for each destination. None where an ask rule or a protected file would ask again anyway."""
    if decision.reason_kind == "rule":
        return ()
    return tuple(
        RuleSuggestion(text, destination)
        for destination in DESTINATIONS
        for text in _texts(call, decision, gate, destination)
    )


def _texts(call: Call, decision: Decision, gate: "RuleGate", destination: Destination) -> list[str]:
    tool = canonical(call.name)
    if tool in READERS or tool in EDITORS:
        path = decision.blocked_path
        if path and tool in EDITORS and protected(resolve(path, call.cwd or gate.cwd, gate.home), roots=gate.roots):
            return []
        return [_path_rule(tool, path, call.cwd or gate.cwd, gate, destination)] if path else []
    if tool == "WebFetch":
        from weft.permissions.domains import host_of

        host, doubt = host_of(str(call.input.get("url", "")))
        return [] if doubt or not host else [to_text("WebFetch", f"domain:{host}")]
    return [] if tool == "Bash" or decision.reason_kind == "path" else _named(tool, call)


def _named(tool: str, call: Call) -> list[str]:
    keys = {"Task": ("subagent_type", "agent"), "Skill": ("skill", "command", "name")}.get(tool, ())
    value = next((value for key in keys if isinstance(value := call.input.get(key), str) and value), "")
    return [to_text(tool, value) if value else tool]


def _path_rule(tool: str, path: str, cwd: str, gate: "RuleGate", destination: Destination) -> str:
    """One file for edits; one folder for reads outside of the workspace. A leading `/` means the project only in the
    project's own files."""
    real = resolve(path, cwd, gate.home).real
    if tool in EDITORS:
        root = gate.roots[0]
        inside = destination != "user" and is_within(real, root) and real != root
        return to_text("Edit", _literal(real[len(root) :]) if inside else f"/{_literal(real)}")
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    return to_text("Read", f"/{_literal(folder)}/**" if folder not in ("/", gate.home) else f"/{_literal(real)}")


def _literal(path: str) -> str:
    """The path with the characters escaped that a pattern would read as wildcards."""
    return "".join(f"\\{character}" if character in "*?[\\" else character for character in path)


_DESTINATIONS = {"session": "session", "local": "localSettings", "project": "projectSettings", "user": "userSettings"}


def to_update(one: RuleSuggestion) -> Json:
    """A suggestion as hosts and hooks read it: a `PermissionUpdate`."""
    tool, _, rest = one.rule.partition("(")
    rule: Json = {"toolName": tool}
    if rest:
        rule["ruleContent"] = rest[:-1]
    return {
        "type": "addRules",
        "rules": [rule],
        "behavior": one.behavior,
        "destination": _DESTINATIONS[one.destination],
    }
