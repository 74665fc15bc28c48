"""Compaction while the agent works: old results first, then a summary in the place of the oldest part."""

import time
from collections.abc import Awaitable, Callable

from weft.agent.history import History
from weft.agent.moments import Moments, Trigger
from weft.agent.state import State
from weft.providers.port import Provider
from weft.schema.events import AgentEvent, Compacted
from weft.schema.messages import Reply, Request
from weft.schema.stream import StreamDone, StreamFailed
from weft.sessions import compaction
from weft.sessions.ledger import Ledger


class Compactor:
    """Keeps one thread inside its model's window. `make` gives the thread's own next request, whose prefix the
    summary's request shares, so that a cache helps."""

    def __init__(
        self,
        *,
        provider: Callable[[], Provider],
        make: Callable[[History], Awaitable[Request]],
        window: Callable[[], int],
        state: State,
        moments: Moments,
        ledger: Ledger,
        emit: Callable[[AgentEvent], None],
        main: bool = True,
    ) -> None:
        self._provider = provider
        self._make = make
        self._window = window
        self._state = state
        self._moments = moments
        self._main = main
        self._ledger = ledger
        self._emit = emit
        self._counted = 0
        self._seen = 0
        self._around = self._size = 0
        self._failed_at = 0
        self._progress = compaction.Progress()
        self._report = ""

    @property
    def tokens(self) -> int:
        """The provider's last count of this conversation."""
        return self._counted

    def counted(self, reply: Reply, history: History) -> None:
        self._counted = reply.usage.context
        self._seen = len(history.messages)

    def resume(self, tokens: int, seen: int) -> None:
        """Goes on from the provider's count of a resumed conversation, which was about its first `seen` messages."""
        self._counted, self._seen = tokens, seen

    def used(self, history: History) -> int:
        """The provider's count plus an estimate of what was added since."""
        if self._seen > len(history.messages):
            # The count was about another history. What is sent around every one, prompt and tools, still holds.
            self._counted, self._seen = self._around, 0
        return self._counted + compaction.estimate(history.messages[self._seen :])

    async def before(self, history: History, request: Request) -> bool:
        window, used = self._window(), self.used(history)
        if window <= 0 or not compaction.needs_compaction(used, 0, window) or not self._may_try(used):
            return False
        return await self._compact(history, request, "auto", "")

    async def rescue(self, history: History) -> bool:
        if len(history.messages) < 2 or not self._may_try(self.used(history)):
            return False
        return await self._compact(history, await self._make(history), "auto", "", rescue=True)

    def _may_try(self, used: int) -> bool:
        """One that was of no use is tried again only after the conversation has grown."""
        if used > self._failed_at * 1.2:
            self._progress.grew()
        return self._progress.may_try

    async def now(self, history: History, instructions: str) -> str:
        """Because the person asked for it, whatever the fill. Says what was done."""
        if not history.messages:
            return "There is nothing to make shorter yet."
        if not await self._compact(history, await self._make(history), "manual", instructions):
            return "A PreCompact hook kept the conversation as it is."
        return self._report

    async def _compact(
        self, history: History, request: Request, trigger: Trigger, instructions: str, *, rescue: bool = False
    ) -> bool:
        """`rescue`: the model says that it is too much, whatever we counted and know of its window."""
        size, started = compaction.estimate(history.messages), time.monotonic()
        before = max(self.used(history), size)
        self._around, self._size = before - size, size
        if not await self._moments.may_compact(trigger, instructions):
            return False
        self._emit(Compacted(state="started", trigger=trigger, before=before))
        window = self._window() or max(before * 2, 8_000)
        window = min(window, max(before, 4_000)) if rescue else window
        if trigger == "auto" and self._drop_results(history, window):
            return await self._done(history, trigger, before, "Old tool results were left out.", started)
        parts = compaction.split(history.messages, window=window)
        if not parts.old:
            parts = compaction.split(history.messages, window=window, everything=trigger == "manual", tight=rescue)
        summary = await self._summary(request, parts, instructions, window)
        done = compaction.apply(summary, parts, todos=self._state.todos, window=window)
        scribe = history.scribe
        for record in compaction.to_records(
            done, scribe.origin, logical_parent=scribe.tip, trigger=trigger, before=before
        ):
            scribe.write(record)
        scribe.sync()
        history.replace(done.messages)
        useful = await self._done(history, trigger, before, done.text, started)
        after = self.used(history)
        self._report = compaction.report(done, parts, todos=self._state.todos, before=before, after=after)
        return useful

    def _drop_results(self, history: History, window: int) -> bool:
        """Whether leaving out old results is enough; if so they are gone, and the log says which."""
        lean = compaction.drop_old_results(history.messages)
        left = compaction.estimate(lean)
        if left > compaction.threshold(window) // 2 or left > self._size * 0.7:
            return False
        dropped = compaction.dropped_ids(history.messages, lean)
        history.scribe.system(compaction.DROPPED_RECORD, "Old tool results left out", {"toolUseIds": dropped})
        history.replace(lean)
        return True

    async def _done(self, history: History, trigger: Trigger, before: int, summary: str, started: float) -> bool:
        self._counted, self._seen = self._around, 0
        after = self.used(history)
        useful = self._progress.note(self._size, after - self._around) or trigger == "manual"
        self._failed_at = 0 if useful else after
        self._emit(
            Compacted(
                state="done" if useful else "failed",
                trigger=trigger,
                before=before,
                after=after,
                summary=summary,
                duration=time.monotonic() - started,
                message="" if useful else "The conversation could not be made shorter.",
            )
        )
        if useful:
            await self._moments.compacted(trigger, summary, main=self._main)
        return useful

    async def _summary(self, request: Request, parts: compaction.Split, instructions: str, window: int) -> str:
        if not parts.old:
            return compaction.fallback_summary(parts.old)
        asked = compaction.summary_request(request, parts.old, instructions, window=window)
        started = time.monotonic()
        async for event in self._provider().stream(asked):
            if isinstance(event, StreamDone):
                self._ledger.add(event.reply.model, event.reply.usage, time.monotonic() - started)
                return event.reply.text or compaction.fallback_summary(parts.old)
            if isinstance(event, StreamFailed):
                break
        return compaction.fallback_summary(parts.old)
