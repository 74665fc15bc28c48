"""Back to before a message: files from their checkpoints, the conversation from its log."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weft.agent.history import History
from weft.errors import SessionError, UsageError
from weft.schema.content import Json
from weft.sessions.port import SessionStore

if TYPE_CHECKING:
    from weft.tools.checkpoints import Checkpoints


class Rewinder:
    """Implements the control's `Rewinds`."""

    def __init__(self, store: SessionStore, session_id: Callable[[], str], checkpoints: "Checkpoints | None") -> None:
        self._store = store
        self._session_id = session_id
        self._checkpoints = checkpoints

    async def files(self, message_id: str, *, dry_run: bool) -> Json:
        if self._checkpoints is None:
            return {"canRewind": False, "error": "File checkpointing is not enabled for this session."}
        found = await self._checkpoints.rewind(message_id, dry_run=dry_run)
        if found.get("canRewind"):
            return found
        # A message whose turn changed nothing left no checkpoint: the first one after it holds what it was like then.
        for later in self._since(message_id):
            found = await self._checkpoints.rewind(later, dry_run=dry_run)
            if found.get("canRewind"):
                return found
        return found

    def _since(self, message_id: str) -> Sequence[str]:
        """The prompts of the conversation from this one on; none when it is not among them."""
        from weft.sessions.rewind import points

        try:
            ids = [point.message_id for point in points(self._store.load(self._session_id()))]
        except SessionError:
            return ()
        return ids[ids.index(message_id) + 1 :] if message_id in ids else ()

    async def conversation(self, message_id: str, history: History) -> None:
        from weft.sessions.rewind import rewind

        history.scribe.sync()
        try:
            found = rewind(self._store.load(self._session_id()), message_id, self._session_id())
        except SessionError as error:
            raise UsageError(str(error)) from None
        history.scribe.write(found.mark)
        history.scribe.tip = found.tip
        history.replace(found.history)
