"""What the host needs from below, as small protocols: it knows no store, no settings file and no agent by name."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol, TypeAlias

import msgspec

from weft.connect.port import Connection
from weft.schema.content import Json
from weft.schema.events import AgentEvent, Mode
from weft.schema.messages import ThinkingConfig
from weft.surfaces.web.frames import AgentState, Row


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """An agent to be started for a conversation. With `resume`, its session goes on: `agent_session` if the agent
    gave it an id of its own, else `session_id`."""

    session_id: str
    folder: str
    resume: bool = False
    agent_session: str = ""
    directories: tuple[str, ...] = ()
    agent: str = "weft"
    model: str | None = None
    mode: Mode | None = None
    thinking: ThinkingConfig | None = None


OpenAgent: TypeAlias = Callable[[Opening], Connection]


class Shelf(Protocol):
    """The conversations on disk. Calls may take as long as a disk does; the host makes them on a thread.

    Raises:
        SessionError: no such session, or it cannot be read or written.
    """

    def rows(self, folders: Sequence[str]) -> Sequence[Row]:
        """Newest first."""
        ...

    def events(self, session_id: str) -> Sequence[AgentEvent]:
        """What was said, as events that are marked as a replay."""
        ...

    def search(self, query: str, folders: Sequence[str]) -> Sequence[str]:
        """The ids of conversations in which the words stand."""
        ...

    def rename(self, session_id: str, title: str) -> None: ...

    def delete(self, session_id: str) -> None: ...

    def fork(self, session_id: str, folder: str, until: str | None) -> str:
        """The id of the copy, cut before the user message `until`."""
        ...


class Talk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation with another agent, as it is kept. `sessions` are the agent's own names for it, the latest last;
    `named` tells that the person gave it its title."""

    id: str
    agent: str
    folder: str
    title: str = ""
    updated: float = 0.0
    sessions: tuple[str, ...] = ()
    model: str | None = None
    named: bool = False
    deleted: bool = False

    @property
    def row(self) -> Row:
        return Row(id=self.id, title=self.title, folder=self.folder, agent=self.agent, updated=self.updated)


class Keeper(Protocol):
    """Where conversations with other agents are kept. Writing never raises: a conversation goes on without it.

    Raises:
        SessionError: one cannot be read.
    """

    def talks(self, folders: Sequence[str]) -> Sequence[Talk]:
        """Newest first; deleted ones too, because the agent's own session of them may still be there."""
        ...

    def events(self, talk: Talk) -> Sequence[AgentEvent]:
        """What was said, marked as a replay."""
        ...

    def save(self, talk: Talk) -> None: ...

    def add(self, talk: Talk, event: AgentEvent) -> None: ...

    def cut(self, talk: Talk, message_id: str) -> None:
        """The user message and all after it were taken back."""
        ...

    def search(self, query: str, folders: Sequence[str]) -> Sequence[str]: ...

    def delete(self, talk: Talk) -> None: ...


class Agents(Protocol):
    """The agents that can be talked to; finding and checking them is cached below."""

    async def list(self, *, check: str | None = None, fresh: bool = False) -> Sequence[AgentState]:
        """All of them. `check` is tried out before the list is made; `fresh` forgets what was known."""
        ...


class Panels(Protocol):
    """Settings, permissions and usage, as data for the page."""

    def names(self) -> Sequence[str]: ...

    async def read(self, panel: str, folder: str) -> Json: ...

    async def set_setting(self, key: str, value: object, layer: str, folder: str) -> None: ...

    async def remove_rule(self, rule: str, behavior: str, layer: str, folder: str) -> None: ...


class EditorSight(msgspec.Struct, frozen=True):
    """What an attached editor shows. Lines count from 1."""

    path: str = ""
    text: str = ""
    line_start: int = 0
    line_end: int = 0


WatchEditor: TypeAlias = Callable[[Callable[[EditorSight | None], None]], Coroutine[object, object, None]]
"""Calls back with each change of what the editor shows, until it is cancelled."""
