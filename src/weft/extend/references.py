"""What a prompt names: `@participant`, its `/command`, `#tool` and `@file`, with the places where they stand."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

_WHO: Final = re.compile(r"\s*@([A-Za-z0-9][\w-]{0,63})(?=\s|$)")
_COMMAND: Final = re.compile(r"\s*/([A-Za-z0-9][\w-]{0,63})(?=\s|$)")
_TOOL: Final = re.compile(r"(?<![\w#&/])#(?:tool:)?([A-Za-z][\w-]{0,63}(?:/(?:[\w-]{1,64}|\*))?)(?![\w#])")
_FILE: Final = re.compile(r"(?<![\w@`])@([\w~./-][\w~./+-]*[\w/])")


class Span(msgspec.Struct, frozen=True):
    """A name and where it stands: the place of its mark, and that after its last character."""

    name: str
    start: int
    end: int

    @property
    def range(self) -> tuple[int, int]:
        return self.start, self.end


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """`prompt` is the text without the participant and its command; places are those in the whole text."""

    prompt: str
    participant: str = ""
    command: str = ""
    tools: tuple[Span, ...] = ()
    files: tuple[Span, ...] = ()


def read(text: str, commands_of: Callable[[str], tuple[str, ...] | None]) -> Named:
    """`commands_of` gives the commands of a participant, and None for a name that is none. A name that nobody has
    stays part of the prompt."""
    participant = command = ""
    start = 0
    who = _WHO.match(text)
    commands = commands_of(who[1]) if who is not None else None
    if who is not None and commands is not None:
        participant, start = who[1], who.end()
        slash = _COMMAND.match(text, start)
        if slash is not None and slash[1] in commands:
            command, start = slash[1], slash.end()
    files = tuple(Span(one[1], one.start(), one.end()) for one in _FILE.finditer(text, start))
    return Named(
        prompt=text[start:].strip(), participant=participant, command=command, tools=tuple(tools(text)), files=files
    )


def tools(text: str) -> Iterator[Span]:
    """`#name` and `#tool:name`. A heading (`# name`), a colour's number and an address's fragment are none."""
    for found in _TOOL.finditer(text):
        yield Span(found[1], found.start(), found.end())
