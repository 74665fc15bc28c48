"""The gate: rules, modes and paths decide each tool call. Pure, but for looking at symlinks on the disk.

The order, first match wins:

    broken policy            deny
    deny rule                deny
    plan mode and a write    deny
    ask rule                 ask       (holds in every mode)
    bypassPermissions        allow
    odd or protected path    ask
    allow rule               allow
    what the mode lets pass  allow
    the rest                 ask; deny in dontAsk

An `ask` that nobody can answer is a denial; that is the caller's to do.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from weft import paths as places
from weft.errors import UsageError
from weft.permissions import rules as rulebook
from weft.permissions.groups import EDITORS, HARMLESS, READERS, canonical
from weft.permissions.matching import RuleIndex
from weft.permissions.modes import bypass_refusal, to_mode
from weft.permissions.paths import (
    Trail,
    link_count,
    odd_spelling,
    protected,
    resolve,
    same_file,
    special_file,
    within_any,
)
from weft.permissions.port import Call, Decision
from weft.permissions.rules import BEHAVIORS, Behavior, Rule
from weft.schema.content import Json
from weft.schema.events import Mode, RuleSuggestion
from weft.settings import Settings
from weft.settings.layers import Seal

MOST_JUDGED = 1024
PATH_KEYS = ("file_path", "notebook_path", "path")


class RuleGate:
    """The gate of one session. `unlocked` says that bypassPermissions was allowed at the launch."""

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        cwd: str,
        mode: Mode = "default",
        directories: Iterable[str] = (),
        readable: Iterable[str] = (),
        own: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        seal: Seal = "",
        seal_reason: str = "",
        bypass_disabled: bool = False,
        unlocked: bool = False,
        persist: bool = True,
    ) -> None:
        self.env = dict(os.environ if env is None else env)
        self.home = str(places.user_home(self.env))
        self.cwd = os.path.abspath(cwd)
        self.roots = [resolve(self.cwd).real]
        self.readable = [resolve(folder, self.cwd, self.home).real for folder in readable]
        self.own = [resolve(folder).real for folder in own]
        self.rules = tuple(rules)
        self.mode: Mode = mode
        self.seal: Seal = seal
        self._seal_reason = seal_reason
        self._bypass_disabled = bypass_disabled
        self._unlocked = unlocked or mode == "bypassPermissions"
        self._persist = persist
        self._judged: dict[str, None] = {}
        self._copies: list[str] = []
        self._index()
        self.workspace_path: tuple[str, ...] = ()
        self.add_directories(tuple(directories))

    def _index(self) -> None:
        self.deny, self.ask, self.allow = (
            RuleIndex(behavior, self.rules, cwd=self.cwd, home=self.home) for behavior in BEHAVIORS
        )

    # --- what a session changes ---------------------------------------------------------------------------------

    def set_mode(self, mode: Mode) -> None:
        if mode == "bypassPermissions" and mode != self.mode:
            reason = self.bypass_refused()
            if not reason and not self._unlocked:
                reason = "bypassPermissions must be unlocked when the session is started"
            if reason:
                raise UsageError(reason, hint="start with --permission-mode bypassPermissions to unlock it")
        self.mode = mode

    def start_in(self, mode: Mode) -> None:
        """The mode of the launch; starting in bypassPermissions unlocks it for later."""
        self._unlocked = self._unlocked or mode == "bypassPermissions"
        self.mode = mode

    def bypass_refused(self) -> str:
        """Why bypassPermissions cannot be used here, or an empty string."""
        return bypass_refusal(
            disabled=self._bypass_disabled or bool(self.seal),
            root=hasattr(os, "geteuid") and os.geteuid() == 0,
            sandboxed=self.env.get("IS_SANDBOX") == "1",
        )

    def add_rules(self, rules: tuple[RuleSuggestion, ...]) -> None:
        made = [
            rulebook.make(rule.rule, rule.behavior, rule.destination, root=self.cwd, source=rule.destination)
            for rule in rules
        ]
        self.rules += tuple(made)
        self._index()
        if self._persist:
            from weft.permissions.trust import accept_file, unseen
            from weft.permissions.writing import write_rules

            before = unseen(self.cwd, self.env)
            for path in write_rules(rules, self.cwd, self.env):
                accept_file(self.cwd, path, self.env, before=before)

    def add_directories(self, directories: tuple[str, ...]) -> None:
        for folder in directories:
            real = resolve(folder, self.cwd, self.home).real
            if real not in self.roots:
                self.roots.append(real)
        entries = self.env.get("PATH", "").split(os.pathsep)
        self.workspace_path = tuple(
            os.path.join(self.cwd, entry)
            for entry in entries
            if not entry.startswith("/") or within_any(resolve(entry).real, self.roots)
        )

    def add_copy(self, folder: str) -> None:
        """A worktree of the project, inside one of Weft's own folders: files in it are the project's."""
        self._copies.append(resolve(folder, self.cwd, self.home).real)
        self.add_directories((folder,))

    def hides(self, tool_name: str, input: Json) -> bool:
        tool = canonical(tool_name)
        if self.deny.tool(tool):
            return True
        return any(
            self.path_rule(self.deny, tool, resolve(path, self.cwd, self.home)) for path in _input_paths(tool, input)
        )

    def refuses(self, real: Path, access: Literal["read", "write"]) -> str | None:
        """A last look at a file that is about to be opened, by its real path: a link may have been swapped in since
        the call was judged. A sentence refuses it."""
        path = str(real)
        trail = Trail((path,), path)
        rule = self.path_rule(self.deny, "Read" if access == "read" else "Edit", trail)
        if rule:
            return f"{path} is denied by the rule {rule.text}"
        known = within_any(path, [*self.roots, *self.readable]) or path in self._judged
        if access == "write" and self.mode != "bypassPermissions" and not known:
            return f"{path} is outside of the workspace, and no call that was judged names it"
        return None

    def removed(self, tool_name: str) -> bool:
        """Whether a rule denies the whole tool: the model is not even told of it."""
        return self.deny.tool(canonical(tool_name)) is not None

    # --- one call -----------------------------------------------------------------------------------------------

    def decide(self, call: Call) -> Decision:
        decision = self._judge(call)
        if self.seal == "ask" and decision.behavior == "allow":
            decision = Decision(behavior="ask", reason=self._seal_reason, reason_kind="other")
        if decision.behavior == "ask" and self.mode == "dontAsk":
            return Decision(
                behavior="deny",
                reason=f"{decision.reason or 'no rule allows it'} (dontAsk mode refuses what it would have to ask)",
                reason_kind="mode",
                rule=decision.rule,
                scope=decision.scope,
                blocked_path=decision.blocked_path,
            )
        if decision.behavior == "ask" and not decision.suggestions and self.seal == "":
            from weft.permissions.suggest import suggestions_for

            return _with_suggestions(decision, suggestions_for(call, decision, self))
        return decision

    def _judge(self, call: Call) -> Decision:
        if self.seal == "deny":
            return Decision(behavior="deny", reason=self._seal_reason, reason_kind="other")
        tool = canonical(call.name)
        cwd = call.cwd or self.cwd
        denied, asked = self.deny.tool(tool), self.ask.tool(tool)
        if denied:
            return by_rule(denied)
        decision = self._judge_input(call, tool, cwd)
        return by_rule(asked) if asked and decision.behavior != "deny" else decision

    def _judge_input(self, call: Call, tool: str, cwd: str) -> Decision:
        if tool == "Bash":
            from weft.permissions.shell_gate import judge_shell

            decision = judge_shell(self, str(call.input.get("command", "")), cwd)
            if decision.behavior == "allow" and self.mode != "bypassPermissions" and _leaves_the_box(call.input):
                return _ask("it would run outside of the sandbox", "shell")
            return decision
        if tool == "WebFetch":
            return self._fetch(call)
        if tool in READERS or tool in EDITORS or call.paths:
            return self._files(call, tool, cwd)
        return self._other(call, tool)

    def _files(self, call: Call, tool: str, cwd: str) -> Decision:
        written = list(dict.fromkeys([*call.paths, *_input_paths(tool, call.input)])) or [cwd]
        edits = tool in EDITORS or not (call.read_only or tool in READERS)
        verdicts = [self.judge_path(path, tool=tool, edits=edits, cwd=cwd) for path in written]
        worst = min(verdicts, key=lambda verdict: BEHAVIORS.index(verdict.behavior))
        if worst.behavior == "allow" and tool not in READERS and tool not in EDITORS:
            return self._other(call, tool)
        return worst

    def judge_path(self, path: str, *, tool: str, edits: bool, cwd: str) -> Decision:
        """One file of a call, by rules, place and mode. `tool` names the rules that apply."""
        trail = resolve(path, cwd, self.home)
        if edits:
            self._judged[trail.real] = None
            if len(self._judged) > MOST_JUDGED:
                self._judged.pop(next(iter(self._judged)))
        rule = self.path_rule(self.deny, tool, trail) or self._hard_linked(trail, tool)
        if rule:
            return by_rule(rule, path)
        if edits and self.mode == "plan":
            return Decision(behavior="deny", reason="plan mode changes nothing", reason_kind="mode", blocked_path=path)
        rule = self.path_rule(self.ask, tool, trail)
        if rule:
            return by_rule(rule, path)
        if self.mode == "bypassPermissions":
            return Decision(behavior="allow", reason="bypassPermissions", reason_kind="mode")
        doubt = self._doubt(path, trail, edits=edits)
        if doubt:
            named = self._named_exactly(trail, tool)
            return by_rule(named) if named else _ask(f"{path}: {doubt}", "path", path)
        rule = self.allow.tool(tool) or self.path_rule(self.allow, tool, trail)
        if rule:
            return by_rule(rule)
        return self._by_place(path, trail, edits=edits)

    def _by_place(self, path: str, trail: Trail, *, edits: bool) -> Decision:
        inside = within_any(trail.real, self.roots)
        if not edits:
            if inside or within_any(trail.real, self.readable) or self.mode == "plan":
                return Decision(behavior="allow", reason="reading is allowed here", reason_kind="mode")
            return _ask(f"{path} is outside of the workspace", "path", path)
        if inside and self.mode == "acceptEdits":
            return Decision(behavior="allow", reason="acceptEdits mode", reason_kind="mode")
        if inside and self.mode == "smart":
            return Decision(
                behavior="allow", reason="smart mode: edits in the workspace can be rewound", reason_kind="mode"
            )
        if not inside:
            return _ask(f"{path} is outside of the workspace", "path", path)
        return _ask(f"{path} would be changed", "mode", path)

    def _doubt(self, path: str, trail: Trail, *, edits: bool) -> str:
        odd = odd_spelling(path)
        if odd:
            return odd
        if edits:
            reason = protected(trail, roots=[*self._copies, *self.roots], own=self.own)
            if reason:
                return f"a protected file, because {reason}"
            if link_count(trail.real) > 1:
                return "it has a second name (hard link), which may lie elsewhere"
        kind = special_file(trail.real)
        return f"it is {kind}" if kind else ""

    def path_rule(self, index: RuleIndex, tool: str, trail: Trail) -> Rule | None:
        """A rule on this file. Edit rules govern every editor; a Read rule that restricts also restricts writing."""
        names = (trail.real,) if index.behavior == "allow" else trail.names
        if tool in READERS:
            return index.path(("Read", tool), names)
        if index.behavior == "allow":
            return index.path(("Edit", tool), names)
        wanted = (*EDITORS, "Read") if index.behavior == "deny" else tuple(EDITORS)
        return index.path(wanted, names)

    def _hard_linked(self, trail: Trail, tool: str) -> Rule | None:
        if link_count(trail.real) < 2:
            return None
        families = ("Read",) if tool in READERS else ("Read", *EDITORS)
        for family in families:
            rules = self.deny.paths.get(family)
            for path, rule in rules.literal_paths(cwd=self.cwd, home=self.home) if rules else ():
                if same_file(path, trail.real):
                    return rule
        return None

    def _named_exactly(self, trail: Trail, tool: str) -> Rule | None:
        """An allow rule that names this very file, without a wildcard."""
        rules = self.allow.paths.get("Edit" if tool in EDITORS else tool)
        for path, rule in rules.literal_paths(cwd=self.cwd, home=self.home) if rules else ():
            if resolve(path).real == trail.real and not os.path.isdir(trail.real):
                return rule
        return None

    def _fetch(self, call: Call) -> Decision:
        from weft.permissions.domains import host_of

        host, doubt = host_of(str(call.input.get("url", "")))
        for index in (self.deny, self.ask):
            rule = index.domain(host)
            if rule:
                return by_rule(rule)
        if self.mode == "bypassPermissions":
            return Decision(behavior="allow", reason="bypassPermissions", reason_kind="mode")
        rule = self.allow.tool("WebFetch") or (self.allow.domain(host) if host and not doubt else None)
        return by_rule(rule) if rule else _ask(doubt or f"{host} would be contacted", "mode")

    def _other(self, call: Call, tool: str) -> Decision:
        value = _name_value(tool, call.input)
        denied = self.deny.name(tool, value) if value else None
        if denied:
            return by_rule(denied)
        writes = not call.read_only and tool not in HARMLESS and tool != "Skill"
        if self.mode == "plan" and writes:
            if tool == "Task":
                return _ask("an agent would be started in plan mode", "mode")
            return Decision(behavior="deny", reason="plan mode changes nothing", reason_kind="mode")
        asked = self.ask.name(tool, value) if value else None
        if asked:
            return by_rule(asked)
        if self.mode == "bypassPermissions":
            return Decision(behavior="allow", reason="bypassPermissions", reason_kind="mode")
        rule = self.allow.tool(tool) or (self.allow.name(tool, value) if value else None)
        if rule:
            return by_rule(rule)
        if tool in HARMLESS or tool in ("Task", "Skill"):
            return Decision(behavior="allow", reason="it touches nothing by itself", reason_kind="tool")
        if call.read_only and not tool.startswith("mcp__") and tool != "WebSearch":
            return Decision(behavior="allow", reason="it only reads", reason_kind="tool")
        return _ask(f"no rule allows {call.name}", "mode")


def open_gate(
    settings: Settings,
    *,
    cwd: str,
    mode: str | None = None,
    allowed: Sequence[str] = (),
    disallowed: Sequence[str] = (),
    directories: Sequence[str] = (),
    readable: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    unlocked: bool = False,
) -> tuple[RuleGate, tuple[str, ...]]:
    """The gate that settings and flags ask for, and what people should be told (broken rules, a refused mode).

    `allowed` and `disallowed` hold one rule a string; a flag's value goes through `rules.split` first.

    Raises:
        UsageError: bypassPermissions was asked for by flag as root outside of a sandbox.
        RuleError: a flag's rule is not exactly one rule.
    """
    collected = rulebook.from_settings(settings)
    flags = rulebook.from_texts(allowed, "allow", "cliArg", root=cwd)
    flags += rulebook.from_texts(disallowed, "deny", "cliArg", root=cwd)
    notes = [*collected.problems]
    section = settings.section("permissions")
    seal: Seal = settings.seal or ("ask" if collected.broken else "")
    gate = RuleGate(
        (*collected.rules, *flags),
        cwd=cwd,
        directories=[*settings.strings("permissions", "additionalDirectories"), *directories],
        readable=readable,
        own=[str(places.weft_home(env)), str(places.claude_home(env)), str(places.user_home(env) / ".claude.json")],
        env=env,
        seal=seal,
        seal_reason=_seal_reason(settings, collected.broken),
        bypass_disabled=section.get("disableBypassPermissionsMode") == "disable",
        unlocked=unlocked,
    )
    wanted = mode if mode is not None else section.get("defaultMode")
    if isinstance(wanted, str) and wanted:
        notes += _start_mode(gate, wanted, by_flag=mode is not None)
    return gate, tuple(notes)


def _start_mode(gate: RuleGate, wanted: str, *, by_flag: bool) -> list[str]:
    try:
        mode = to_mode(wanted)
    except UsageError as error:
        if by_flag:
            raise
        return [f"permissions.defaultMode: {error}"]
    refusal = gate.bypass_refused() if mode == "bypassPermissions" else ""
    if refusal and by_flag and "root" in refusal:
        raise UsageError(refusal)
    if refusal:
        return [f"{refusal}; the session starts in default mode"]
    gate.start_in(mode)
    return []


def _seal_reason(settings: Settings, broken: tuple[str, ...]) -> str:
    sealed = [layer for layer in settings.layers if layer.seal]
    if sealed:
        problem = next(iter(sealed[0].problems), None)
        return f"settings with rules cannot be read, so nothing passes by itself: {problem or sealed[0].path}"
    return f"a rule that restricts cannot be read, so nothing passes by itself: {broken[0]}" if broken else ""


def by_rule(rule: Rule, path: str | None = None) -> Decision:
    words: dict[Behavior, str] = {"deny": "is denied", "ask": "must be asked", "allow": "is allowed"}
    return Decision(
        behavior=rule.behavior,
        reason=f"{rule.text} {words[rule.behavior]} by {rule.scope} settings",
        reason_kind="rule",
        rule=rule.text,
        scope=rule.scope,
        blocked_path=path,
    )


def _ask(reason: str, kind: str, path: str | None = None) -> Decision:
    return Decision(behavior="ask", reason=reason, reason_kind=kind, blocked_path=path)


def _with_suggestions(decision: Decision, suggestions: tuple[RuleSuggestion, ...]) -> Decision:
    import msgspec

    return msgspec.structs.replace(decision, suggestions=suggestions)


def _leaves_the_box(input: Json) -> bool:
    """Whatever a lenient reader might take for a yes."""
    return any(input.get(key) not in (None, False) for key in ("dangerouslyDisableSandbox", "disable_sandbox"))


def _input_paths(tool: str, input: Json) -> list[str]:
    if tool not in READERS and tool not in EDITORS:
        return []
    return [value for key in PATH_KEYS if isinstance(value := input.get(key), str) and value]


def _name_value(tool: str, input: Json) -> str:
    keys = {"Task": ("subagent_type", "agent"), "Skill": ("skill", "command", "name")}.get(tool, ())
    default = "general-purpose" if tool == "Task" else ""
    return next((value for key in keys if isinstance(value := input.get(key), str) and value), default)
