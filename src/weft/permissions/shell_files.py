"""The files that the words of a command name: `~`, known variables and globs, and what a redirection touches."""

import glob
import os
import re
from collections.abc import Iterable, Sequence

import msgspec

from weft.permissions.shell_words import Line, Word

MOST_MATCHES = 2000
HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_SECRET = re.compile(r"key|token|secret|passw|credential|auth|cookie|session|private|_pat$", re.IGNORECASE)
_HARMLESS_VARIABLE = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|COLUMNS|LINES|CI")


_PLAIN_SET = re.compile(r"\[!?[A-Za-z0-9_.]+\]")


def looks_secret(name: str) -> bool:
    """Whether a variable of this name probably holds a secret."""
    return bool(_SECRET.search(name))


def harmless_assignment(name: str, value: Word) -> bool:
    """Variables before a command that cannot change what runs."""
    return bool(_HARMLESS_VARIABLE.fullmatch(name)) and value.fixed and bool(re.fullmatch(r"[\w.@:+-]*", value.text))


def known_variables(line: Line, text: str, *, home: str, cwds: Sequence[str]) -> dict[str, str]:
    """Variables whose value is certain: nothing in the line mentions them but to expand them."""
    known: dict[str, str] = {}
    moves = any(simple.words and simple.words[0].text == "cd" for simple in line.commands)
    for name, value in (("HOME", home), ("PWD", cwds[0] if len(cwds) == 1 and not moves else "")):
        expansions = len(re.findall(rf"\$(?:{name}\b|\{{{name}\}})", text))
        if value and text.count(name) == expansions and not re.search(r"[\s*?\[\\]", value):
            known[name] = value
    return known


def settle(word: Word, known: dict[str, str], home: str) -> Word:
    """The word with `~` and known variables replaced."""
    text = word.text
    if word.tilde:
        text = home + text[1:]
    for name in word.variables:
        if name in known:
            text = text.replace(f"${{{name}}}", known[name])
    left = tuple(name for name in word.variables if name not in known)
    return msgspec.structs.replace(word, text=text, variables=left, tilde=False)


def expand_globs(words: Iterable[Word], cwd: str) -> tuple[str, ...] | str:
    """The words after the shell's globbing here and now, or a sentence that says why that cannot be told."""
    result: list[str] = []
    for word in words:
        if not word.glob:
            result.append(word.text)
            continue
        if word.text.startswith("-"):
            return "an option with a wildcard can become any option"
        pattern = word.text.replace("[^", "[!")
        if "[" in _PLAIN_SET.sub("", pattern) or "**" in pattern:
            return "a wildcard of a form that depends on the shell"
        matches = sorted(glob.glob(pattern, root_dir=cwd))
        if len(matches) > MOST_MATCHES:
            return "a wildcard matches too many files to check"
        if any(match.startswith("-") for match in matches):
            return "a wildcard matches a file whose name would be read as an option"
        result += matches or [word.text]
    return tuple(result)


def path_candidates(word: str) -> list[str]:
    """What a word may name: itself, the part after `=` or `:`, a path glued to an option."""
    found = [word] if not word.startswith("-") else []
    for separator in "=:":
        head, cut, tail = word.partition(separator)
        if cut and tail and len(head) < 200:
            found.append(tail)
    if word.startswith("-") and len(word) > 2 and not word.startswith("--"):
        found.append(word[2:])
    if word.startswith("@"):
        found.append(word[1:])
    return [path for path in found if len(path) < 4096 and "\0" not in path]


def shadowed(name: str, folders: Iterable[str]) -> bool:
    """Whether one of these folders of PATH has a program of this name."""
    return any(os.path.lexists(os.path.join(folder, name)) for folder in folders)
