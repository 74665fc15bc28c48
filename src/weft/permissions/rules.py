"""Rules: `Tool` or `Tool(specifier)`, each allowed, asked or denied, each with the scope that it came from.

`deny` beats `ask` beats `allow`, whatever the scopes: so no file can loosen what another forbids, and policy, which
can forbid, cannot be overridden. A rule is one string for one rule; text that would read as two is refused.
"""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from weft.errors import SettingsError
from weft.permissions.groups import GROUPS, canonical
from weft.settings import Settings
from weft.settings.layers import as_object, as_strings

Behavior: TypeAlias = Literal["allow", "ask", "deny"]
RuleScope: TypeAlias = Literal["cliArg", "local", "project", "policy", "user", "session"]
BEHAVIORS: tuple[Behavior, ...] = ("deny", "ask", "allow")

_TOOL = r"\*|[A-Za-z_][A-Za-z0-9_.:/@-]*\*?"
MAX_LENGTH = 10_000


class RuleError(SettingsError):
    """A string that is not a rule."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is the folder that a leading `/` means in path rules of this source."""

    tool: str
    specifier: str | None = None
    behavior: Behavior
    scope: RuleScope
    source: str = ""
    root: str = ""
    text: str = ""


def parse(text: str) -> tuple[str, str | None]:
    """Splits a rule. `\\(` and `\\)` stand for parentheses that do not pair up. `Tool()` and `Tool(*)` are `Tool`.

    Raises:
        RuleError: it is not exactly one rule.
    """
    trimmed = text.strip(" \t")
    if not trimmed or len(trimmed) > MAX_LENGTH:
        raise RuleError("a rule is empty or too long")
    if _hides(trimmed):
        raise RuleError(f"rule {trimmed!r} has control or invisible characters")
    name, bracket, rest = trimmed.partition("(")
    if not (name.isascii() and name.isidentifier()) and not re.fullmatch(_TOOL, name):
        raise RuleError(f"rule {trimmed!r} does not begin with the name of a tool")
    if not bracket:
        return name, None
    if not rest.endswith(")") or rest.endswith("\\)"):
        raise RuleError(f"rule {trimmed!r} has no closing parenthesis at its end")
    inner = rest[:-1]
    _check_balance(inner, trimmed)
    specifier = inner.replace("\\(", "(").replace("\\)", ")").strip(" \t")
    return name, None if specifier in ("", "*") else specifier


def _hides(text: str) -> bool:
    """Whether a person who reads it may miss something: control, format and separating characters."""
    if text.isascii():
        return not text.isprintable()
    from unicodedata import category

    return any(category(character) in ("Cc", "Cf", "Zl", "Zp") for character in text)


def _check_balance(inner: str, whole: str) -> None:
    depth = 0
    plain = inner.replace("\\(", "").replace("\\)", "")
    for character in plain:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise RuleError(f"rule {whole!r} reads as more than one rule", hint="write \\) for a lone parenthesis")
    if depth:
        raise RuleError(f"rule {whole!r} has an open parenthesis", hint="write \\( for a lone parenthesis")


def to_text(tool: str, specifier: str | None = None) -> str:
    """The rule as a string that `parse` reads back."""
    if specifier is None:
        return tool
    return f"{tool}({specifier.replace('(', chr(92) + '(').replace(')', chr(92) + ')')})"


def split(text: str) -> list[str]:
    """The rules in a flag's value: separated by commas or blanks outside of parentheses."""
    rules: list[str] = []
    current = ""
    depth = 0
    previous = ""
    for character in text:
        if character in "()" and previous != "\\":
            depth = max(0, depth + (1 if character == "(" else -1))
        if depth == 0 and character in ", \t\n":
            rules.append(current)
            current = ""
        else:
            current += character
        previous = character
    rules.append(current)
    return [rule for rule in rules if rule]


def make(text: str, behavior: Behavior, scope: RuleScope, *, source: str = "", root: str = "") -> Rule:
    """
    Raises:
        RuleError: it is not exactly one rule, or it would allow every tool at once.
    """
    tool, specifier = parse(text)
    if behavior == "allow" and "*" in tool and not tool.startswith("mcp__"):
        raise RuleError(f"rule {text!r} would allow every tool", hint="name the tools")
    return Rule(
        tool=canonical(tool),
        specifier=specifier,
        behavior=behavior,
        scope=scope,
        source=source,
        root=root,
        text=text.strip(" \t"),
    )


class Collected(msgspec.Struct, frozen=True):
    """Rules of all sources. `broken` has the deny and ask rules that could not be read: the gate fails closed."""

    rules: tuple[Rule, ...]
    problems: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def from_settings(settings: Settings) -> Collected:
    """Every layer's rules. Allow rules of an untrusted project are left out, and those of all but policy when it
    says `allowManagedPermissionRulesOnly`."""
    managed_only = any(
        layer.scope == "policy" and layer.data.get("allowManagedPermissionRulesOnly") is True
        for layer in settings.layers
    )
    rules: list[Rule] = []
    problems: list[str] = []
    broken: list[str] = []
    for layer in settings.layers:
        permissions = as_object(layer.data.get("permissions"))
        allowed = layer.scope not in ("project", "local") or layer.path in settings.accepted
        for behavior in BEHAVIORS:
            if behavior == "allow" and (not allowed or (managed_only and layer.scope != "policy")):
                continue
            texts = [*as_strings(permissions.get(behavior)), *_group_rules(permissions, behavior)]
            for text in texts:
                try:
                    rules.append(make(text, behavior, layer.scope, source=layer.path, root=layer.root))
                except RuleError as error:
                    problems.append(f"{layer.path}: {error}")
                    if behavior != "allow":
                        broken.append(str(error))
    return Collected(tuple(rules), tuple(problems), tuple(broken))


def _group_rules(permissions: dict[str, object], behavior: Behavior) -> list[str]:
    names: list[str] = []
    for group, wanted in as_object(permissions.get("groups")).items():
        if wanted == behavior:
            names += (
                ["mcp__*"]
                if group == "mcp"
                else [name for key, tools in GROUPS.items() if key == group for name in tools]
            )
    return names


def from_texts(texts: Iterable[str], behavior: Behavior, scope: RuleScope, *, root: str = "") -> tuple[Rule, ...]:
    """One rule for each string.

    Raises:
        RuleError: one of them is not exactly one rule.
    """
    return tuple(make(text, behavior, scope, root=root) for text in texts)
