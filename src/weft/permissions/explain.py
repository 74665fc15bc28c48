"""A decision told step by step, for people and as JSON."""

from typing import TYPE_CHECKING

from weft.permissions.groups import EDITORS, READERS, canonical, group_of
from weft.permissions.port import Call
from weft.schema.content import Json
from weft.settings.layers import as_list, as_object

if TYPE_CHECKING:
    from weft.permissions.gate import RuleGate

_SUBJECT = {"Bash": "command", "WebFetch": "url", "Task": "subagent_type", "Skill": "skill"}


def explain(gate: "RuleGate", tool: str, subject: str) -> Json:
    """What the gate would say of this call; for a command with its parse and each part."""
    name = canonical(tool)
    key = "file_path" if name in READERS or name in EDITORS else _SUBJECT.get(name, "input")
    call = Call(name=tool, input={key: subject}, group=group_of(tool), read_only=name in READERS, cwd=gate.cwd)
    decision = gate.decide(call)
    found: Json = {
        "tool": tool,
        "subject": subject,
        "mode": gate.mode,
        "behavior": decision.behavior,
        "reason": decision.reason,
        "rule": decision.rule,
        "scope": decision.scope,
        "always_allow": list(dict.fromkeys(suggestion.rule for suggestion in decision.suggestions)),
    }
    if name == "Bash":
        found |= _shell(gate, subject)
    return found


def _shell(gate: "RuleGate", command: str) -> Json:
    from weft.permissions.shell_gate import examine

    verdict = examine(gate, command, gate.cwd)
    return {
        "parse": {
            "clear": verdict.analysis.line is not None,
            "problems": list(verdict.analysis.problems),
            "commands": [
                {"words": list(found.words) or [found.raw], "inside": found.inside == "substitution"}
                for found in verdict.analysis.found
            ],
        },
        "parts": [
            {
                "text": part.text,
                "behavior": part.behavior,
                "reason": part.reason,
                "rule": part.rule,
                "scope": part.scope,
            }
            for part in verdict.parts
        ],
    }


def to_lines(found: Json) -> list[str]:
    """The explanation as text."""
    lines = [f"{found['tool']}: {found['subject']}", ""]
    parse = as_object(found.get("parse"))
    if parse:
        lines.append("parse")
        for item in as_list(parse.get("commands")):
            command = as_object(item)
            where = "  (inside of a substitution)" if command.get("inside") else ""
            lines.append(f"  {' '.join(str(word) for word in as_list(command.get('words')))}{where}")
        lines += [f"  ! {problem}" for problem in as_list(parse.get("problems"))]
        lines += ["", "parts"]
        for item in as_list(found.get("parts")):
            part = as_object(item)
            by = f" [{part['rule']}, {part['scope']}]" if part.get("rule") else ""
            lines.append(f"  {part['behavior']:<5}  {part['text']}\n         {part['reason']}{by}")
        lines.append("")
    by = f" (rule {found['rule']}, {found['scope']} settings)" if found.get("rule") else ""
    lines.append(f"decision in {found['mode']} mode: {found['behavior']}{by}")
    if found.get("reason"):
        lines.append(f"because: {found['reason']}")
    suggested = as_list(found.get("always_allow"))
    if suggested:
        lines.append(f"to always allow it: {'  '.join(str(rule) for rule in suggested)}")
    return lines
