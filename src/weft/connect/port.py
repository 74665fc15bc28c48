"""The port to a live agent, whoever wrote it: what surfaces know, and all that they know."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from weft.schema.commands import Command
from weft.schema.events import AgentEvent, SessionInfo


class Connection(Protocol):
    """An agent with one session. Entered, it has a session; left, everything that it started is gone.

    `events` is for one reader and ends when the agent does. `SessionStarted` is first. A turn is always closed by
    `TurnEnded`, also when the agent dies. Deltas (`Streamed`) may merge when the reader is slow; nothing else is lost.
    `send` never waits for a turn; it may wait for the pipe.

    Raises:
        ConnectionLost: on `send` or on entering, when the agent cannot be reached.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...

    @property
    def info(self) -> SessionInfo:
        """The latest of `SessionStarted` and `SessionChanged`."""
        ...

    async def send(self, command: Command) -> None: ...

    def events(self) -> AsyncIterator[AgentEvent]: ...


@runtime_checkable
class Finishing(Protocol):
    """A connection that knows when nothing more will come of itself."""

    async def finish(self) -> None:
        """No more prompts will be sent: returns when those that were are done and no background work runs; then the
        events end."""
        ...
