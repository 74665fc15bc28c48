"""The rules that would let a command line pass next time: one for each part that was asked about."""

import re
import shlex

from weft.permissions.rules import RuleError, parse, to_text
from weft.permissions.shell_gate import Part, Verdict
from weft.permissions.shell_languages import names
from weft.permissions.shell_options import danger
from weft.permissions.shell_words import Unclear, lex
from weft.permissions.shell_wrappers import ASKED, program
from weft.permissions.suggest import DESTINATIONS
from weft.schema.events import RuleSuggestion

_WITH_SUBCOMMANDS = names(
    """git npm pnpm yarn bun cargo go docker podman kubectl uv pip pip3 make gh dotnet apt apt-get brew systemctl
    terraform poetry bundle rails mix swift deno just task gradle mvn composer flutter dart helm aws gcloud az nx
    turbo hatch rye pdm conda rustup"""
)
_INTERPRETERS = names("python python3 node ruby perl php deno lua bash sh zsh")
_EXACT_ONLY = names(
    "rm rmdir mv cp chmod chown chgrp dd kill pkill killall curl wget ssh scp rsync ln truncate shred mount umount"
)
LONGEST = 400


def suggestions_for_shell(verdict: Verdict, command: str) -> tuple[RuleSuggestion, ...]:
    """Rules for each destination, or none where no rule would help: a protected file, a folder outside, a line that is
    too long."""
    texts = _texts(verdict, command)
    return tuple(RuleSuggestion(text, destination) for destination in DESTINATIONS for text in texts)


def _texts(verdict: Verdict, command: str) -> list[str]:
    asked = [part for part in verdict.parts if part.behavior == "ask"]
    if any(part.path for part in asked):
        return []
    rules = [_rule(part) for part in asked] if verdict.analysis.line is not None else [None]
    if any(_runs_its_input(part) for part in asked):
        # By itself such a rule would let anything pass that can be piped into it.
        rules = [None] if len(verdict.parts) > 1 else []
    if None in rules:
        whole = _exact(command)
        return [whole] if whole else []
    return list(dict.fromkeys(rule for rule in rules if rule))


def _runs_its_input(part: Part) -> bool:
    """An interpreter without a script: `sh`, `python3 -`, `bash -s x`."""
    words = part.text.split()
    if not words or program(words[0]) not in _INTERPRETERS:
        return False
    return all(word.startswith("-") for word in words[1:]) or "-s" in words or "-" in words


def _rule(part: Part) -> str | None:
    try:
        commands = lex(part.text).commands
    except Unclear:
        return None
    if len(commands) != 1 or commands[0].assignments or commands[0].redirects:
        return None
    words = commands[0].texts
    if not words or any(not word.fixed for word in commands[0].words):
        return None
    if danger(words) or program(words[0]) in ASKED or words[0] in _EXACT_ONLY:
        return _exact(shlex.join(words))
    return to_text("Bash", f"{shlex.join(_prefix(words))}:*")


def _prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that say what is done: the program, its subcommand, the script that is run."""
    plain = re.compile(r"[A-Za-z0-9][\w:./@-]*")
    if len(words) > 2 and words[0] in _WITH_SUBCOMMANDS and words[1] == "run" and plain.fullmatch(words[2]):
        return words[:3]
    if len(words) > 1 and words[0] in _WITH_SUBCOMMANDS | _INTERPRETERS and plain.fullmatch(words[1]):
        return words[:2]
    return words[:1]


def _exact(text: str) -> str | None:
    rule = to_text("Bash", text.strip())
    try:
        parse(rule)
    except RuleError:
        return None
    return rule if len(rule) <= LONGEST and "*" not in text else None
