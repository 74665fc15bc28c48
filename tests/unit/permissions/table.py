"""Small builders that the permission tests share."""

from pathlib import Path

from weft.permissions.gate import RuleGate
from weft.permissions.groups import EDITORS, READERS, canonical
from weft.permissions.port import Call, Decision
from weft.permissions.rules import Behavior, Rule, make
from weft.schema.events import Mode


def rules(behavior: Behavior, *texts: str, root: str = "") -> tuple[Rule, ...]:
    return tuple(make(text, behavior, "user", root=root) for text in texts)


def gate_for(
    folder: Path,
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    mode: Mode = "default",
    env: dict[str, str] | None = None,
) -> RuleGate:
    root = str(folder)
    found = rules("allow", *allow, root=root) + rules("ask", *ask, root=root) + rules("deny", *deny, root=root)
    home = str(folder.parent / "home")
    variables = {"HOME": home, "PATH": "/usr/bin:/bin", "IS_SANDBOX": "1", **(env or {})}
    return RuleGate(found, cwd=root, mode=mode, env=variables, own=(f"{home}/.weft",), persist=False)


def call(tool: str, /, **values: object) -> Call:
    name = canonical(tool)
    group = "readonly" if name in READERS else "edit" if name in EDITORS else "other"
    return Call(name=tool, input=dict(values), group=group, read_only=name in READERS)


def bash(gate: RuleGate, command: str) -> Decision:
    return gate.decide(Call(name="Bash", input={"command": command}, group="execution", kind="execute"))
