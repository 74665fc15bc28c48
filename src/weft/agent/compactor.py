"""Compaction while the agent works: old results first, then a summary in the place of the oldest part."""

from weft.agent.history import History
from weft.schema.messages import Reply, Request


class NoCompaction:
    """For threads that are too short to need it, and for tests."""

    async def before(self, history: History, request: Request) -> bool:
        return False

    async def rescue(self, history: History) -> bool:
        return False

    def counted(self, reply: Reply, history: History) -> None:
        return
