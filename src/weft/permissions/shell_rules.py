"""Rules for Bash, matched against one simple command.

Bash(git log:*)  Bash(git log *)   the words `git log`, then anything; also `git log` alone
Bash(npm run test)                 exactly these words
Bash(npm run * --watch)            `*` stands for any text inside of one simple command
"""

import re
import shlex
from collections.abc import Iterable, Sequence

import msgspec

from weft.permissions.rules import Rule
from weft.permissions.shell_wrappers import program


class ShellRule(msgspec.Struct, frozen=True):
    """One of `prefix`, `exact` or `pattern` is set."""

    rule: Rule
    prefix: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return self.prefix or self.exact


def compile_rule(rule: Rule) -> ShellRule:
    text = (rule.specifier or "").strip()
    for ending in (":*", " *"):
        if text.endswith(ending) and "*" not in text[: -len(ending)] and text[: -len(ending)].strip():
            return ShellRule(rule, prefix=_split(text[: -len(ending)]))
    if "*" not in text:
        return ShellRule(rule, exact=_split(text))
    text = f"{text[:-2]} *" if text.endswith(":*") else text
    expression = "".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", text))
    if text.endswith(" *"):
        expression = f"{expression[: -len(re.escape(' ') + '.*')]}(?: .*)?"
    return ShellRule(rule, pattern=re.compile(expression, re.DOTALL))


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


class ShellRules:
    """The Bash rules of one behaviour. Those that restrict also match a program given by its path."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_program: dict[str, list[ShellRule]] = {}
        self._patterns: list[ShellRule] = []
        self._texts: dict[str, Rule] = {}
        for rule in rules:
            made = compile_rule(rule)
            if made.pattern is not None:
                self._patterns.append(made)
            elif made.words:
                self._by_program.setdefault(made.words[0], []).append(made)
            if "*" not in (rule.specifier or ""):
                self._texts.setdefault((rule.specifier or "").strip(), rule)

    def __bool__(self) -> bool:
        return bool(self._by_program or self._patterns)

    def whole(self, command: str) -> Rule | None:
        """A rule that is the whole command line, character by character."""
        return self._texts.get(command.strip())

    def find(self, words: Sequence[str], *, loose: bool = False) -> ShellRule | None:
        """The first rule that covers these words. `loose` is for rules that restrict: the program's folder does not
        matter, nor does the order of options before what the rule names."""
        if not words:
            return None
        names = dict.fromkeys([words[0], program(words[0])] if loose else [words[0]])
        for name in names:
            for rule in self._by_program.get(name, ()):
                if _covers(rule, (name, *words[1:]), loose=loose):
                    return rule
        text = shlex.join(words)
        plain = " ".join(words)
        for rule in self._patterns:
            if rule.pattern and (rule.pattern.fullmatch(text) or (loose and rule.pattern.fullmatch(plain))):
                return rule
        return None

    def find_text(self, text: str) -> ShellRule | None:
        """A restricting pattern that fits text as it was written."""
        return next((rule for rule in self._patterns if rule.pattern and rule.pattern.fullmatch(text.strip())), None)


def _covers(rule: ShellRule, words: Sequence[str], *, loose: bool) -> bool:
    if rule.exact:
        return tuple(words) == rule.exact
    if tuple(words[: len(rule.prefix)]) == rule.prefix:
        return True
    if not loose or len(rule.prefix) < 2:
        return False
    return _after_options(words[1:], rule.prefix[1:])


def _after_options(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the wanted words follow, with only options and their values between: `git -C x push` for `git push`."""
    index = 0
    value_may_follow = False
    for word in words:
        if index == len(wanted):
            return True
        if word == wanted[index]:
            index += 1
            value_may_follow = False
        elif word.startswith("-"):
            value_may_follow = True
        elif value_may_follow:
            value_may_follow = False
        else:
            return False
    return index == len(wanted)
