"""Shell commands at the gate."""

from typing import TYPE_CHECKING

from weft.permissions.port import Decision

if TYPE_CHECKING:
    from weft.permissions.gate import RuleGate


def judge_shell(gate: "RuleGate", command: str, cwd: str) -> Decision:
    """Judges one command line."""
    from weft.permissions.gate import by_rule

    if gate.mode == "plan":
        return Decision(behavior="deny", reason="plan mode changes nothing", reason_kind="mode")
    if gate.mode == "bypassPermissions":
        return Decision(behavior="allow", reason="bypassPermissions", reason_kind="mode")
    rule = gate.allow.tool("Bash")
    for candidate in gate.allow.shell:
        if candidate.specifier == command.strip():
            rule = candidate
    return by_rule(rule) if rule else Decision(behavior="ask", reason="a command would run", reason_kind="shell")
