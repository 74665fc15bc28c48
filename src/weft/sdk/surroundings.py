"""What a subagent has to itself while it works: a worktree, MCP servers, a model's provider. Each ends with it."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import anyio

from weft.agent.definitions import AgentDefinition
from weft.agent.state import Aside
from weft.errors import ToolError, WorkspaceError
from weft.providers.port import Provider
from weft.schema.content import Json
from weft.schema.events import AgentEvent, Notice
from weft.tools.port import AnyTool

if TYPE_CHECKING:
    from weft.sdk.servers import Servers
    from weft.workspace.worktrees import Left, Worktree

log = logging.getLogger(__name__)

TIDY_LIMIT: Final = 30.0
START_LIMIT: Final = 30.0


class OwnFolder:
    """A git worktree. It stays when something was changed in it, and whoever gave the work is told where; otherwise
    nothing is left of it."""

    def __init__(self, plan: "Worktree", within: Path, state: Aside, allow: Callable[[str], None]) -> None:
        self._tree = plan
        self._within = within
        self._state = state
        self._allow = allow
        self._left: Left | None = None

    async def __aenter__(self) -> None:
        from weft.workspace.worktrees import make

        try:
            self._tree = await make(self._tree)
        except WorkspaceError as error:
            raise ToolError(f"The agent wants a worktree of its own. {error}") from error
        self._allow(str(self._tree.path))
        folder = self._tree.path / self._within
        self._state.move(folder if folder.is_dir() else self._tree.path)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from weft.workspace.worktrees import Left, left_in, remove

        self._left = Left(files=1)  # Until it is known better, there is something to lose.
        with anyio.move_on_after(TIDY_LIMIT, shield=True):
            try:
                self._left = await left_in(self._tree)
                if not self._left:
                    await remove(self._tree)
            except WorkspaceError as failure:
                log.warning("a worktree was left behind: %s", failure)

    def report(self) -> tuple[str, Json]:
        tree, left = self._tree, self._left
        if left is None or not left:
            return "", {}
        commits = f", {left.commits} {'commit' if left.commits == 1 else 'commits'}" if left.commits else ""
        files = f"{left.files} {'file' if left.files == 1 else 'files'} not committed"
        words = (
            f"The work was done in a git worktree of its own and is still there: {tree.path}, on the branch "
            f"{tree.branch} ({files}{commits}). Nothing was changed in {tree.root}. Look at it, take over what is "
            f"wanted, then remove it with: git worktree remove --force {tree.path}"
        )
        return words, {"worktreePath": str(tree.path), "worktreeBranch": tree.branch}


class OwnServers:
    """MCP servers that only this agent has. They are started before its first request, which waits for them."""

    def __init__(self, servers: "Servers", agent: AgentDefinition, emit: Callable[[AgentEvent], None]) -> None:
        self._servers = servers
        self._agent = agent
        self._emit = emit

    def tools(self) -> Iterable[AnyTool]:
        return self._servers.tools()

    async def __aenter__(self) -> None:
        await self._servers.host.__aenter__()
        self._servers.request_is_out()
        await self._servers.host.settle(START_LIMIT)
        for info in self._servers.infos():
            if info.state != "ready":
                words = f"The server {info.name} of the agent {self._agent.name} is {info.state}"
                text = f"{words}{f': {info.error}' if info.error else ''}."
                self._emit(Notice(text=text, level="warning", tag="mcp"))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._servers.host.__aexit__(kind, error, trace)

    def report(self) -> tuple[str, Json]:
        return "", {}


class OwnProvider:
    """The provider of another model than the session's."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.move_on_after(5, shield=True):
            await self._provider.aclose()

    def report(self) -> tuple[str, Json]:
        return "", {}
