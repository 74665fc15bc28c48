"""Agents other than our own, for the page: found, checked when they are first used, and opened by name."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from weft import __version__
from weft.connect.agents import AgentRequest, open_agent
from weft.connect.availability import Availability, AvailabilityCache, check
from weft.connect.port import Connection
from weft.connect.registry import KnownAgent, known_agents
from weft.errors import ConnectionLost
from weft.schema.commands import Command
from weft.schema.events import AgentEvent, Notice, SessionInfo
from weft.surfaces.web.frames import AgentState
from weft.surfaces.web.hub import OWN
from weft.surfaces.web.ports import Opening

EDITOR = "editor"
"""Not an agent: the page is the editor that agents in a terminal attach to."""


class KnownAgents:
    """Implements `Agents` over the registry. Nothing is started before somebody wants to talk to it."""

    def __init__(self, extra: Sequence[str] = (), cwd: Path | None = None) -> None:
        self._extra = tuple(name for name in extra if name not in (OWN, EDITOR))
        self._cwd = cwd
        self._cache = AvailabilityCache(self._check)
        self._seen: dict[str, Availability] = {}

    async def list(self, *, check: str | None = None, fresh: bool = False) -> Sequence[AgentState]:
        known = known_agents()
        if fresh:
            self._cache.clear()
            self._seen.clear()
        if check is not None and check != OWN and check in known:
            self._seen[check] = await self._cache.get(check)
        own = AgentState(name=OWN, title="Weft", available=True, version=__version__)
        others = [self._state(agent) for name, agent in known.items() if name != OWN]
        named = [AgentState(name=name, title=name) for name in self._extra if name not in known]
        editor = AgentState(name=EDITOR, title="An editor for agents elsewhere", available=True)
        return [own, *named, *others, editor]

    def _state(self, agent: KnownAgent) -> AgentState:
        seen = self._seen.get(agent.name)
        if seen is None:
            return AgentState(name=agent.name, title=agent.title)
        return AgentState(
            name=agent.name,
            title=agent.title,
            available=seen.usable,
            version=seen.version,
            detail=f"{agent.title}: {seen.problem}" if seen.problem else "",
            hint=seen.hint,
        )

    async def _check(self, name: str) -> Availability:
        return await check(known_agents()[name], cwd=self._cwd)


class NamedAgent:
    """A `Connection` to an agent by its name, found when it is entered. A session that it cannot go on with begins
    anew, and the person is told."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._inner: Connection | None = None
        self._notice: Notice | None = None

    @property
    def _connection(self) -> Connection:
        assert self._inner is not None, "the connection was not entered"
        return self._inner

    @property
    def info(self) -> SessionInfo:
        return self._connection.info

    async def __aenter__(self) -> Self:
        opening = self._opening
        request = AgentRequest(
            cwd=Path(opening.folder),
            session_id=opening.agent_session if opening.resume else "",
            directories=tuple(Path(folder) for folder in opening.directories),
            mode=opening.mode,
            model=opening.model,
        )
        try:
            self._inner = await _entered(opening.agent, request)
        except ConnectionLost as error:
            if not request.session_id:
                raise
            self._inner = await _entered(opening.agent, msgspec.structs.replace(request, session_id=""))
            words = "The agent could not go on with its earlier session, and knows nothing of what was said before"
            self._notice = Notice(text=f"{words}: {error}", level="warning", tag="resume")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._connection.__aexit__(kind, error, trace)

    async def send(self, command: Command) -> None:
        await self._connection.send(command)

    async def events(self) -> AsyncIterator[AgentEvent]:
        async for event in self._connection.events():
            yield event
            if self._notice is not None:
                notice, self._notice = self._notice, None
                yield notice


async def _entered(agent: str, request: AgentRequest) -> Connection:
    connection = await open_agent(agent, request)
    return await connection.__aenter__()
