"""Back to before a message: files from their checkpoints, the conversation from its log."""

from collections.abc import Callable
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
        return await self._checkpoints.rewind(message_id, dry_run=dry_run)

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
