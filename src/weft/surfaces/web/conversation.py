"""One conversation: its agent, what was said, and the pages that look at it.

The agent is started by the first prompt. It goes on when nobody looks. Pages get each chunk once, numbered; the
first answer to a request counts and closes it for every page.
"""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal, Protocol, cast

import anyio
import anyio.abc
import msgspec
from anyio import to_thread

from weft.connect.port import Connection
from weft.errors import ConnectionLost, WeftError
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import text_of
from weft.schema.messages import ThinkingConfig
from weft.surfaces.completing import Completing
from weft.surfaces.web.export import Transcript
from weft.surfaces.web.frames import Chunked, ConversationOpened, Row, encode_frame
from weft.surfaces.web.log import ChunkLog
from weft.surfaces.web.past import MARK as PAST
from weft.surfaces.web.past import Past
from weft.surfaces.web.plans import MARK, UnaskedPlans, to_commands
from weft.surfaces.web.ports import Keeper, OpenAgent, Opening, Talk
from weft.surfaces.web.stream import (
    Ask,
    AskClosed,
    ErrorChunk,
    Session,
    StreamChunk,
    TurnEnd,
)
from weft.surfaces.web.weave import Weaver

log = logging.getLogger(__name__)

FLUSH = 0.03
"""Seconds that a piece of text may wait for the next one."""
SLOWEST = 0.5
START = 120.0
"""Seconds that an agent may take to start."""
WAITING = 256
"""Commands that may wait for an agent that does not take them."""


KEYS = 100
"""Messages of pages that are known again when they come twice."""


class Viewer(Protocol):
    """A page: takes encoded frames, and never waits."""

    def push(self, frame: str) -> None: ...


class Conversation:
    """`changed` is called when its row in the list is another one. With a `keeper`, what is said is kept there: our
    own agent keeps its sessions itself. `talk` is what was kept of it before."""

    def __init__(
        self,
        opening: Opening,
        start: OpenAgent,
        changed: Callable[[], None],
        *,
        title: str = "",
        updated: float = 0.0,
        keeper: Keeper | None = None,
        talk: Talk | None = None,
    ) -> None:
        self.opening = opening
        self.title = title
        self._keeper = keeper
        self._talk = talk
        self._begun = opening.resume
        self.updated = updated or time.time()
        self.log = ChunkLog()
        self.transcript = Transcript()
        self.entry = anyio.Lock()
        """Prompts go in one at a time, in the order in which they came."""
        self.arrived: deque[str] = deque(maxlen=KEYS)
        """The keys of the last messages that pages sent."""
        self.viewers: set[Viewer] = set()
        self.info: e.SessionInfo | None = None
        self._start = start
        self._changed = changed
        self._weaver = Weaver()
        self._plans = UnaskedPlans()
        self._past = Past()
        self._going_far_back = anyio.Lock()
        self._running = False
        self._lost = False
        self._stopped = False
        self._shown_before = opening.resume
        self._life: anyio.CancelScope | None = None
        self._going_back = ""
        self._previews: dict[str, e.PermissionAsked] = {}
        self._commands: deque[c.Command] = deque()
        self._some = anyio.Event()
        self._dirty = anyio.Event()
        self._pace = FLUSH
        self._completing = Completing(self._put)

    @property
    def id(self) -> str:
        return self.opening.session_id

    @property
    def live(self) -> bool:
        return self._life is not None

    @property
    def used(self) -> bool:
        """Whether anything was said in it."""
        return bool(self.title) or self._begun

    @property
    def running(self) -> bool:
        return self._running

    @property
    def state(self) -> Literal["idle", "running", "asking", "lost"]:
        return "asking" if self.log.asks else "running" if self._running else "lost" if self._lost else "idle"

    @property
    def row(self) -> Row:
        return Row(
            id=self.id,
            title=self.title,
            folder=self.opening.folder,
            agent=self.opening.agent,
            updated=self.updated,
            state=self.state,
            live=self.live,
        )

    # --- pages ----------------------------------------------------------------------------------------------

    def watch(self, viewer: Viewer, seen: int | None) -> None:
        """Sends what the page has not seen: the missing chunks, or all of it in short."""
        missed = None if seen is None else self.log.since(seen)
        if missed is None:
            opened = self._whole()
        else:
            opened = ConversationOpened(row=self.row, seq=seen or 0, chunks=(), resumed=True)
        viewer.push(encode_frame(opened))
        for frame in missed or ():
            viewer.push(frame)
        self.viewers.add(viewer)

    def publish(self, chunks: Iterable[StreamChunk]) -> None:
        for chunk in chunks:
            seq = self.log.add(chunk)
            frame = encode_frame(Chunked(conversation=self.id, seq=seq, chunk=chunk))
            self.log.keep(seq, frame)
            for viewer in tuple(self.viewers):
                viewer.push(frame)

    def replay(self, events: Iterable[e.AgentEvent]) -> None:
        """Shows what was said before, without an agent: its end at once, the rest when a page asks for it."""
        events = list(events)
        for event in events:
            self.transcript.take(event)
        self._past = Past(events)
        self.publish(self._past.take())

    async def older(self, key: str) -> tuple[tuple[StreamChunk, ...], str | None]:
        """The part before `key`, and the key of what is before that. Rendering it holds nobody else up."""
        if not key.startswith(PAST):
            chunks, before = self.log.before(key)
            return chunks, before or self._before_all()
        async with self._going_far_back:
            shown = key.removeprefix(PAST)
            if shown != self.log.first:  # Another page went back before this one.
                chunks, before = self.log.before(shown, itself=False)
                if chunks:
                    return chunks, before or self._before_all()
            chunks = self.log.prepend(await to_thread.run_sync(self._past.take))
            return chunks, self._before_all()

    def _before_all(self) -> str | None:
        return PAST + self.log.first if self._past else None

    def _whole(self) -> ConversationOpened:
        chunks, older = self.log.tail()
        return ConversationOpened(row=self.row, seq=self.log.seq, chunks=chunks, older=older or self._before_all())

    def expect_rewind(self, message_id: str) -> None:
        """The message and all after it are forgotten when the agent says that it has gone back."""
        self._going_back = message_id

    def _go_back(self) -> None:
        if self._keeper is not None and self._talk is not None:
            self._keeper.cut(self._talk, self._going_back)
        self.log.cut(self._going_back)
        self.transcript.cut(self._going_back)
        self._going_back = ""
        self.reset()

    def reset(self) -> None:
        """Every page starts again from the short form."""
        frame = encode_frame(self._whole())
        for viewer in tuple(self.viewers):
            viewer.push(frame)

    # --- the agent ------------------------------------------------------------------------------------------

    async def send(self, command: c.Command, group: anyio.abc.TaskGroup) -> None:
        """Starts the agent if need be. Commands are taken in order.

        Raises:
            ConnectionLost: the agent has not taken the last ones.
        """
        self.wake(group)
        if len(self._commands) >= WAITING:
            raise ConnectionLost("The agent does not take any more messages")
        self._put(command)

    def wake(self, group: anyio.abc.TaskGroup) -> None:
        """Starts the agent, if it is not there."""
        if self._life is None:
            self._lost = self._stopped = False
            self._life = anyio.CancelScope()
            group.start_soon(self._live)

    async def answer(self, request_id: str, command: c.Answer, word: str) -> bool:
        """Gives the answer, if it is the first one. Tells whether it was."""
        if request_id not in self.log.asks or self._life is None:
            return False
        self._previews.pop(request_id, None)
        self.publish([AskClosed(request_id=request_id, answer=word)])
        self._changed()
        unasked = request_id.startswith(MARK)
        for each in to_commands(command) if unasked and isinstance(command, c.PlanAnswered) else (command,):
            self._put(each)
        return True

    async def complete(self, text: str) -> e.Completed:
        """What could come next after `text`, as far as only the agent knows; it is not started for this."""
        return await self._completing.ask(text) if self.live else e.Completed(id="")

    def _put(self, command: c.Command) -> None:
        self._commands.append(command)
        self._some.set()

    def ask(self, request_id: str) -> Ask | None:
        return self.log.asks.get(request_id)

    def asked(self, request_id: str) -> e.PermissionAsked | None:
        """The request as the agent made it, with its previews."""
        return self._previews.get(request_id)

    def stop(self) -> None:
        """Ends the agent and all that it started."""
        if self._life is not None:
            self._stopped = True
            self._life.cancel()

    def adopt(self, **changes: object) -> None:
        """Options for when the agent is started; of no effect on one that runs."""
        self.opening = msgspec.structs.replace(self.opening, **changes)

    async def _live(self) -> None:
        assert self._life is not None
        try:
            with self._life as life:
                life.deadline = anyio.current_time() + START
                await self._drive(life)
            if life.cancelled_caught and life.deadline < math.inf and not self._stopped:
                self._fail(f"The agent did not start in {START:g} seconds", "")
        except WeftError as error:
            self._fail(str(error), error.hint or "")
        except Exception as error:  # the boundary to an agent: whatever it raises is shown, never passed on
            log.exception("conversation %s: its agent failed", self.id)
            self._fail(f"The agent failed: {_innermost(error)}", "")
        finally:
            self._end()

    async def _drive(self, life: anyio.CancelScope) -> None:
        connection = self._start(self.opening)
        async with connection:
            life.deadline = math.inf
            async with anyio.create_task_group() as group:
                group.start_soon(self._pass_on, connection)
                group.start_soon(self._flush_often)
                async for event in connection.events():
                    self._take(event)
                group.cancel_scope.cancel()
        self.publish(self._weaver.flush())
        if not life.cancel_called:
            raise ConnectionLost("The agent has ended", hint="Send a message to start it again.")

    async def _pass_on(self, connection: Connection) -> None:
        while True:
            await self._some.wait()
            self._some = anyio.Event()
            while self._commands:
                try:
                    await connection.send(self._commands.popleft())
                except ConnectionLost as error:
                    self._fail(str(error), error.hint or "")

    async def _flush_often(self) -> None:
        while True:
            await self._dirty.wait()
            await anyio.sleep(self._pace)
            self._dirty = anyio.Event()
            began = time.perf_counter()
            self.publish(self._weaver.flush())
            # A long open block is dear to render: it is shown less often, for at most a fifth of the time.
            self._pace = min(SLOWEST, max(FLUSH, 4 * (time.perf_counter() - began)))

    def _take(self, event: e.AgentEvent) -> None:
        if self._shown_before and getattr(event, "replay", False):
            return
        before = self.state
        match event:
            case e.Reported(report=e.Completed() as completed):
                self._completing.take(completed)
                return
            case e.SessionStarted(info=info) | e.SessionChanged(info=info):
                self._learn(info)
            case e.TurnStarted():
                self._withdraw(MARK)
                self._running = True
                self.adopt(resume=True)
            case e.TurnEnded():
                self._running = False
                self._withdraw()
            case e.PermissionAsked(request_id=id):
                self._previews[id] = event
            case e.AskWithdrawn(request_id=id) if id not in self.log.asks:
                return
            case e.PromptAdded(synthetic=False, parent=None) if not self.title:
                self._begun = True
                self._title_from(event)
            case e.Notice(tag="rewind", level="info" | "notice") if self._going_back:
                self._go_back()
            case _:
                pass
        self.transcript.take(event)
        self.publish(self._weaver.weave(event))
        if (plan := self._plans.take(event, self.info, self.opening.agent)) is not None:
            self.publish(self._weaver.weave(plan))
        if self._weaver.held:
            self._dirty.set()
        if self.state != before:
            self.updated = time.time()
            self._changed()
        self._keep(event)

    def _keep(self, event: e.AgentEvent) -> None:
        if self._keeper is None or not self.used or isinstance(event, e.Streamed):
            return
        talk = self.talk
        if talk != self._talk:
            self._talk = talk
            self._keeper.save(talk)
        self._keeper.add(talk, event)

    @property
    def talk(self) -> Talk:
        """As it is kept."""
        before = self._talk.sessions if self._talk is not None else ()
        session = self.opening.agent_session
        return Talk(
            id=self.id,
            agent=self.opening.agent,
            folder=self.opening.folder,
            title=self.title,
            updated=self.updated,
            sessions=(*(known for known in before if known != session), session) if session else before,
            model=self.opening.model,
            named=self._talk is not None and self._talk.named,
        )

    def rename(self, title: str) -> None:
        """The person's own title: no agent changes it any more."""
        self.title = title
        if self._keeper is not None and self.used:
            self._talk = msgspec.structs.replace(self.talk, named=True)
            self._keeper.save(self._talk)
        self._changed()

    def keep_with(self, keeper: Keeper | None) -> None:
        """Before anything was said: who keeps it follows from its agent."""
        self._keeper = keeper

    def forget(self) -> None:
        """It was deleted: its agent ends, and nothing more is kept of it."""
        self._keeper = None
        self.stop()

    def _learn(self, info: e.SessionInfo) -> None:
        self.info = info
        self.adopt(
            model=info.model,
            mode=info.mode,
            thinking=info.thinking,
            agent_session=info.session_id or self.opening.agent_session,
        )
        if info.title and info.title != self.title and not (self._talk is not None and self._talk.named):
            self.title = info.title
            self._changed()

    def _title_from(self, event: e.PromptAdded) -> None:
        text = " ".join(text_of(event.content).replace("`", "").split())
        self.title = text[:80]
        self._changed()

    def _withdraw(self, beginning: str = "") -> None:
        for id in tuple(self.log.asks):
            if id.startswith(beginning):
                self.publish([AskClosed(request_id=id, reason="cancelled")])
                self._previews.pop(id, None)

    def _fail(self, message: str, hint: str) -> None:
        self._lost = True
        self.publish([*self._weaver.flush(), ErrorChunk(message=message, kind="connection", hint=hint)])

    def _end(self) -> None:
        self._life = None
        self._shown_before = True
        self._withdraw()
        if self._running:
            self._running = False
            self.publish([TurnEnd(id="", reason="error" if self._lost else "cancelled")])
        self._commands.clear()
        self._changed()

    # --- shown before there is an agent -----------------------------------------------------------------------

    def pretend(self, **changes: object) -> None:
        """A choice made before the agent runs is shown as if it had said so."""
        self.adopt(**changes)
        if self.info is not None:
            shown = {key: value for key, value in changes.items() if hasattr(self.info, key) and value is not None}
            self.info = msgspec.structs.replace(self.info, **shown)
            self.publish([Session(info=self.info, reason="chosen")])
        else:
            self.publish([Session(info=self.assumed(), reason="chosen")])

    def assumed(self) -> e.SessionInfo:
        """What is known of the session before it is there."""
        opening = self.opening
        return e.SessionInfo(
            session_id=self.id,
            cwd=opening.folder,
            model=opening.model or "",
            mode=opening.mode or "default",
            thinking=opening.thinking or ThinkingConfig(),
            title=self.title,
            directories=opening.directories,
            agent_name=opening.agent,
        )


def _innermost(error: BaseException) -> str:
    """Task groups wrap what their children raise; a person wants the one thing that went wrong."""
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = tuple(cast("ExceptionGroup[Exception]", error).exceptions)
        return _innermost(inner[0])
    return str(error) or type(error).__name__
