"""One conversation: its agent, its view model, and the commands that wait to be taken. Knows no widget."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic, perf_counter
from typing import TypeAlias, cast

import anyio
import anyio.lowlevel
import msgspec

from weft.connect.port import Connection
from weft.errors import ConnectionLost, WeftError
from weft.schema import commands as c
from weft.schema import events as e
from weft.surfaces.completing import Completing
from weft.surfaces.terminal.model import Model

log = logging.getLogger(__name__)

SLICE = 0.004
"""Seconds of events that are taken before keys have their turn."""


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversation is wanted. `first` is the one that the command line asked for, with all its flags."""

    first: bool = False
    resume: str | None = None
    fork: bool = False
    agent: str | None = None
    model: str | None = None


OpenAgent: TypeAlias = Callable[[Opening], Awaitable[Connection]]


class Conversation:
    """`changed` is called after events were taken, often; it must be quick. `failed` is why there is no agent."""

    def __init__(self, opening: Opening, start: OpenAgent, changed: Callable[["Conversation"], None]) -> None:
        self.opening = opening
        self.model = Model()
        self.failed: WeftError | None = None
        self.live = False
        self.draft = ""
        self.key = ""
        """The widget that shows it."""
        self._start = start
        self._changed = changed
        self._commands: deque[c.Command] = deque()
        self._some = anyio.Event()
        self._life = anyio.CancelScope()
        self._settled = anyio.Event()
        self._completing = Completing(self.send)

    @property
    def title(self) -> str:
        info = self.model.info
        if info is not None and info.title:
            return info.title
        prompts = self.model.prompts()
        return " ".join(prompts[0].text.split()) if prompts else ""

    @property
    def state(self) -> str:
        if self.model.asks:
            return "asking"
        return "running" if self.model.running else "failed" if self.failed is not None else "idle"

    def send(self, command: c.Command) -> None:
        """Hands a command on, in order, as soon as the agent takes it. Never waits."""
        if isinstance(command, c.PermissionAnswered | c.QuestionAnswered | c.PlanAnswered | c.InputGiven):
            self.model.answered(command.request_id)
            self._changed(self)
        self._commands.append(command)
        self._some.set()

    async def complete(self, text: str) -> e.Completed:
        """What could come next after `text`, as far as only the agent knows."""
        return await self._completing.ask(text) if self.live else e.Completed(id="")

    def close(self) -> None:
        """Ends the agent and all that it started."""
        self._life.cancel()

    async def settled(self) -> None:
        """Waits until the agent is there, or is known not to come."""
        await self._settled.wait()

    async def run(self) -> None:
        """Starts the agent, and again when a command comes after it was lost. Until `close`."""
        with self._life:
            while True:
                await self._live()
                self._changed(self)
                while not any(isinstance(command, c.Prompt) for command in self._commands):
                    self._commands.clear()
                    await self._wait()

    async def _wait(self) -> None:
        await self._some.wait()
        self._some = anyio.Event()

    async def _live(self) -> None:
        try:
            connection = await self._start(self.opening)
            async with connection:
                self.live, self.failed = True, None
                self._settled.set()
                await self._drive(connection)
            self._lost(ConnectionLost("The agent has ended.", hint="Your next message starts it again."))
        except WeftError as error:
            self._lost(error)
        except Exception as error:  # the boundary to an agent: whatever it raises is shown, never passed on
            log.exception("the agent of a conversation failed")
            self._lost(ConnectionLost(f"The agent failed: {_innermost(error)}"))
        finally:
            self.live = False

    async def _drive(self, connection: Connection) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._pass_on, connection)
            began = perf_counter()
            async for event in connection.events():
                if isinstance(event, e.Reported) and isinstance(event.report, e.Completed):
                    self._completing.take(event.report)
                    continue
                self.model.apply(event, monotonic())
                self._remember(event)
                self._changed(self)
                if perf_counter() - began > SLICE:
                    await anyio.lowlevel.checkpoint()
                    began = perf_counter()
            group.cancel_scope.cancel()

    async def _pass_on(self, connection: Connection) -> None:
        while True:
            while self._commands:
                try:
                    await connection.send(self._commands.popleft())
                except ConnectionLost as error:
                    self.model.note(str(error), "error")
                    self._changed(self)
            await self._wait()

    def _remember(self, event: e.AgentEvent) -> None:
        """An agent that is started again goes on with the same session."""
        if isinstance(event, e.TurnStarted) and self.model.info is not None:
            self.opening = msgspec.structs.replace(self.opening, resume=self.model.info.session_id, fork=False)

    def _lost(self, error: WeftError) -> None:
        self.failed = error
        self._settled.set()
        if self.model.running:
            self.model.apply(e.TurnEnded(turn_id="", reason="cancelled"), monotonic())
        self.model.note(error.whole, "error")


def _innermost(error: BaseException) -> str:
    """Task groups wrap what their children raise; a person wants the one thing that went wrong."""
    if isinstance(error, BaseExceptionGroup):
        return _innermost(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return str(error) or type(error).__name__
