"""Hooks of two sources as one: the session's, and those that an agent brings."""

from weft.hooks.outcome import fold
from weft.hooks.port import HookEvent, Hooks, Verdict
from weft.schema.content import Json


class JoinedHooks:
    """Implements `Hooks`: both run, and their verdicts are folded as those of one source are."""

    def __init__(self, first: Hooks, second: Hooks) -> None:
        self._both = (first, second)

    def wants(self, event: HookEvent) -> bool:
        return any(hooks.wants(event) for hooks in self._both)

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        verdicts = [
            await hooks.run(event, input, subject=subject, tool_use_id=tool_use_id)
            for hooks in self._both
            if hooks.wants(event)
        ]
        return fold(verdicts)
