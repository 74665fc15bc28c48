"""A thread that hands turns to participants: the conversation's own, with plug-ins in front."""

from collections.abc import Awaitable, Callable

import anyio

from weft.agent.asks import Asks
from weft.agent.history import History
from weft.agent.loop import TurnOver
from weft.agent.session_port import Thread
from weft.agent.turn import Turn
from weft.extend.api import Followup, Model
from weft.extend.participants import Asked, Participants
from weft.extend.stream import ResponseStream
from weft.schema.content import Json, text_of
from weft.schema.events import AgentEvent, Notice
from weft.schema.messages import Reply

MARK = "participant-turn"


class HandingThread:
    """Implements `agent.session.Thread`. `hand` is set while a prompt is read; the next run is the participant's if
    that prompt is the one the run is for."""

    def __init__(
        self,
        inner: Thread,
        participants: Participants,
        *,
        emit: Callable[[AgentEvent], None],
        asks: Asks,
        edit: Callable[[str, Json], Awaitable[str]],
        model: Callable[[str], Awaitable[Model | None]],
    ) -> None:
        self._inner = inner
        self._participants = participants
        self._emit = emit
        self._asks = asks
        self._edit = edit
        self._model = model
        self._pending: Asked | None = None

    @property
    def history(self) -> History:
        return self._inner.history

    def hand(self, asked: Asked | None) -> None:
        self._pending = asked

    async def run(self, turn: Turn) -> Reply:
        asked, self._pending = self._pending, None
        if asked is None or asked.text not in text_of(self.history.messages[-1].content):
            return await self._inner.run(turn)
        return await self._handed(asked)

    async def _handed(self, asked: Asked) -> Reply:
        name = asked.entry.name
        if asked.guessed:
            words = f"@{name} answers, because this is what it is for. Begin with @weft to ask Weft itself."
            self._emit(Notice(text=words, tag="participant_chosen"))
        stream = ResponseStream(name, self._emit, self._asks.question, self._edit)
        try:
            answer = await self._participants.answer(asked, stream, await self._model(asked.manifest.name))
        except anyio.get_cancelled_exc_class():
            self._close(stream, aborted=True)
            raise
        reply = self._close(stream)
        self.history.scribe.mark(MARK, self._participants.last_turns(asked))
        if answer.result.error:
            raise TurnOver("error", f"@{name}: {answer.result.error}")
        self._offer(name, answer.followups)
        return reply

    def _close(self, stream: ResponseStream, *, aborted: bool = False) -> Reply:
        reply = stream.close(aborted=aborted)
        uuid = self.history.add_reply(reply) if reply.content else ""
        stream.done(reply, uuid, aborted=aborted)
        return reply

    def _offer(self, participant: str, followups: tuple[Followup, ...]) -> None:
        if not followups:
            return
        rows = [{"label": one.label or one.prompt, "prompt": _typed(one, participant)} for one in followups]
        words = "You could go on with: " + "; ".join(row["label"] for row in rows)
        self._emit(Notice(text=words, tag="participant_followups", data=rows))


def _typed(one: Followup, participant: str) -> str:
    """A follow-up as the person would type it."""
    command = f"/{one.command} " if one.command else ""
    return f"@{one.participant or participant} {command}{one.prompt}"
