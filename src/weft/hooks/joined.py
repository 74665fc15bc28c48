"""Hooks of an agent: the session's and its own as one, told whose call it is."""

from weft.hooks.outcome import fold
from weft.hooks.port import HookEvent, Hooks, Verdict
from weft.schema.content import Json


class JoinedHooks:
    """Implements `Hooks`: both run, and their verdicts are folded as those of one source are."""

    def __init__(self, first: Hooks, second: Hooks) -> None:
        self._both = (first, second)

    def wants(self, event: HookEvent) -> bool:
        return any(hooks.wants(event) for hooks in self._both)

    def matchers(self, event: HookEvent) -> tuple[str, ...]:
        return self._both[0].matchers(event) + self._both[1].matchers(event)

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        verdicts = [
            await hooks.run(event, input, subject=subject, tool_use_id=tool_use_id)
            for hooks in self._both
            if hooks.wants(event)
        ]
        return fold(verdicts)


class AgentHooks:
    """Implements `Hooks`: every input says which agent it is about."""

    def __init__(self, inner: Hooks, *, agent_id: str, agent_type: str) -> None:
        self._inner = inner
        self._about: Json = {"agent_id": agent_id, "agent_type": agent_type}

    def wants(self, event: HookEvent) -> bool:
        return self._inner.wants(event)

    def matchers(self, event: HookEvent) -> tuple[str, ...]:
        return self._inner.matchers(event)

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        return await self._inner.run(event, {**self._about, **input}, subject=subject, tool_use_id=tool_use_id)
