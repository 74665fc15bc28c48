"""Plans that an agent wrote and did not ask about.

iFlow in plan mode may end its turn without leaving plan mode (seed 001 §10: the approval with request id -1). Then the
host asks in its place, and carries the answer out with what every agent understands: a mode and a prompt.
"""

from typing import Final

from weft.schema import commands as c
from weft.schema import events as e

MARK: Final = "unasked-"
"""The request ids of these plans begin with it."""
GO: Final = "Carry out the plan."


class UnaskedPlans:
    """Looks at the events of one agent. Agents that always ask need none."""

    def __init__(self) -> None:
        self._asked = False
        self._text = ""
        self._number = 0

    def take(self, event: e.AgentEvent, info: e.SessionInfo | None, agent: str) -> e.PlanProposed | None:
        """The plan to ask about, when this event ended a turn that has one."""
        match event:
            case e.TurnStarted():
                self._asked, self._text = False, ""
            case e.PlanProposed():
                self._asked = True
            case e.MessageDone(parent=None, reply=reply) if reply.text:
                self._text = reply.text
            case e.TurnEnded(reason="completed") if self._text and not self._asked:
                planning = info is not None and info.mode == "plan" and "iflow" in (agent, info.agent_name.lower())
                if planning:
                    self._number += 1
                    return e.PlanProposed(request_id=f"{MARK}{self._number}", tool_use_id="", plan=self._text)
            case _:
                pass
        return None


def to_commands(answer: c.PlanAnswered) -> tuple[c.Command, ...]:
    """What an answer to such a plan comes to."""
    if answer.approved:
        return (c.SetMode(answer.mode), c.Prompt(GO))
    return (c.Prompt(answer.feedback),) if answer.feedback else ()
