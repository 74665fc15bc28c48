"""One step's question to the model: the request, its stream, its reply in the history."""

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from weft.agent.accumulator import Accumulator
from weft.agent.history import History
from weft.agent.loop import TurnOver
from weft.agent.turn import Limits, Turn
from weft.providers.port import Provider
from weft.schema.content import Text
from weft.schema.events import AgentEvent, MessageDone, UsageChanged
from weft.schema.ids import new_id
from weft.schema.messages import Reply, Request
from weft.schema.stream import StreamDone, StreamFailed


class RequestMaker(Protocol):
    """Turns history and sources into a request. `window` is the model's context, 0 when it is not known."""

    @property
    def window(self) -> int: ...

    def sizes(self) -> dict[str, int]:
        """`context_window` and `max_output` of the model, for the ledger."""
        ...

    async def __call__(self, history: History) -> Request: ...


class Compactor(Protocol):
    async def before(self, history: History, request: Request) -> bool:
        """Compacts when the window is nearly full; true when the history changed."""
        ...

    async def rescue(self, history: History) -> bool:
        """The model said that the prompt is too long; true when the history is shorter now."""
        ...

    def counted(self, reply: Reply, history: History) -> None:
        """The provider has counted: estimates start again from here."""
        ...


class Asking:
    """The loop's `Model` port."""

    def __init__(
        self,
        *,
        provider: Callable[[], Provider],
        make: RequestMaker,
        compactor: Compactor,
        limits: Limits,
        turn: Turn,
        emit: Callable[[AgentEvent], None],
        parent: str | None = None,
        shown: Callable[[str, Reply], Awaitable[None]] | None = None,
    ) -> None:
        self._provider = provider
        self._make = make
        self._compactor = compactor
        self._limits = limits
        self._turn = turn
        self._emit = emit
        self._parent = parent
        self._shown = shown

    async def ask(self, history: History) -> Reply:
        self._limits.before_step(self._turn.steps)
        self._turn.phase = "streaming"
        request = await self._make(history)
        if await self._compactor.before(history, request):
            request = await self._make(history)
        self._turn.steps += 1
        ended = await self._stream(request, history)
        while isinstance(ended, StreamFailed) and ended.error == "prompt_too_long":
            if not await self._compactor.rescue(history):
                break
            ended = await self._stream(await self._make(history), history)
        if isinstance(ended, Reply):
            if self._shown is not None:
                await self._shown(self._turn.id, ended)
            return ended
        if ended.partial:
            return self._keep_partial(ended, request, history)
        raise self._failed(ended, request, history)

    async def _stream(self, request: Request, history: History) -> Reply | StreamFailed:
        started = time.monotonic()
        building = Accumulator(self._emit, request.model, self._parent)
        try:
            async for event in self._provider().stream(request):
                building.feed(event)
                if isinstance(event, StreamDone):
                    return self._done(event.reply, history, time.monotonic() - started, building)
                if isinstance(event, StreamFailed):
                    self._turn.api_seconds += time.monotonic() - started
                    return event
        except anyio.get_cancelled_exc_class():
            self._aborted(building, history)
            raise
        return StreamFailed("protocol", "The provider ended its stream without an answer.")

    def _done(self, reply: Reply, history: History, seconds: float, building: Accumulator) -> Reply:
        turn, ledger = self._turn, self._limits.ledger
        cost = ledger.add(reply.model, reply.usage, seconds, **self._make.sizes())
        turn.usage += reply.usage
        turn.cost += cost or 0.0
        turn.api_seconds += seconds
        turn.stop_reason = reply.stop_reason
        turn.said = reply.text
        if turn.first_token is None:
            turn.first_token = building.first_token
        uuid = history.add_reply(reply, cost=cost, duration=seconds)
        self._compactor.counted(reply, history)
        self._emit(MessageDone(reply=reply, uuid=uuid, parent=self._parent))
        self._emit(
            UsageChanged(
                context_tokens=reply.usage.context if self._parent is None else 0,
                context_window=self._make.window,
                total_cost=ledger.total_cost,
                usage=ledger.total_usage,
                models=ledger.models(),
                totals=ledger.totals,
            )
        )
        return reply

    def _aborted(self, building: Accumulator, history: History) -> None:
        reply = building.aborted()
        if reply is not None:
            uuid = history.add_reply(reply)
            self._emit(MessageDone(reply=reply, aborted=True, uuid=uuid, parent=self._parent))

    def _keep_partial(self, failed: StreamFailed, request: Request, history: History) -> Reply:
        """The stream was cut after whole blocks: they count, and the loop goes on from them."""
        reply = Reply(id=f"msg_{new_id()}", model=request.model, content=failed.partial, stop_reason="cut")
        self._turn.stop_reason = "cut"
        uuid = history.add_reply(reply)
        self._emit(MessageDone(reply=reply, uuid=uuid, parent=self._parent))
        return reply

    def _failed(self, failed: StreamFailed, request: Request, history: History) -> TurnOver:
        text = failed.message if failed.hint is None else f"{failed.message.rstrip('.')}. {failed.hint}"
        reply = Reply(id=f"msg_{new_id()}", model="<synthetic>", content=(Text(text),), stop_reason="stop_sequence")
        uuid = history.note_error(reply, failed.error)
        self._turn.stop_reason = "stop_sequence"
        self._turn.error_kind = failed.error
        self._turn.error_status = failed.status
        self._emit(
            MessageDone(reply=reply, error=failed.error, error_status=failed.status, uuid=uuid, parent=self._parent)
        )
        return TurnOver("prompt_too_long" if failed.error == "prompt_too_long" else "error", text)
