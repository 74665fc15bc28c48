"""The layers of settings as data, and how they become one value.

A later layer wins over an earlier one: user, project, local, command line, policy. Objects merge key by key, lists
are joined without repeats, anything else is replaced. Permission rules are not decided by this order: `deny` beats
`ask` beats `allow` whatever layer they stand in (see `weft.permissions`).
"""

from typing import Literal, TypeAlias, TypeGuard

import msgspec

from weft.schema.content import Json

Scope: TypeAlias = Literal["user", "project", "local", "cliArg", "policy"]
SCOPES: tuple[Scope, ...] = ("user", "project", "local", "cliArg", "policy")
"""In the order of merging."""

Seal: TypeAlias = Literal["", "ask", "deny"]


class Problem(msgspec.Struct, frozen=True):
    """Something wrong in a settings file, for people. Line and column count from 1; 0 means the whole file."""

    path: str
    message: str
    line: int = 0
    column: int = 0
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.path}{place}: {self.message}"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One source. `root` is what a path rule's leading `/` means in it. `data` is empty when the file is broken.

    `seal` says how the gate must fail because this layer could not be read: a broken policy denies everything, a
    broken file that had deny or ask rules asks about everything.
    """

    scope: Scope
    path: str
    root: str
    data: Json = {}
    problems: tuple[Problem, ...] = ()
    seal: Seal = ""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All layers and their merged `values`. Of an untrusted project only the harmless keys are in `values`."""

    layers: tuple[Layer, ...] = ()
    values: Json = {}
    problems: tuple[Problem, ...] = ()
    trusted: bool = True
    accepted: frozenset[str] = frozenset()
    """The project's files that take full effect."""
    withheld: tuple[str, ...] = ()
    """What trust would bring into effect: `hooks`, `env`, `permissions.allow`, …"""

    @property
    def seal(self) -> Seal:
        seals = {layer.seal for layer in self.layers}
        return "deny" if "deny" in seals else "ask" if "ask" in seals else ""

    def section(self, name: str) -> Json:
        """The object at a top-level key; empty when it is missing or not an object."""
        return as_object(self.values.get(name))

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def strings(self, section: str, name: str) -> tuple[str, ...]:
        """The strings of a list inside a section."""
        return as_strings(self.section(section).get(name))

    def env(self) -> dict[str, str]:
        """Variables that settings add to the environment of commands and of Weft itself."""
        return {name: str(value) for name, value in self.section("env").items() if not isinstance(value, dict | list)}


def is_object(value: object) -> TypeGuard[Json]:
    """JSON objects have string keys by construction, so the check of the container is enough."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def as_object(value: object) -> Json:
    return value if is_object(value) else {}


def as_list(value: object) -> list[object]:
    return value if is_list(value) else []


def as_strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in as_list(value) if isinstance(item, str))


def merge(low: Json, high: Json) -> Json:
    """`high` over `low`; neither is changed."""
    result = dict(low)
    for key, value in high.items():
        old = result.get(key)
        if is_object(old) and is_object(value):
            result[key] = merge(old, value)
        elif is_list(old) and is_list(value):
            result[key] = old + [item for item in value if item not in old]
        else:
            result[key] = value
    return result
