"""Deltas become an assistant message, and events on the way there."""

import time
from collections.abc import Callable

from weft.protocols.fold import Fold
from weft.schema.content import AnyBlock, Text, Thinking
from weft.schema.events import AgentEvent, BlockDone, Retrying, Streamed
from weft.schema.messages import Reply
from weft.schema.stream import BlockDelta, BlockStop, MessageStart, Retry, StreamDone, StreamEvent, StreamFailed


class Accumulator:
    """Feed it the stream of one request; it emits `Streamed`, `BlockDone` and `Retrying` in the order of the stream.

    `reply` is what there is: whole after `StreamDone`, partial after a cancel.
    """

    def __init__(self, emit: Callable[[AgentEvent], None], model: str, parent: str | None) -> None:
        self._emit = emit
        self._parent = parent
        self._model = model
        self._fold = Fold()
        self._id = ""
        self._started = time.monotonic()
        self.first_token: float | None = None

    def feed(self, event: StreamEvent) -> None:
        """Terminal events are the caller's business; everything else becomes events."""
        if isinstance(event, BlockDelta):
            # Nearly every event is one of these.
            if self.first_token is None:
                self.first_token = time.monotonic() - self._started
            self._fold.feed(event)
            self._emit(Streamed(message_id=self._id, delta=event, parent=self._parent))
            return
        match event:
            case StreamDone() | StreamFailed():
                return
            case Retry():
                self._retry(event)
                return
            case MessageStart(id=message_id, model=model):
                self._id, self._model = message_id, model or self._model
            case _:
                pass
        self._fold.feed(event)
        if isinstance(event, BlockStop):
            self._block_done(event.index)
        self._emit(Streamed(message_id=self._id, delta=event, parent=self._parent))

    def _block_done(self, index: int) -> None:
        block = self._fold.block(index)
        if block is not None:
            self._emit(
                BlockDone(
                    message_id=self._id,
                    index=index,
                    block=block,
                    model=self._model,
                    usage=self._fold.usage,
                    parent=self._parent,
                )
            )

    def _retry(self, event: Retry) -> None:
        self._emit(
            Retrying(
                attempt=event.attempt,
                max_retries=event.max_retries,
                delay=event.delay,
                error=event.error,
                message=event.message,
                status=event.status,
                fallback=event.fallback,
                model=self._model,
            )
        )

    def aborted(self) -> Reply | None:
        """What a cancel leaves: text and whole thinking, never a tool use that nobody will answer."""
        reply = self._fold.reply()
        kept: list[AnyBlock] = []
        for block in reply.content:
            if (isinstance(block, Text) and block.text.strip()) or (isinstance(block, Thinking) and block.signature):
                kept.append(block)
        if not any(isinstance(block, Text) for block in kept):
            return None
        return Reply(id=reply.id, model=reply.model or self._model, content=tuple(kept), usage=reply.usage)
