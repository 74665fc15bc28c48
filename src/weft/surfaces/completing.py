"""Asking an agent what could come next while a person types, for what only the agent knows."""

import itertools
from collections.abc import Callable

import anyio

from weft.schema.commands import Command, Complete
from weft.schema.events import Completed, SessionInfo
from weft.transports.awaited import Awaited

LIMIT = 6.0
"""Seconds; a list that comes later helps nobody."""


class Completing:
    """One for each conversation: `ask` sends the question, `take` is given every answer."""

    def __init__(self, send: Callable[[Command], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._waiting: dict[str, Awaited[Completed]] = {}

    async def ask(self, text: str) -> Completed:
        """Empty where the agent does not say in time."""
        id = f"complete-{next(self._ids)}"
        waiting = self._waiting[id] = Awaited[Completed]()
        try:
            self._send(Complete(id, text))
            with anyio.move_on_after(LIMIT):
                return await waiting.wait()
        finally:
            del self._waiting[id]
        return Completed(id=id)

    def take(self, event: Completed) -> None:
        if waiting := self._waiting.get(event.id):
            waiting.set(event)


def has_arguments(info: SessionInfo | None, before: str) -> bool:
    """Whether the cursor stands in the arguments of a command whose values a server knows."""
    name, space, _ = before[1:].partition(" ")
    if not before.startswith("/") or not space or info is None:
        return False
    return any(one.source.startswith("mcp") and name in (one.name, *one.aliases) for one in info.commands)


def has_resources(info: SessionInfo | None) -> bool:
    """Whether a server may have something to mention."""
    return info is not None and any(server.state == "ready" for server in info.servers)
