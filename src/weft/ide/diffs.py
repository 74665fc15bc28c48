"""The table of changes that wait for a decision.

An entry belongs to one agent and is named by it. It ends in exactly one of five ways: the person accepts, maybe with
changes of their own; the person rejects or closes the view; the agent closes the tab, because it was decided
elsewhere; the agent goes away; or somebody other than the editor's own view decides by id (a web page, a script).
Every ending but an acceptance is a rejection.
"""

from collections.abc import Awaitable, Callable, Hashable
from typing import TypeAlias

import anyio
import msgspec

from weft.ide.port import Diff
from weft.protocols.ide.values import Accepted, Rejected

Show: TypeAlias = Callable[[Diff], Awaitable[Accepted | Rejected]]


class _Entry(msgspec.Struct):
    """`outcome` is set once. Setting it from outside cancels `scope`, and with it the editor's view."""

    owner: Hashable
    diff: Diff
    scope: anyio.CancelScope
    outcome: Accepted | Rejected | None = None


class DiffTable:
    """Pending diffs of all agents. `show` is the editor's view of one diff."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def pending(self, owner: Hashable | None = None) -> tuple[Diff, ...]:
        """Oldest first; of one agent, or of all."""
        return tuple(entry.diff for entry in self._entries.values() if owner is None or entry.owner == owner)

    async def open(self, owner: Hashable, diff: Diff) -> Accepted | Rejected:
        """Shows the diff until it is decided. Another one of the same agent and title replaces an older one.

        Cancelling the call takes the diff away.
        """
        self.close(owner, diff.title)
        entry = _Entry(owner, diff, anyio.CancelScope())
        self._entries[diff.id] = entry
        try:
            with entry.scope:
                answer = await self._show(diff)
                if entry.outcome is None:
                    entry.outcome = answer
        finally:
            self._entries.pop(diff.id, None)
        return entry.outcome or Rejected()

    def decide(self, diff_id: str, outcome: Accepted | Rejected) -> bool:
        """Ends a diff from outside the editor's view. False when it is not pending any more: the first answer won."""
        entry = self._entries.pop(diff_id, None)
        if entry is None or entry.outcome is not None:
            return False
        entry.outcome = outcome
        entry.scope.cancel()
        return True

    def close(self, owner: Hashable, title: str) -> int:
        """The agent closes a tab: its pending diffs of that title are rejected. Returns how many there were.

        Other agents' diffs stay, whatever their title.
        """
        found = [diff.id for diff in self.pending(owner) if diff.title == title]
        return sum(self.decide(diff_id, Rejected()) for diff_id in found)

    def close_all(self, owner: Hashable) -> int:
        """All diffs of one agent: it asked, or it went away."""
        return sum(self.decide(diff.id, Rejected()) for diff in self.pending(owner))
