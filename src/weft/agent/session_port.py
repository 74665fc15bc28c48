"""What a session is built on: a thread of work, and what it does for commands that are not prompts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from weft.agent.history import History
from weft.agent.turn import Turn
from weft.schema.commands import AppCall, Complete, Rewind, ServerCommand
from weft.schema.content import Content, Json
from weft.schema.events import Completed, TaskInfo
from weft.schema.messages import Reply


class Thread(Protocol):
    """One history with a loop on it: the main conversation, or a subagent."""

    @property
    def history(self) -> History: ...

    async def run(self, turn: Turn) -> Reply: ...


class Control(Protocol):
    """What a session does for commands that are not prompts. Each takes effect at once or says why not.

    Raises:
        UsageError: it cannot be done; the sentence becomes a notice.
    """

    async def set_model(self, model: str | None) -> None: ...

    async def compact(self, history: History, instructions: str) -> str:
        """What was done, for the person."""
        ...

    async def rewind(self, command: Rewind) -> str: ...

    async def rewind_files(self, message_id: str, *, dry_run: bool) -> Json: ...

    async def context_usage(self) -> Json: ...

    async def clear(self) -> None:
        """A new conversation, with a new id and an empty history."""
        ...

    async def stop_task(self, task_id: str) -> None: ...

    async def server(self, command: ServerCommand) -> None: ...

    def tasks(self) -> Sequence[TaskInfo]:
        """Background commands and subagents, running or ended."""
        ...

    async def read(self, path: Path) -> bytes: ...

    async def set_servers(self, servers: Json) -> Json:
        """The caller's own MCP servers from now on: what was added and removed, and what could not be."""
        ...

    async def app_call(self, command: AppCall) -> None:
        """Always ends in a `ToolEnded` with the command's id."""
        ...

    async def complete(self, command: Complete) -> Completed:
        """What could come next in a prompt that is being typed."""
        ...

    async def delegate(self, agent: str, name: str, content: Content) -> str:
        """What the agent answers when it is given the work of the command `name`."""
        ...

    async def shell(self, command: str) -> str:
        """A `!command` of the person, through the gate; its output."""
        ...
