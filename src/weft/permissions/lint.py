"""Finds rules that can never match, or that allow more than they seem to."""

import os
import re
from collections.abc import Sequence

import msgspec

from weft.permissions.groups import EDITORS, GROUPS, HARMLESS, READERS
from weft.permissions.matching import PATH_TOOLS
from weft.permissions.rules import Rule
from weft.permissions.shell_languages import names
from weft.permissions.shell_rules import compile_rule
from weft.permissions.shell_wrappers import ASKED, program

_KNOWN = READERS | EDITORS | HARMLESS | {name for tools in GROUPS.values() for name in tools}
_RUNS_ANYTHING = names(
    """python python3 node ruby perl php lua deno bun make npm npx pnpm yarn cargo go java gradle mvn pip uv docker
    podman kubectl tox nox poetry"""
)


class Finding(msgspec.Struct, frozen=True):
    rule: str
    source: str
    kind: str
    message: str


def lint(rules: Sequence[Rule], *, cwd: str) -> list[Finding]:
    findings: list[Finding] = []
    for rule in rules:
        for kind, message in _about(rule, cwd):
            findings.append(Finding(rule.text, rule.source or rule.scope, kind, message))
    return findings + _shadowed(rules)


def _about(rule: Rule, cwd: str) -> list[tuple[str, str]]:
    if rule.tool.startswith("mcp__"):
        return _mcp(rule)
    if rule.tool == "Bash":
        return _bash(rule)
    if rule.tool in PATH_TOOLS and rule.specifier is not None:
        return _path(rule)
    if rule.tool == "WebFetch" and rule.specifier is not None:
        return _domain(rule.specifier)
    if rule.tool not in _KNOWN and "*" not in rule.tool and rule.tool not in ("Task", "Skill"):
        return [("never", f"there is no built-in tool named {rule.tool}")]
    if rule.specifier is not None and rule.tool not in ("Task", "Skill"):
        return [("never", f"{rule.tool} takes no specifier: this never matches")]
    return []


def _mcp(rule: Rule) -> list[tuple[str, str]]:
    if rule.specifier is not None:
        return [("never", "MCP rules take no specifier: this never matches")]
    if rule.tool in ("mcp__", "mcp__*") and rule.behavior == "allow":
        return [("wide", "every tool of every server is allowed")]
    return []


def _bash(rule: Rule) -> list[tuple[str, str]]:
    if rule.specifier is None:
        return [("wide", "every command is allowed")] if rule.behavior == "allow" else []
    made = compile_rule(rule)
    text = rule.specifier
    if re.search(r"[;&|<>`\n]|\$\(", text):
        kind = "exact text only" if "*" not in text else "no simple command has these characters"
        return [("never" if "*" in text else "narrow", f"rules are held against one simple command: {kind}")]
    if made.pattern is not None and rule.behavior == "allow" and text.startswith("*"):
        return [("wide", "it begins with *: any program may stand there")]
    if made.pattern is not None and rule.behavior == "allow" and re.search(r"[^:\s*]\*$", text):
        return [("wide", f"it also matches longer names that begin with {text[:-1].split()[-1]!r}")]
    words = made.words
    if not words or rule.behavior != "allow":
        return []
    name = program(words[0])
    if re.match(r"\w+=", words[0]):
        return [("never", "variables before a command are not part of what rules match")]
    if made.prefix and name in ASKED and len(words) < 2:
        return [("narrow", f"{name} runs another program, which this does not cover: it is still asked")]
    if made.prefix and len(words) == 1 and name in _RUNS_ANYTHING:
        return [("wide", f"{name} runs code from files: whoever can write a file can run it")]
    return []


def _path(rule: Rule) -> list[tuple[str, str]]:
    text = rule.specifier or ""
    found: list[tuple[str, str]] = []
    if text.startswith("!"):
        found.append(("never", "patterns with ! are not supported"))
    if re.search(r"\{[^}]*,", text):
        found.append(("never", "braces are not expanded in path patterns: write two rules"))
    if rule.scope == "user" and text.startswith("/") and not text.startswith("//"):
        found.append(("never", f"in user settings / means {rule.root}: write // for the root of the disk"))
    absolute = re.match(r"/(home|Users|etc|usr|var|tmp|opt|root)/", text)
    if rule.scope != "user" and absolute and not os.path.exists(f"{rule.root}/{absolute[1]}"):
        found.append(("never", f"/ means the folder of the settings ({rule.root}): write // for the root of the disk"))
    if rule.tool == "Write" and rule.behavior == "allow":
        found.append(("narrow", "it covers Write alone; Edit(…) governs every tool that edits"))
    if rule.behavior == "allow" and rule.tool in EDITORS and text in ("//**", "~/**", "//", "~"):
        found.append(("wide", "files far outside of any project are covered"))
    return found


def _domain(specifier: str) -> list[tuple[str, str]]:
    kind, colon, host = specifier.partition(":")
    if not colon or kind != "domain":
        return [("never", "write WebFetch(domain:example.com)")]
    if "/" in host:
        return [("never", "a domain has no path")]
    if "*" in host and not host.startswith("*."):
        return [("never", "* may stand only at the beginning, as *.example.com")]
    if re.fullmatch(r"\*\.[^.]+", host):
        return [("wide", "a whole top-level domain is covered")]
    return []


def _shadowed(rules: Sequence[Rule]) -> list[Finding]:
    """Allow rules for what another rule denies as a whole."""
    denied = {rule.tool: rule for rule in rules if rule.behavior == "deny" and rule.specifier is None}
    same = {(rule.tool, rule.specifier): rule for rule in rules if rule.behavior == "deny"}
    findings: list[Finding] = []
    for rule in rules:
        stronger = denied.get(rule.tool) or same.get((rule.tool, rule.specifier))
        if rule.behavior == "allow" and stronger is not None:
            message = f"{stronger.text} in {stronger.source or stronger.scope} denies it: this never takes effect"
            findings.append(Finding(rule.text, rule.source or rule.scope, "never", message))
    return findings
