"""A gate under another gate: a subagent, a skill or a guest may narrow what its parent may do, never widen it."""

from weft.errors import UsageError
from weft.permissions.port import Call, Decision, Gate
from weft.permissions.rules import BEHAVIORS
from weft.schema.content import Json
from weft.schema.events import Mode, RuleSuggestion

_WIDTH: tuple[Mode, ...] = ("plan", "dontAsk", "default", "smart", "acceptEdits", "bypassPermissions")
"""From the narrowest mode to the widest. plan comes first because it never writes."""


class CeilingGate:
    """Decides as the stricter of parent and own gate. The parent is asked live: what it loses later is lost here.

    `tools` are the names that may be called at all, where they were narrowed (`tools` of an agent, `allowed-tools`
    of a skill).
    """

    def __init__(self, parent: Gate, own: Gate | None = None, *, tools: frozenset[str] | None = None) -> None:
        self._parent = parent
        self._own = own
        self._tools = tools

    @property
    def mode(self) -> Mode:
        return self._own.mode if self._own is not None else self._parent.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.set_mode(mode)

    def decide(self, call: Call) -> Decision:
        if self._tools is not None and call.name not in self._tools:
            return Decision(behavior="deny", reason=f"{call.name} is not among this agent's tools", reason_kind="tool")
        parent = self._parent.decide(call)
        if self._own is None:
            return parent
        own = self._own.decide(call)
        stricter = min(parent, own, key=lambda decision: BEHAVIORS.index(decision.behavior))
        if stricter.sandbox or (parent.sandbox or own.sandbox) is False:
            return stricter
        import msgspec

        return msgspec.structs.replace(stricter, sandbox=True)

    def set_mode(self, mode: Mode) -> None:
        if _WIDTH.index(mode) > _WIDTH.index(self._parent.mode):
            raise UsageError(f"an agent below one in {self._parent.mode} mode cannot switch to {mode}")
        if self._own is not None:
            self._own.set_mode(mode)
        elif mode != self._parent.mode:
            raise UsageError("this agent has no mode of its own")

    def add_rules(self, rules: tuple[RuleSuggestion, ...]) -> None:
        """The person's answer counts for the whole session."""
        self._parent.add_rules(rules)
        if self._own is not None:
            session = tuple(RuleSuggestion(rule.rule, "session", rule.behavior) for rule in rules)
            self._own.add_rules(session)

    def add_directories(self, directories: tuple[str, ...]) -> None:
        self._parent.add_directories(directories)
        if self._own is not None:
            self._own.add_directories(directories)

    def hides(self, tool_name: str, input: Json) -> bool:
        return self._parent.hides(tool_name, input) or (self._own is not None and self._own.hides(tool_name, input))
