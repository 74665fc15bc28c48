"""Shell commands at the gate: every simple command of a line must pass by itself.

Deny and ask rules are held against everything that the line may run, also inside of wrappers, substitutions and
quoted scripts. What passes is either in the table of read-only commands, or covered by an allow rule, or an edit that
the mode lets pass; and its redirections must pass as reads and edits do.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from weft.permissions.paths import Trail, is_within, resolve, within_any
from weft.permissions.port import Decision
from weft.permissions.rules import BEHAVIORS, Behavior, Rule
from weft.permissions.shell import Analysis, analyse, words_of
from weft.permissions.shell_edits import edited_files
from weft.permissions.shell_files import (
    HARMLESS_TARGETS,
    expand_globs,
    harmless_assignment,
    known_variables,
    looks_secret,
    path_candidates,
    settle,
    shadowed,
)
from weft.permissions.shell_options import danger
from weft.permissions.shell_readonly import judge as judge_reading
from weft.permissions.shell_rules import ShellRule
from weft.permissions.shell_words import Redirect, Simple, Word
from weft.permissions.shell_wrappers import ASKED, inner_candidates, inner_scripts, look_through, program

if TYPE_CHECKING:
    from weft.permissions.gate import RuleGate
    from weft.permissions.matching import RuleIndex

MAX_DEPTH = 4


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command and what was decided of it. `words` are empty where they are not fixed."""

    text: str
    behavior: Behavior
    reason: str
    rule: str | None = None
    scope: str | None = None
    path: str | None = None
    words: tuple[str, ...] = ()
    reads_only: bool = False


class Verdict(msgspec.Struct, frozen=True):
    decision: Decision
    parts: tuple[Part, ...]
    analysis: Analysis


def judge_shell(gate: "RuleGate", command: str, cwd: str) -> Decision:
    """What the gate says of a command line, with the rules that would let it pass."""
    from weft.permissions.shell_suggest import suggestions_for_shell

    verdict = examine(gate, command, cwd)
    if verdict.decision.behavior != "ask" or verdict.decision.reason_kind == "rule":
        return verdict.decision
    return msgspec.structs.replace(verdict.decision, suggestions=suggestions_for_shell(verdict, command))


def examine(gate: "RuleGate", command: str, cwd: str) -> Verdict:
    """The decision with every step that led to it. Runs nothing."""
    analysis = analyse(command)
    everything = list(_everything(analysis, 0)) if _any_rules(gate) else []
    trails: dict[str, Trail] = {}
    denied = _restricted(gate, gate.deny, command, cwd, analysis, everything, trails)
    if denied is not None:
        return Verdict(_decision(denied, "rule"), (denied,), analysis)
    parts = _parts(gate, analysis, cwd)
    planned = _in_plan_mode(parts) if gate.mode == "plan" else None
    if planned is not None and planned.behavior == "deny":
        return Verdict(planned, parts, analysis)
    asked = _restricted(gate, gate.ask, command, cwd, analysis, everything, trails)
    if asked is not None:
        return Verdict(_decision(asked, "rule"), (asked,), analysis)
    if planned is not None:
        return Verdict(planned, parts, analysis)
    if gate.mode == "bypassPermissions":
        return Verdict(Decision(behavior="allow", reason="bypassPermissions", reason_kind="mode"), parts, analysis)
    whole = gate.allow.tool("Bash") or gate.allow.commands.whole(command)
    if whole is not None:
        part = Part(text=command, behavior="allow", reason="a rule allows it", rule=whole.text, scope=whole.scope)
        return Verdict(_decision(part, "rule"), parts, analysis)
    worst = min(parts, key=lambda part: BEHAVIORS.index(part.behavior))
    return Verdict(_decision(worst, "rule" if worst.rule else "shell"), parts, analysis)


def _decision(part: Part, kind: str) -> Decision:
    return Decision(
        behavior=part.behavior,
        reason=part.reason,
        reason_kind=kind,
        rule=part.rule,
        scope=part.scope,
        blocked_path=part.path,
    )


def _in_plan_mode(parts: Sequence[Part]) -> Decision:
    denied = next((part for part in parts if part.behavior == "deny"), None)
    if denied:
        return _decision(denied, "shell")
    changing = next((part for part in parts if not part.reads_only), None)
    if changing:
        return Decision(behavior="deny", reason=f"plan mode changes nothing: {changing.reason}", reason_kind="mode")
    asked = next((part for part in parts if part.behavior == "ask"), None)
    return _decision(asked or parts[0], "shell")


# --- rules that restrict --------------------------------------------------------------------------------------------


Everything = list[tuple[tuple[str, ...], str]]


def _any_rules(gate: "RuleGate") -> bool:
    return any(bool(index.commands) or bool(index.paths) for index in (gate.deny, gate.ask))


def _restricted(
    gate: "RuleGate",
    index: "RuleIndex",
    command: str,
    cwd: str,
    analysis: Analysis,
    everything: Everything,
    trails: dict[str, Trail],
) -> Part | None:
    if index.commands:
        found = index.commands.whole(command) or _rule_of(index.commands.find_text(command))
        if found:
            return _by_rule(command, found)
    if not index.commands and not index.paths:
        return None
    for words, raw in everything:
        hit = index.commands.find(words, loose=True) or index.commands.find_text(raw)
        if hit:
            return _by_rule(raw, hit.rule)
        if index.paths:
            part = _restricted_file(gate, index, words, raw, cwd, trails)
            if part:
                return part
    for simple in analysis.line.commands if analysis.line else ():
        for redirect in simple.redirects:
            path = redirect.target.text
            rule = gate.path_rule(index, "Read" if redirect.operator == "<" else "Edit", resolve(path, cwd, gate.home))
            if rule:
                return _by_rule(simple.raw, rule, path)
    return None


def _rule_of(found: ShellRule | None) -> Rule | None:
    return found.rule if found else None


def _restricted_file(
    gate: "RuleGate", index: "RuleIndex", words: Sequence[str], raw: str, cwd: str, trails: dict[str, Trail]
) -> Part | None:
    """A rule on a file that one of the words names. A Read rule holds for every program; an Edit rule for those that
    do not only read."""
    only_reads = not judge_reading(words).refusal
    for word in words[1:]:
        for path in path_candidates(word):
            trail = trails.get(path)
            if trail is None:
                known = path.replace("${HOME}", gate.home).replace("${PWD}", cwd)
                trail = trails[path] = resolve(known, cwd, gate.home)
            rule = gate.path_rule(index, "Read" if only_reads else "Edit", trail) or gate.path_rule(
                index, "Read", trail
            )
            if rule:
                return _by_rule(raw, rule, path)
    return None


def _everything(analysis: Analysis, depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """The words of all that may run: commands, what wrappers run, and scripts in their arguments."""
    seen: set[tuple[str, ...]] = set()
    lists: list[tuple[tuple[str, ...], str]] = []
    for found in analysis.found:
        words = words_of(found)
        if words:
            lists.append((tuple(word.text for word in words), found.raw))
    lists += [
        (simple.texts, simple.raw) for simple in (analysis.line.commands if analysis.line else ()) if simple.words
    ]
    for words, raw in lists:
        if words in seen:
            continue
        seen.add(words)
        yield words, raw
        for inner in inner_candidates(words):
            yield tuple(inner), raw
        if depth < MAX_DEPTH:
            for script in inner_scripts(words):
                yield from _everything(analyse(script), depth + 1)


def _by_rule(text: str, rule: Rule, path: str | None = None) -> Part:
    verb = "denied" if rule.behavior == "deny" else "to be asked"
    return Part(
        text=text,
        behavior=rule.behavior,
        reason=f"{rule.text} is {verb} by {rule.scope} settings",
        rule=rule.text,
        scope=rule.scope,
        path=path,
    )


# --- what passes ----------------------------------------------------------------------------------------------------


def _parts(gate: "RuleGate", analysis: Analysis, cwd: str) -> tuple[Part, ...]:
    if analysis.line is None:
        reason = "; ".join(analysis.problems) or "it cannot be judged"
        return (Part(text=analysis.text, behavior="ask", reason=reason),)
    if not analysis.line.commands:
        return (Part(text=analysis.text, behavior="allow", reason="it runs nothing", reads_only=True),)
    walk = _Walk(gate, analysis, cwd)
    return tuple(walk.part(simple) for simple in analysis.line.commands)


class _Walk:
    """Goes through a line and knows in which folders each command may run."""

    def __init__(self, gate: "RuleGate", analysis: Analysis, cwd: str) -> None:
        assert analysis.line is not None
        self.gate = gate
        self.line = analysis.line
        self.text = analysis.text
        self.chain = [cwd]
        self.all = [cwd]

    def part(self, simple: Simple) -> Part:
        if simple.before != "&&":
            self.chain = list(self.all)
        known = known_variables(self.line, self.text, home=self.gate.home, cwds=self.chain)
        words = tuple(settle(word, known, self.gate.home) for word in simple.words)
        part = self._command(simple, words)
        for redirect in simple.redirects:
            target = settle(redirect.target, known, self.gate.home)
            part = _worse(part, self._redirect(simple, redirect, target))
        for name, value in simple.assignments:
            if not harmless_assignment(name, value):
                part = _worse(part, _ask(simple.raw, f"it sets the variable {name}"))
        return part

    def _redirect(self, simple: Simple, redirect: Redirect, target: Word) -> Part | None:
        operator = redirect.operator
        if operator in ("<<", "<<-"):
            return None
        if not target.fixed:
            return _ask(simple.raw, "a redirection whose target is not fixed")
        if operator == "<<<" or (operator in (">&", "<&") and (target.text.isdigit() or target.text == "-")):
            return None
        if operator != "<" and target.text in HARMLESS_TARGETS:
            return None
        reads = operator == "<"
        for cwd in self.chain:
            verdict = self.gate.judge_path(target.text, tool="Read" if reads else "Edit", edits=not reads, cwd=cwd)
            if not reads and self.gate.mode == "smart" and os.path.lexists(resolve(target.text, cwd).real):
                return _ask(simple.raw, f"it would overwrite {target.text}", target.text, reads_only=False)
            if verdict.behavior != "allow":
                return _from(verdict, simple.raw, reads_only=reads)
        return None if reads else Part(text=simple.raw, behavior="allow", reason="an edit that may be made")

    def _command(self, simple: Simple, original: tuple[Word, ...]) -> Part:
        if not original:
            return Part(text=simple.raw, behavior="allow", reason="it runs no program", reads_only=True)
        words = look_through(original)
        name = words[0]
        if not name.fixed or not name.text.isascii() or not name.text:
            return _ask(simple.raw, "the program's name is not fixed")
        if name.text == "cd":
            return self._cd(simple, words)
        reading = self._reading(simple, words)
        if reading.behavior != "ask":
            return reading
        return self._by_rules(simple, original, words) or self._edits(simple, words) or reading

    def _cd(self, simple: Simple, words: tuple[Word, ...]) -> Part:
        if len(words) != 2 or not words[1].fixed or words[1].text.startswith("-") or self.gate.env.get("CDPATH"):
            return _ask(simple.raw, "it changes to a folder that is not fixed")
        if self.line.loops:
            return _ask(simple.raw, "it changes the folder inside of a loop")
        target = words[1].text
        moved = [resolve(target, cwd, self.gate.home).real for cwd in self.chain]
        self.all = list(dict.fromkeys([*self.all, *moved]))
        self.chain = self.all if self._may_end_early(simple) else moved
        for folder in moved:
            verdict = self.gate.judge_path(folder, tool="Read", edits=False, cwd=folder)
            if verdict.behavior != "allow":
                return _from(verdict, simple.raw, reads_only=True)
        return Part(text=simple.raw, behavior="allow", reason="a folder of the workspace", reads_only=True)

    def _may_end_early(self, simple: Simple) -> bool:
        """Whether a change of folder may be undone before the next command: in a pipe or a group it is a subshell's."""
        after = self.line.commands[self.line.commands.index(simple) + 1 :]
        pipes = ("|", "|&")
        return self.line.groups or simple.before in pipes or any(later.before in pipes for later in after[:1])

    # --- read-only --------------------------------------------------------------------------------------------------

    def _reading(self, simple: Simple, words: tuple[Word, ...]) -> Part:
        if words[0].text in ("echo", "printf"):
            return self._echo(simple, words)
        if any(word.variables for word in words):
            return _ask(simple.raw, "a variable stands in it whose value is not known")
        result: Part | None = None
        for cwd in self.chain:
            expanded = expand_globs(words, cwd)
            if isinstance(expanded, str):
                return _ask(simple.raw, expanded)
            result = _worse(result, self._read(simple, expanded, cwd))
        return result or _ask(simple.raw, "it has no folder to run in")

    def _echo(self, simple: Simple, words: tuple[Word, ...]) -> Part:
        secret = next((name for word in words for name in word.variables if looks_secret(name)), "")
        if secret:
            return _ask(simple.raw, f"it would show the variable {secret}")
        if words[0].text == "printf" and len(words) > 1 and (not words[1].fixed or danger(["printf", words[1].text])):
            return _ask(simple.raw, "printf with a format that is not fixed")
        listed = self._listed(simple, words)
        if listed is not None:
            return listed
        return Part(text=simple.raw, behavior="allow", reason="it only prints", reads_only=True, words=simple.texts)

    def _listed(self, simple: Simple, words: tuple[Word, ...]) -> Part | None:
        """A wildcard shows the names in a folder, as a listing of it does."""
        for word in words[1:]:
            if not word.glob:
                continue
            if word.variables:
                return _ask(simple.raw, "a wildcard in a folder that is not known")
            folder = re.split(r"[*?\[]", word.text)[0].rpartition("/")[0] + "/" if "/" in word.text else "."
            for cwd in self.chain:
                verdict = self.gate.judge_path(folder, tool="Read", edits=False, cwd=cwd)
                if verdict.behavior != "allow":
                    return _from(verdict, simple.raw, reads_only=True)
        return None

    def _read(self, simple: Simple, words: tuple[str, ...], cwd: str) -> Part:
        reading = judge_reading(words)
        if reading.refusal:
            return _ask(simple.raw, reading.refusal, reads_only=False, words=words)
        if shadowed(words[0], self.gate.workspace_path):
            return _ask(simple.raw, f"a program named {words[0]} lies in a folder of the workspace that is on PATH")
        if words[0] == "git" and (doubt := self._strange_repository(cwd)):
            return _ask(simple.raw, doubt)
        if reading.recursive and self.gate.deny.paths:
            return _ask(simple.raw, "it reads whole folders, in which rules deny some files", reads_only=True)
        there = [word for word in reading.doubtful if len(word) < 4096 and os.path.lexists(os.path.join(cwd, word))]
        for path in (*reading.files, *there):
            if path == "-":
                continue
            verdict = self.gate.judge_path(path, tool="Read", edits=False, cwd=cwd)
            if verdict.behavior != "allow":
                return _from(verdict, simple.raw, reads_only=True, words=words)
        return Part(text=simple.raw, behavior="allow", reason="it only reads", reads_only=True, words=words)

    def _strange_repository(self, cwd: str) -> str:
        """git obeys the configuration that it finds: only the workspace's own repository may be one that counts."""
        folder = resolve(cwd).real
        while True:
            if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
                return f"{folder} looks like a bare repository, whose configuration git would obey"
            if os.path.lexists(os.path.join(folder, ".git")):
                nested = any(is_within(folder, root) and folder != root for root in self.gate.roots)
                return f"{folder} is a repository of its own, whose configuration git would obey" if nested else ""
            parent = os.path.dirname(folder)
            if parent == folder:
                return ""
            folder = parent

    # --- allow rules, edits -----------------------------------------------------------------------------------------

    def _by_rules(self, simple: Simple, original: tuple[Word, ...], words: tuple[Word, ...]) -> Part | None:
        for candidate in dict.fromkeys((words, original)):
            rule = self.gate.allow.commands.find([word.text for word in candidate])
            if rule is None:
                continue
            if rule.exact and all(not word.variables for word in candidate):
                return _allowed(simple, rule, candidate)
            doubt = self._uncovered(rule, candidate)
            if doubt:
                return _ask(simple.raw, f"{rule.rule.text} does not cover this: {doubt}", reads_only=False)
            if len(candidate) > len(words) and len(rule.words) <= len(candidate) - len(words):
                continue
            return _allowed(simple, rule, candidate)
        return None

    def _uncovered(self, rule: ShellRule, words: tuple[Word, ...]) -> str:
        if any(word.variables for word in words):
            return "a variable stands in it whose value is not known"
        for cwd in self.chain:
            expanded = expand_globs(words, cwd)
            if isinstance(expanded, str):
                return expanded
            if self.gate.deny.paths and judge_reading(expanded).recursive:
                return "it reads whole folders, in which rules deny some files"
            reason = danger(expanded)
            if reason and (len(rule.prefix) < 2 or danger(rule.prefix) != reason):
                return reason
            if program(expanded[0]) in ASKED:
                reaches = len(rule.prefix) > 1 and not rule.prefix[-1].startswith("-")
                if not reaches:
                    return f"{expanded[0]} runs another program"
                reason = danger(expanded[len(rule.prefix) - 1 :])
                if reason:
                    return reason
        return ""

    def _edits(self, simple: Simple, words: tuple[Word, ...]) -> Part | None:
        if self.gate.mode not in ("acceptEdits", "smart") or any(word.variables for word in words):
            return None
        for cwd in self.chain:
            expanded = expand_globs(words, cwd)
            files = None if isinstance(expanded, str) else edited_files(expanded, cwd, smart=self.gate.mode == "smart")
            if files is None:
                return None
            for path, edits in files:
                real = resolve(path, cwd, self.gate.home).real
                if real in self.gate.roots or not within_any(real, self.gate.roots):
                    return _ask(simple.raw, f"{path} is not inside of the workspace", path, reads_only=False)
                verdict = self.gate.judge_path(path, tool="Edit" if edits else "Read", edits=edits, cwd=cwd)
                if verdict.behavior != "allow":
                    return _from(verdict, simple.raw, reads_only=False)
        why = "acceptEdits mode" if self.gate.mode == "acceptEdits" else "smart mode: it can be undone"
        return Part(text=simple.raw, behavior="allow", reason=why)


def _allowed(simple: Simple, rule: ShellRule, words: tuple[Word, ...]) -> Part:
    found = rule.rule
    return Part(
        text=simple.raw,
        behavior="allow",
        reason=f"{found.text} is allowed by {found.scope} settings",
        rule=found.text,
        scope=found.scope,
        words=tuple(word.text for word in words),
    )


def _ask(
    text: str, reason: str, path: str | None = None, *, reads_only: bool = False, words: tuple[str, ...] = ()
) -> Part:
    return Part(text=text, behavior="ask", reason=reason, path=path, reads_only=reads_only, words=words)


def _from(verdict: Decision, text: str, *, reads_only: bool, words: tuple[str, ...] = ()) -> Part:
    return Part(
        text=text,
        behavior=verdict.behavior,
        reason=verdict.reason,
        rule=verdict.rule,
        scope=verdict.scope,
        path=verdict.blocked_path,
        reads_only=reads_only,
        words=words,
    )


def _worse(first: Part | None, second: Part | None) -> Part:
    if first is None or second is None:
        found = first or second
        assert found is not None
        return found
    worse = second if BEHAVIORS.index(second.behavior) < BEHAVIORS.index(first.behavior) else first
    return msgspec.structs.replace(worse, reads_only=first.reads_only and second.reads_only)
