"""What a turn has cost and done so far, shared by everything that works on it."""

import time
from typing import Literal

from weft.agent.loop import TurnOver
from weft.errors import ProviderErrorKind
from weft.schema.content import ToolUse
from weft.schema.events import Denial
from weft.schema.messages import Usage
from weft.sessions.ledger import Ledger


class Limits:
    """What a session may spend. A subagent has limits of its own steps and the same ledger, so the budget is one.

    Raises:
        TurnOver: from `before_step` and `check_budget`, before anything is spent.
    """

    def __init__(self, ledger: Ledger, *, max_turns: int | None = None, max_budget: float | None = None) -> None:
        self.ledger = ledger
        self.max_turns = max_turns
        self.max_budget = max_budget

    def before_step(self, steps: int) -> None:
        if self.max_turns is not None and steps >= self.max_turns:
            raise TurnOver("max_turns", f"Reached maximum number of turns ({self.max_turns})")
        self.check_budget()

    def check_budget(self) -> None:
        problem = self.ledger.check_budget(self.max_budget)
        if problem is not None:
            raise TurnOver("budget", problem)


class Turn:
    """One turn's account. `phase` is what an interrupt would interrupt."""

    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.started = time.monotonic()
        self.steps = 0
        self.asked = False
        """The prompt is in the history."""
        self.vetted = False
        """No hook objects to the prompt."""
        self.own = False
        """The prompt was for the session itself: there is nothing in it for the model."""
        self.shell: str | None = None
        """The person's own command, while it runs."""
        self.user_messages = 0
        self.usage = Usage()
        self.cost = 0.0
        self.api_seconds = 0.0
        self.first_token: float | None = None
        self.denials: list[Denial] = []
        self.deferred: ToolUse | None = None
        self.phase: Literal["streaming", "tools"] = "streaming"
        self.stop_reason: str | None = None
        self.said = ""
        self.structured: object = None
        self.has_structured = False
        self.nudges = 0
        self.stop_blocks = 0
        self.error_kind: ProviderErrorKind | None = None
        self.error_status: int | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started
