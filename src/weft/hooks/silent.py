"""No hooks at all: what a session has when none is configured."""

from weft.hooks.port import HookEvent, Verdict
from weft.schema.content import Json


class NoHooks:
    """Implements `Hooks`; nothing of the runner is imported for it."""

    def wants(self, event: HookEvent) -> bool:
        return False

    def matchers(self, event: HookEvent) -> tuple[str, ...]:
        return ()

    async def run(self, event: HookEvent, input: Json, *, subject: str = "", tool_use_id: str | None = None) -> Verdict:
        return Verdict()
