"""A session: commands in, events out, one turn at a time.

`async with Session(...)` has a worker that takes prompts from the inbox. An interrupt cancels the scope of one turn;
`TurnEnded` follows on every path out of it, and the session stays usable.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Literal, Self

import anyio
import msgspec

from weft.agent.accumulator import Accumulator
from weft.agent.asks import Asks
from weft.agent.channel import Channel
from weft.agent.history import Addition
from weft.agent.inbox import Inbox
from weft.agent.intake import Intake, Taken
from weft.agent.keeping import keep, mark_interrupt, unopened
from weft.agent.loop import TurnOver
from weft.agent.moments import IDLE_AFTER, Moments, StartSource
from weft.agent.session_port import Control, Thread
from weft.agent.state import State
from weft.agent.turn import Limits, Turn
from weft.agent.wishes import granted
from weft.errors import SessionError, UsageError, WeftError
from weft.exits import ExitStack
from weft.hooks.port import Hooks
from weft.permissions.port import Gate
from weft.protocols.fold import unfold
from weft.schema.commands import (
    AppCall,
    Cancel,
    Command,
    Compact,
    Complete,
    DropPrompt,
    InputGiven,
    PermissionAnswered,
    PlanAnswered,
    Prompt,
    QuestionAnswered,
    Rewind,
    ServerCommand,
    SetMode,
    SetModel,
    SetThinking,
    SetTitle,
    StopTask,
)
from weft.schema.content import Content, Text, text_of
from weft.schema.events import (
    AgentEvent,
    MessageDone,
    Notice,
    QueueChanged,
    Reported,
    SessionInfo,
    SessionStarted,
    TurnEnded,
    TurnReason,
    TurnStarted,
)
from weft.schema.ids import new_id
from weft.schema.messages import Reply
from weft.schema.wire import as_blocks
from weft.settings import Settings

logger = logging.getLogger(__name__)


class Session:
    """Implements `Connection` for the agent in this process (see `connect/local`)."""

    def __init__(
        self,
        *,
        state: State,
        channel: Channel,
        asks: Asks,
        intake: Intake,
        hooks: Hooks,
        moments: Moments,
        limits: Limits,
        thread: Thread,
        control: Control,
        resumed: bool = False,
        source: StartSource = "startup",
        setup: str = "",
        replay: Callable[[], Iterable[AgentEvent]] | None = None,
        brief: bool = False,
        opening: Callable[[], Awaitable[Content]] | None = None,
        resources: Sequence[AbstractAsyncContextManager[object]] = (),
        notes: Iterable[Notice] = (),
        background: Callable[[], bool] = lambda: False,
        began: Callable[[str], None] = lambda _prompt_id: None,
        followups: Callable[[], AgentEvent | None] = lambda: None,
        gate: Gate,
        settings: Settings,
    ) -> None:
        self.state = state
        self.channel = channel
        self.asks = asks
        self.intake = intake
        self.hooks = hooks
        self.moments = moments
        self.limits = limits
        self.thread = thread
        self.control = control
        self._resumed = resumed
        self._source: StartSource = source
        self._setup = setup
        self._begun = anyio.Event()
        self._replay = replay
        self._brief = brief
        self._opening = opening
        self._resources = resources
        self._notes = notes
        self._background = background
        self._began = began
        self._followups = followups
        self.gate = gate
        self.settings = settings
        self._inbox = Inbox(lambda prompts: channel.put(QueueChanged(prompts=prompts)))
        self._scope: anyio.CancelScope | None = None
        self.turn: Turn | None = None
        self._idle = anyio.Event()
        self._idle.set()
        self.stack = ExitStack()

    async def __aenter__(self) -> Self:
        started = SessionStarted(info=self.state.info(brief=self._brief), resumed=self._resumed)
        async with ExitStack() as stack:
            for resource in self._resources:
                await stack.enter_async_context(resource)
            self.group = await stack.enter_async_context(anyio.create_task_group())
            self.stack = stack.pop_all()
        self.channel.put(started)
        for note in self._notes:
            self.channel.put(note)
        for event in self._replay() if self._replay is not None else ():
            self.channel.put(event)
        self.moments.later = self.group.start_soon
        self.group.start_soon(self._begin)
        self.group.start_soon(self._serve)
        self.group.start_soon(self.moments.follow)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """What was raised in the block is the caller's: it passes through as it is, never inside a group."""
        await self.moments.end("other")
        self.group.cancel_scope.cancel()
        try:
            await self.stack.__aexit__(None, None, None)
            return None
        finally:
            self.thread.history.scribe.sync()
            self.channel.close()

    @property
    def info(self) -> SessionInfo:
        return self.state.info()

    def queue(self) -> tuple[Prompt, ...]:
        """The prompts that wait."""
        return self._inbox.waiting

    @property
    def busy(self) -> bool:
        return self.turn is not None or len(self._inbox) > 0

    def events(self) -> AsyncIterator[AgentEvent]:
        return aiter(self.channel)

    def bursts(self) -> AsyncIterator[list[AgentEvent]]:
        """The same events, in lists of those that wait. One reader, here or there."""
        return self.channel.bursts()

    async def finish(self) -> None:
        """No more prompts will come from outside: waits for those that did and for background work, then closes the
        events."""
        while self.busy or self._background():
            self._idle = anyio.Event()
            await self._idle.wait()
        self._inbox.close()
        self.channel.close()

    def stir(self) -> None:
        """Something that `finish` waits for may have changed."""
        self._idle.set()

    async def send(self, command: Command) -> None:
        match command:
            case Prompt():
                self.inbox_put(command)
            case DropPrompt():
                self._inbox.drop(command)
            case Cancel(drop_queue=drop_queue):
                if drop_queue:
                    self._inbox.clear()
                if self._scope is not None:
                    self._scope.cancel()
            case PermissionAnswered() | QuestionAnswered() | PlanAnswered() | InputGiven():
                self.asks.answer(command)
            case _:
                await self._control(command)

    def inbox_put(self, prompt: Prompt) -> None:
        """A prompt of the person, or one that background work has brought."""
        named = prompt if prompt.id else msgspec.structs.replace(prompt, id=new_id())
        self._inbox.put(named, busy=self.turn is not None)

    async def _control(self, command: Command) -> None:
        try:
            await self._apply(command)
        except UsageError as error:
            self._notice(str(error), "warning")

    async def _apply(self, command: Command) -> None:
        match command:
            case SetMode(mode=mode):
                self.state.set_mode(mode)
            case SetModel(model=model):
                await self._switch(model)
            case SetThinking(thinking=thinking):
                self.state.thinking = thinking
                self.state.changed("thinking")
            case SetTitle(title=title):
                self.state.set_title(title)
                self.thread.history.scribe.mark("custom-title", {"customTitle": title})
            case Compact(instructions=instructions):
                await self._compact(instructions)
            case Rewind():
                if self.turn is not None:
                    raise UsageError("A turn is running; stop it before rewinding.")
                self._notice(await self.control.rewind(command), tag="rewind")
            case StopTask(task_id=task_id):
                await self.control.stop_task(task_id)
            case ServerCommand():
                await self.control.server(command)
            case AppCall():
                self.group.start_soon(self.control.app_call, command)
            case Complete():
                self.group.start_soon(self._complete, command)
            case _:
                raise UsageError(f"{type(command).__name__} cannot be used here.")

    async def _complete(self, command: Complete) -> None:
        self.channel.put(Reported(report=await self.control.complete(command)))

    async def _switch(self, model: str | None) -> None:
        old = self.state.model
        if objection := await self.moments.may_switch(model or self.state.default_model):
            raise UsageError(f"The model stays {old}: {objection}")
        await self.control.set_model(model)
        await self.moments.switched(old)

    async def _compact(self, instructions: str) -> None:
        """Between turns only: a running turn compacts by itself when it must."""
        self._inbox.put(Prompt(f"/compact {instructions}".strip(), id=new_id(), steer=False), busy=self.busy)

    def _notice(self, text: str, level: Literal["info", "warning"] = "info", tag: str = "") -> None:
        self.channel.put(Notice(text=text, level=level, tag=tag))

    # --- turns ----------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        while (prompt := await self._next_prompt()) is not None:
            await self._one_turn(prompt)
            self._idle.set()

    async def _next_prompt(self) -> Prompt | None:
        if self.asks.kinds and self.hooks.wants("Notification"):
            with anyio.move_on_after(IDLE_AFTER):
                return await self._inbox.next()
            await self.moments.idle()
        return await self._inbox.next()

    async def _begin(self) -> None:
        """Beside everything else: only the first turn waits for it, and a cancel of that turn ends the wait."""
        await self.moments.begin(self._source, self._setup)
        self._begun.set()

    async def _one_turn(self, prompt: Prompt) -> None:
        turn = self.turn = Turn(new_id())
        self.state.prompt_id = prompt.id
        self.channel.put(TurnStarted(turn_id=turn.id, prompt_ids=(prompt.id,), origin=prompt.origin))
        reason: TurnReason = "cancelled"
        text, error = "", None
        with anyio.CancelScope() as scope:
            self._scope = scope
            try:
                reason, text = await self._work(prompt, turn)
            except anyio.get_cancelled_exc_class():
                if not scope.cancel_called and not turn.asked:
                    keep(self.thread.history, prompt, turn)  # The session ends here.
                raise
            except TurnOver as over:
                reason, error = over.reason, over.message
            except WeftError as failure:
                logger.debug("a turn failed", exc_info=True)
                reason, error = "error", failure.whole
            except Exception as failure:
                logger.exception("a turn failed")
                reason, error = "error", f"Weft failed: {failure.__class__.__name__}: {failure}"
        self._scope = None
        if reason in ("error", "prompt_too_long"):
            await self.moments.failed(error or "", turn.error_kind or "unknown", turn.said)
        try:
            self._write_end(prompt, turn, reason)
        except SessionError as failure:
            # A log that cannot be written must not keep the turn from ending: it is told, once.
            logger.debug("the end of a turn was not written", exc_info=True)
            error = error or str(failure)
        self._end_turn(turn, reason, text, error)

    def _write_end(self, prompt: Prompt, turn: Turn, reason: TurnReason) -> None:
        history = self.thread.history
        if reason in ("cancelled", "error") and not turn.asked:
            keep(history, prompt, turn)
        if reason == "cancelled" and turn.asked:
            mark_interrupt(history, turn)
        ledger = self.limits.ledger
        ledger.add_turn(turn.seconds)
        history.scribe.mark(*ledger.to_mark())
        history.scribe.sync()

    def _end_turn(self, turn: Turn, reason: TurnReason, text: str, error: str | None) -> None:
        ledger = self.limits.ledger
        self.turn = None
        if reason == "completed" and (offer := self._followups()) is not None:
            self.channel.put(offer)
        self.channel.put(
            TurnEnded(
                turn_id=turn.id,
                reason=reason,
                text=text,
                error=error,
                error_kind=turn.error_kind,
                error_status=turn.error_status,
                stop_reason=turn.stop_reason,
                steps=turn.steps,
                user_messages=turn.user_messages,
                usage=turn.usage,
                cost=turn.cost,
                total_cost=ledger.total_cost,
                models=ledger.models(),
                totals=ledger.totals,
                duration=turn.seconds,
                api_duration=turn.api_seconds,
                first_token=turn.first_token,
                denials=tuple(turn.denials),
                structured=turn.structured,
                has_structured=turn.has_structured,
                interrupted=turn.phase if reason == "cancelled" else None,
                deferred=turn.deferred,
            )
        )

    async def _work(self, prompt: Prompt, turn: Turn) -> tuple[TurnReason, str]:
        turn.vetted = not self.hooks.wants("UserPromptSubmit")
        await self._begun.wait()
        blocked, context = await self.moments.submitted(text_of(prompt.content))
        if blocked:
            return self._blocked(blocked)
        turn.vetted = True
        taken = await self.intake.take(prompt)
        turn.own, turn.shell = not taken.content, taken.shell
        if taken.command and taken.content:
            blocked, more = await self.moments.expanded(taken.command, text_of(prompt.content), text_of(taken.content))
            if blocked:
                return self._blocked(blocked)
            context += more
        said = await self._before_model(taken)
        if turn.own:
            turn.shell = None
            return "local_command", taken.local or said
        history = self.thread.history
        opening = await self._opening() if self._opening is not None and unopened(history) else ()
        self._began(prompt.id)
        before = opening + self.moments.take() + taken.reminders + tuple(Text(note) for note in context)
        history.add_prompt(
            taken.content, record_id=prompt.id, synthetic=prompt.synthetic, mode=self.state.mode, before=before
        )
        turn.asked = True
        history.scribe.mark("last-prompt", {"lastPrompt": text_of(taken.content)[:2000], "leafUuid": prompt.id})
        async with granted(taken, self.state, self.control.set_model, self._notice):
            if taken.agent is not None:
                return "completed", await self._delegated(taken.agent, taken)
            reply = await self.thread.run(turn)
        if turn.has_structured:
            import json

            return "completed", json.dumps(turn.structured, ensure_ascii=False)
        return "completed", _last_text(reply)

    def _blocked(self, words: str) -> tuple[TurnReason, str]:
        self._notice(words, "warning", "prompt_blocked")
        return "hook_stopped", words

    async def _delegated(self, agent: str, taken: Taken) -> str:
        """The agent's answer, in the history as the reply to the command."""
        text = await self.control.delegate(agent, taken.command, taken.reminders + taken.content)
        reply = Reply(id=f"msg_{new_id()}", model=self.state.model, content=(Text(text),), stop_reason="end_turn")
        shown = Accumulator(self.channel.put, reply.model, None)
        for event in unfold(reply):
            shown.feed(event)
        uuid = self.thread.history.add_reply(reply)
        self.channel.put(MessageDone(reply=reply, uuid=uuid))
        return text

    async def _before_model(self, taken: Taken) -> str:
        """Applies what the prompt asked of the session itself; what there is to say about that."""
        said = ""
        if taken.clear:
            await self.moments.end("clear")
            await self.control.clear()
            await self.moments.begin("clear")
        for command in taken.commands:
            if isinstance(command, Compact):
                said = await self.control.compact(self.thread.history, command.instructions)
            else:
                await self._control(command)
        if taken.shell is not None:
            output = await self.control.shell(taken.shell)
            self.thread.history.add_prompt((Text(output),))
        return said

    async def steering(self) -> list[Addition]:
        """Prompts that came while tools ran, ready to join the turn."""
        await self.moments.look()
        said = self.moments.take()
        found = [Addition(said, synthetic=True)] if said else []
        for prompt in self._inbox.take_steering():
            taken = await self.intake.take(prompt)
            content = taken.reminders + taken.content
            found.append(Addition(content or as_blocks(prompt.content), id=prompt.id))
            if self.turn is not None:
                self.turn.user_messages += 1
        return found


def _last_text(reply: Reply) -> str:
    texts = [block.text for block in reply.content if isinstance(block, Text)]
    return texts[-1] if texts else ""
