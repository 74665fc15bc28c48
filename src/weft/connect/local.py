"""The agent in this process, behind the same port as any other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from weft.agent.session import Session
from weft.schema.commands import Command
from weft.schema.events import AgentEvent, SessionInfo


class LocalConnection:
    """Opens a session when it is entered. `build` makes it; nothing is built before."""

    def __init__(self, build: Callable[[], Awaitable[Session]]) -> None:
        self._build = build
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        assert self._session is not None, "the connection was not entered"
        return self._session

    async def __aenter__(self) -> Self:
        session = await self._build()
        await session.__aenter__()
        self._session = session
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.session.__aexit__(kind, error, trace)

    @property
    def info(self) -> SessionInfo:
        return self.session.info

    async def send(self, command: Command) -> None:
        await self.session.send(command)

    def events(self) -> AsyncIterator[AgentEvent]:
        return self.session.events()

    def bursts(self) -> AsyncIterator[list[AgentEvent]]:
        """The same events, in lists of those that wait."""
        return self.session.bursts()

    async def finish(self) -> None:
        await self.session.finish()
