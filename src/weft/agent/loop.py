"""The loop: ask the model, run what it asked for, tell it what happened, until it asks for nothing more.

Retry, hooks, plan mode, limits and compaction arrive through the three ports below, never as another `if`.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from weft.agent.history import Addition, History
from weft.schema.content import ToolResult, ToolUse
from weft.schema.events import TurnReason
from weft.schema.messages import Reply


class TurnOver(Exception):
    """The turn ends here. Raised by a port, caught by the session, never by the loop."""

    def __init__(self, reason: TurnReason, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason: TurnReason = reason
        self.message = message


class Answered(msgspec.Struct, frozen=True):
    """How a round of tool calls ended. `over` ends the turn well; `additions` follow the results."""

    over: bool = False
    additions: tuple[Addition, ...] = ()


class Model(Protocol):
    async def ask(self, history: History) -> Reply:
        """One reply, already in the history.

        Raises:
            TurnOver: the model cannot answer, or may not be asked again.
        """
        ...


class Tools(Protocol):
    async def answer(self, uses: Sequence[ToolUse], results: dict[str, ToolResult], logged: set[str]) -> Answered:
        """Runs the calls and puts each one's result into `results` as it ends, its id into `logged`.

        Raises:
            TurnOver: the person or a hook ended the turn.
        """
        ...


class Closing(Protocol):
    async def after(self, reply: Reply) -> Addition | None:
        """The model asked for nothing. A message to go on with (a hook objects, a reply was cut), or None to end.

        Raises:
            TurnOver: the reply is no good end.
        """
        ...


class Loop:
    """Steps of one turn, on one history."""

    def __init__(self, model: Model, tools: Tools, closing: Closing) -> None:
        self._model = model
        self._tools = tools
        self._closing = closing

    async def run(self, history: History) -> Reply:
        """The last reply of the turn. The history is valid on every path out, a cancel included."""
        while True:
            reply = await self._model.ask(history)
            if not reply.tool_uses:
                more = await self._closing.after(reply)
                if more is None:
                    return reply
                history.add(more)
                continue
            answered = await self._round(reply.tool_uses, history)
            if answered.over:
                return reply
            for addition in answered.additions:
                history.add(addition)

    async def _round(self, uses: Sequence[ToolUse], history: History) -> Answered:
        results = {use.id: interrupted(use) for use in uses}
        logged: set[str] = set()
        try:
            return await self._tools.answer(uses, results, logged)
        finally:
            history.add_results(list(results.values()), logged)


def interrupted(use: ToolUse) -> ToolResult:
    """What the model reads of a call that was cut short before it could say anything."""
    return ToolResult(use.id, "The call was interrupted before it finished.", is_error=True)
