"""The port of the permission gate."""

from typing import Literal, Protocol

import msgspec

from weft.schema.content import Json
from weft.schema.events import Mode, RuleSuggestion, ToolKind


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as the gate sees it: data only. `paths` are the files it touches, as the model wrote them."""

    name: str
    input: Json
    group: str = "other"
    kind: ToolKind = "other"
    read_only: bool = False
    paths: tuple[str, ...] = ()
    cwd: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says of one tool call, and why. `rule` and `scope` name what decided, if a rule did.

    `reason_kind` is `rule`, `mode`, `hook`, `path`, `shell`, `trust`, `tool` or `other`.
    """

    behavior: Literal["allow", "deny", "ask"]
    reason: str = ""
    reason_kind: str = "other"
    rule: str | None = None
    scope: str | None = None
    suggestions: tuple[RuleSuggestion, ...] = ()
    blocked_path: str | None = None
    sandbox: bool = True


class Gate(Protocol):
    """Decides each tool call. Pure: asks nobody, runs nothing; a deny rule always wins.

    An exception here counts as a deny, never as an allow.
    """

    @property
    def mode(self) -> Mode: ...

    def decide(self, call: Call) -> Decision: ...

    def set_mode(self, mode: Mode) -> None:
        """
        Raises:
            UsageError: the mode is switched off by policy or was not unlocked at launch.
        """
        ...

    def add_rules(self, rules: tuple[RuleSuggestion, ...]) -> None:
        """Takes effect at once; those for a file are written there."""
        ...

    def add_directories(self, directories: tuple[str, ...]) -> None: ...

    def hides(self, tool_name: str, input: Json) -> bool:
        """Whether a deny rule forbids this outright: searches leave such files out of what they show."""
        ...
