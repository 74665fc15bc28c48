"""Rules made ready for matching: patterns are compiled once, and each family has its own index.

All path patterns of a family also stand in one expression, so that a call that no rule concerns costs one match.
"""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from weft.permissions.paths import fold, resolve
from weft.permissions.rules import Behavior, Rule

if TYPE_CHECKING:
    from weft.permissions.shell_rules import ShellRules

PATH_TOOLS = frozenset({"Read", "Glob", "Grep", "Edit", "Write", "NotebookEdit", "ApplyPatch"})


def glob_expression(pattern: str) -> str:
    """A gitignore-style pattern as a regular expression: `*` stays inside a name, `**` crosses folders."""
    result = ""
    index = 0
    while index < len(pattern):
        if pattern.startswith("**/", index):
            result += "(?:.*/)?"
            index += 3
        elif pattern.startswith("**", index):
            result += ".*"
            index += 2
        elif pattern[index] == "*":
            result += "[^/]*"
            index += 1
        elif pattern[index] == "?":
            result += "[^/]"
            index += 1
        elif pattern[index] == "[" and (end := pattern.find("]", index + 2)) > 0:
            body = pattern[index + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            result += f"(?!/)[{'^' + body[1:] if body[0] in '!^' else body}]"
            index = end + 1
        else:
            index += pattern[index] == "\\" and index + 1 < len(pattern)
            result += re.escape(pattern[index])
            index += 1
    return result


def path_expressions(specifier: str, *, root: str, cwd: str, home: str, anywhere: bool) -> list[str]:
    """What a path rule matches, as expressions over absolute paths. A folder stands for all below it.

    `anywhere` is for rules that restrict: patterns without a fixed place (`.env`, `**/key`) then match outside of the
    folder as well, and the expression is for folded names.
    """
    pattern = specifier.rstrip("/") or "/"
    if pattern.startswith("//"):
        bases, rest = [""], pattern[1:]
    elif pattern == "~" or pattern.startswith("~/"):
        bases, rest = _names(home), pattern[1:]
    elif pattern.startswith("/"):
        bases, rest = _names(root), pattern
    elif pattern.startswith("./"):
        bases, rest = _names(cwd), pattern[1:]
    elif "/" not in pattern or pattern.startswith("**/"):
        bases, rest = [""] if anywhere else _names(cwd), f"/**/{pattern.removeprefix('**/')}"
    else:
        bases, rest = _names(cwd), f"/{pattern}"
    if anywhere:
        bases, rest = [fold(base) for base in bases], fold(rest)
    rest = rest.removesuffix("/**").rstrip("/")
    return [f"{re.escape(base)}{glob_expression(rest)}(?:/.*)?" for base in bases]


def _names(folder: str) -> list[str]:
    return [name.rstrip("/") for name in resolve(folder).names]


class PathRules:
    """Path rules of one behaviour. Those that restrict match without regard to case or normal form."""

    def __init__(self, rules: Sequence[Rule], *, cwd: str, home: str) -> None:
        self._folded = bool(rules) and rules[0].behavior != "allow"
        self.rules = tuple(rules)
        texts = [
            path_expressions(rule.specifier or "", root=rule.root or cwd, cwd=cwd, home=home, anywhere=self._folded)
            for rule in rules
        ]
        self._texts = texts
        self._all = re.compile("|".join(part for text in texts for part in text) or r"(?!)", re.DOTALL)

    def find(self, names: Iterable[str]) -> Rule | None:
        """The first rule that matches one of the names."""
        for name in names:
            shown = fold(name) if self._folded else name
            if self._all.fullmatch(shown):
                return next(
                    rule
                    for texts, rule in zip(self._texts, self.rules, strict=True)
                    if re.fullmatch("|".join(texts), shown, re.DOTALL)
                )
        return None

    def literal_paths(self, *, cwd: str, home: str) -> list[tuple[str, Rule]]:
        """The files that rules name without a wildcard."""
        found: list[tuple[str, Rule]] = []
        for rule in self.rules:
            text = rule.specifier or ""
            if any(character in text for character in "*?["):
                continue
            if text.startswith("//"):
                found.append((text[1:], rule))
            elif text.startswith("~/"):
                found.append((home + text[1:], rule))
            else:
                found.append((f"{(rule.root or cwd) if text.startswith('/') else cwd}/{text.lstrip('/')}", rule))
        return found


class RuleIndex:
    """All rules of one behaviour, by family."""

    def __init__(self, behavior: Behavior, rules: Iterable[Rule], *, cwd: str, home: str) -> None:
        mine = [rule for rule in rules if rule.behavior == behavior]
        self.behavior = behavior
        self.whole: dict[str, Rule] = {}
        self.named: dict[tuple[str, str], Rule] = {}
        self.patterns: list[tuple[re.Pattern[str], Rule]] = []
        self.name_patterns: list[tuple[str, re.Pattern[str], Rule]] = []
        self.domains: dict[str, Rule] = {}
        self.shell: list[Rule] = []
        by_tool: dict[str, list[Rule]] = {}
        for rule in mine:
            if rule.tool in PATH_TOOLS and rule.specifier is not None:
                by_tool.setdefault(rule.tool, []).append(rule)
            else:
                self._file(rule)
        self.paths = {tool: PathRules(found, cwd=cwd, home=home) for tool, found in by_tool.items()}

    @cached_property
    def commands(self) -> "ShellRules":
        """Read when the first command is judged: their patterns cost more than all the others."""
        from weft.permissions.shell_rules import ShellRules

        return ShellRules(self.shell)

    def _file(self, rule: Rule) -> None:
        if rule.tool == "Bash" and rule.specifier is not None:
            self.shell.append(rule)
        elif rule.tool == "WebFetch" and rule.specifier is not None:
            kind, colon, pattern = rule.specifier.partition(":")
            if colon and kind == "domain":
                from weft.permissions import domains

                self.domains.setdefault(domains.key(pattern), rule)
        elif rule.specifier is not None:
            self.named.setdefault((rule.tool, rule.specifier), rule)
            if "*" in rule.specifier:
                pattern = re.compile(fnmatch.translate(rule.specifier.replace(":*", "*")))
                self.name_patterns.append((rule.tool, pattern, rule))
        elif "*" in rule.tool:
            self.patterns.append((re.compile(fnmatch.translate(rule.tool)), rule))
        else:
            self.whole.setdefault(rule.tool, rule)

    def tool(self, name: str) -> Rule | None:
        """A rule for the whole tool. `mcp__server` stands for all tools of that server."""
        found = self.whole.get(name)
        if found is None and name.startswith("mcp__"):
            found = self.whole.get("__".join(name.split("__")[:2]))
        if found is None:
            found = next((rule for pattern, rule in self.patterns if pattern.fullmatch(name)), None)
        return found

    def name(self, tool: str, value: str) -> Rule | None:
        """A rule like `Skill(name)` or `Task(agent)`."""
        found = self.named.get((tool, value))
        return found or next(
            (rule for known, pattern, rule in self.name_patterns if known == tool and pattern.fullmatch(value)), None
        )

    def domain(self, host: str) -> Rule | None:
        """A rule on this host. One that restricts covers the hosts below it too, whatever the port."""
        from weft.permissions import domains

        for key in domains.keys(host, restricting=self.behavior != "allow"):
            if key in self.domains:
                return self.domains[key]
        return None

    def path(self, tools: Iterable[str], names: Sequence[str]) -> Rule | None:
        for tool in tools:
            rules = self.paths.get(tool)
            found = rules.find(names) if rules else None
            if found:
                return found
        return None
