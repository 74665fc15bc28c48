"""The body of a command, skill or prompt file with its arguments put in.

`$ARGUMENTS` is all of them, `$ARGUMENTS[i]` and `$i` one, counted from 0, cut as a shell cuts words; `$name` one of
the names that the file declares; `${input:name}` the next one; `\\$` is a dollar. Arguments are put in once: what
stands in them is not read again, and never becomes a command to run.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

_SHELL: Final = r"!`([^`\n]+)`"
_SHELL_FENCE: Final = r"(?ms)^```!\s*\n(.*?)\n```\s*$"
_SLOT: Final = (
    r"\\\$|\$ARGUMENTS\[(\d{1,3})\]|\$(ARGUMENTS)\b|\$(\d{1,3})(?!\d)"
    r"|\$\{(?:input|args?):([\w-]+)(?::([^}]*))?\}|\$\{(\w+)\}|\$([A-Za-z_]\w*)"
)
_TOOL: Final = r"(?<![\w/])#tool:([\w./-]+)"


class Part(msgspec.Struct, frozen=True):
    """A piece of the finished body: words, or a command whose output stands there."""

    kind: Literal["text", "shell"]
    text: str


def words_of(arguments: str) -> list[str]:
    """The arguments cut as a shell would; an open quote is a letter like any other."""
    import shlex

    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def render(
    body: str, arguments: str, *, names: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> list[Part]:
    """The body in parts, in order. Arguments that the body does not ask for stand at its end."""
    filler = _Filler(arguments, names, variables or {})
    parts: list[Part] = []
    at = 0
    for found in _commands(body):
        parts.append(Part("text", filler.fill(body[at : found.start()])))
        parts.append(Part("shell", filler.fill(found[1]).strip()))
        at = found.end()
    parts.append(Part("text", filler.fill(body[at:])))
    if arguments.strip() and not filler.used:
        parts.append(Part("text", f"\n\nARGUMENTS: {arguments.strip()}"))
    return [part for part in parts if part.text]


def _commands(body: str) -> list[re.Match[str]]:
    found = sorted([*re.finditer(_SHELL, body), *re.finditer(_SHELL_FENCE, body)], key=lambda match: match.start())
    kept: list[re.Match[str]] = []
    for match in found:
        if not kept or match.start() >= kept[-1].end():
            kept.append(match)
    return kept


class _Filler:
    def __init__(self, arguments: str, names: Sequence[str], variables: Mapping[str, str]) -> None:
        self._all = arguments.strip()
        self._words = words_of(arguments)
        self._names = list(names)
        self._inputs: dict[str, int] = {}
        self._variables = variables
        self.used = False

    def fill(self, text: str) -> str:
        return re.sub(_TOOL, r"\1", re.sub(_SLOT, self._slot, text))

    def _slot(self, match: re.Match[str]) -> str:
        indexed, everything, number, wanted, placeholder, variable, name = match.groups()
        if match[0] == "\\$":
            return "$"
        if indexed is not None or number is not None:
            return self._word(int(indexed or number or 0))
        if everything:
            self.used = True
            return self._all
        if wanted is not None:
            index = self._inputs.setdefault(wanted, len(self._inputs))
            return self._word(index) or (placeholder or "")
        if variable is not None:
            return self._variables.get(variable, match[0])
        if name in self._names:
            return self._word(self._names.index(name))
        return match[0]

    def _word(self, index: int) -> str:
        self.used = True
        return self._words[index] if index < len(self._words) else ""
