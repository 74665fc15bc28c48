"""Flags as a table: read from a command line, and shown to people.

The standard library's parser does much more, and costs a prompt a twentieth of its CPU.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, cast

from weft.errors import UsageError

Takes = Literal["nothing", "one", "maybe", "several"]
HELP: Final = ("--help", "-h")
SEE: Final = "See weft --help."


class Flag:
    """One flag. `takes` says what may follow it: nothing, one value, one value or none (which is the empty text), or
    all the values up to the next flag. With `adds` a flag that comes again adds to what came before."""

    __slots__ = ("adds", "choices", "default", "dest", "help", "metavar", "names", "sets", "takes", "to", "wants")

    def __init__(
        self,
        *names: str,
        takes: Takes = "nothing",
        sets: object = True,
        default: object = None,
        dest: str = "",
        to: Callable[[str], object] = str,
        wants: str = "",
        choices: tuple[str, ...] = (),
        adds: bool = False,
        metavar: str = "",
        help: str | None = "",
    ) -> None:
        self.names = names
        self.takes: Takes = "one" if takes == "nothing" and (metavar or choices) else takes
        self.default = False if default is None and self.takes == "nothing" else default
        self.sets = sets
        """The value of a flag that nothing follows."""
        self.dest = dest or names[0].lstrip("-").replace("-", "_")
        self.to = to
        self.wants = wants
        """What a value has to be, for a person who gave another."""
        self.choices = choices
        self.adds = adds
        self.metavar = metavar or ("{" + ",".join(choices) + "}" if choices else "")
        self.help = help
        """None hides it: programs pass it and people do not."""


def read_flags(argv: Sequence[str], flags: Sequence[Flag]) -> tuple[dict[str, object], list[str]]:
    """What the flags say, by `dest`, with the defaults of those that were not given; and the words beside them.
    `--` ends the flags. `help` is set, and the rest is not read, where help is asked for.

    Raises:
        UsageError: an unknown flag, or a wrong value.
    """
    return _Reader(argv, flags).read()


class _Reader:
    def __init__(self, argv: Sequence[str], flags: Sequence[Flag]) -> None:
        self._rest = list(reversed(argv))
        self._known = {name: flag for flag in flags for name in flag.names}
        self._values: dict[str, object] = {flag.dest: _copied(flag.default) for flag in flags}
        self._words: list[str] = []

    def read(self) -> tuple[dict[str, object], list[str]]:
        while self._rest:
            argument = self._rest.pop()
            if argument == "--":
                self._words += reversed(self._rest)
                break
            if argument in HELP:
                self._values["help"] = True
                break
            if not self._is_flag(argument):
                self._words.append(argument)
                continue
            self._take(*self._named(argument))
        return self._values, self._words

    def _is_flag(self, argument: str) -> bool:
        """Words may begin with a hyphen: a number does, and a sentence may."""
        if len(argument) < 2 or argument[0] != "-":
            return False
        if argument in self._known or argument[:2] in self._known or argument.partition("=")[0] in self._known:
            return True
        return " " not in argument and not argument[1:].replace(".", "", 1).isdecimal()

    def _named(self, argument: str) -> tuple[str, str | None]:
        """The flag's name, and the value that is glued to it: `--name=value`, `-nvalue`."""
        if argument in self._known:
            return argument, None
        name, equals, value = argument.partition("=")
        if equals and name in self._known:
            return name, value
        if argument[:2] not in self._known:
            raise UsageError(f"There is no flag {name}.", hint=self._near(name))
        if self._known[argument[:2]].takes == "nothing":
            # Several in one, like `-pc`.
            self._rest.append("-" + argument[2:])
            return argument[:2], None
        return argument[:2], argument[2:]

    def _near(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self._known, n=1, cutoff=0.75)
        return f"Did you mean {near[0]}? {SEE}" if near else SEE

    def _take(self, name: str, glued: str | None) -> None:
        flag = self._known[name]
        if flag.takes == "nothing":
            if glued is not None:
                raise UsageError(f"{name} takes no value.", hint=SEE)
            self._values[flag.dest] = flag.sets
            return
        given = [glued] if glued is not None else list(self._following(flag))
        if not given and flag.takes != "maybe":
            raise UsageError(f"{name} needs a value.", hint=SEE)
        found = [self._value(name, flag, text) for text in given]
        several = flag.takes == "several" or flag.adds
        if flag.adds:
            found = [*cast("list[object]", self._values[flag.dest]), *found]
        self._values[flag.dest] = found if several else found[0] if found else ""

    def _following(self, flag: Flag) -> Iterator[str]:
        while self._rest and self._rest[-1] != "--" and not self._is_flag(self._rest[-1]):
            yield self._rest.pop()
            if flag.takes != "several":
                return

    def _value(self, name: str, flag: Flag, text: str) -> object:
        if flag.choices and text not in flag.choices:
            raise UsageError(f"{name} is one of {', '.join(flag.choices)}, not {text!r}.", hint=SEE)
        try:
            return flag.to(text)
        except ValueError:
            raise UsageError(f"{name} wants {flag.wants}, not {text!r}.", hint=SEE) from None


def _copied(default: object) -> object:
    """A list of their own for everyone who reads flags."""
    return list(cast("list[object]", default)) if isinstance(default, list) else default


def show_flags(flags: Sequence[Flag], width: int) -> str:
    """The flags for people, two columns: how each is written, and what it does."""
    import textwrap

    lines: list[str] = []
    for flag in flags:
        if flag.help is None:
            continue
        value = {"one": " {}", "maybe": " [{}]", "several": " {0} [{0} ...]", "nothing": ""}[flag.takes]
        written = "  " + ", ".join(name + value.format(flag.metavar) for name in flag.names)
        told = textwrap.wrap(flag.help, max(20, width - 24))
        if len(written) < 23 and told:
            lines.append(f"{written:<24}{told.pop(0)}")
        else:
            lines.append(written)
        lines += [" " * 24 + line for line in told]
    return "\n".join(lines)
