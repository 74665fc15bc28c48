"""The end of a turn: the model asked for nothing more. May it stop?"""

from weft.agent.history import Addition
from weft.agent.loop import TurnOver
from weft.agent.state import State
from weft.agent.turn import Limits, Turn
from weft.hooks.port import Hooks
from weft.schema.content import Json, Text
from weft.schema.messages import Reply

MAX_NUDGES = 2
MAX_STOP_BLOCKS = 9

CONTINUE = "Your last message was cut off before it was complete. Go on from exactly where it stopped."
EMPTY = "Your last message had no visible content. Give your answer, or use a tool."
STRUCTURED = "Finish by calling the StructuredOutput tool with your result."


class Closing:
    """The loop's `Closing` port: cut and empty replies are asked to go on, hooks may object."""

    def __init__(
        self,
        *,
        turn: Turn,
        limits: Limits,
        hooks: Hooks,
        state: State,
        structured: bool = False,
        subagent: str = "",
        about: Json | None = None,
    ) -> None:
        self._turn = turn
        self._limits = limits
        self._hooks = hooks
        self._state = state
        self._structured = structured
        self._subagent = subagent
        self._about: Json = about or {}

    async def after(self, reply: Reply) -> Addition | None:
        if reply.stop_reason == "refusal":
            raise TurnOver("refused", "The model declined to answer.")
        nudge = self._nudge(reply)
        if nudge is not None and self._turn.nudges < MAX_NUDGES:
            self._turn.nudges += 1
            return self._note(nudge)
        self._limits.check_budget()
        return await self._ask_hooks(reply)

    def _nudge(self, reply: Reply) -> str | None:
        if reply.stop_reason in ("max_tokens", "cut"):
            return CONTINUE
        if not reply.text.strip():
            return EMPTY
        if self._structured and not self._turn.has_structured:
            return STRUCTURED if self._turn.nudges == 0 else None
        return None

    async def _ask_hooks(self, reply: Reply) -> Addition | None:
        event = "SubagentStop" if self._subagent else "Stop"
        if not self._hooks.wants(event) or self._turn.stop_blocks >= MAX_STOP_BLOCKS:
            return None
        verdict = await self._hooks.run(
            event,
            self._state.hook_input(
                event,
                stop_hook_active=self._turn.stop_blocks > 0,
                last_assistant_message=reply.text,
                **self._about,
            ),
            subject=self._subagent,
        )
        if verdict.stop or not verdict.block:
            return None
        self._turn.stop_blocks += 1
        return self._note(f"{event} hook feedback:\n{verdict.reason}")

    def _note(self, text: str) -> Addition:
        self._turn.user_messages += 1
        return Addition((Text(text),), synthetic=True)
