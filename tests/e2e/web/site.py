"""The web host on a port of its own, in a thread of its own, with agents that play scripts."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.peers import peer_bin, peer_folder
from weft.schema.events import CommandInfo, ModelInfo, ServerInfo, SessionInfo
from weft.surfaces.files import Folders
from weft.surfaces.web.app import WebHost
from weft.surfaces.web.hub import Hub
from weft.surfaces.web.ports import Opening
from weft.testing.connection import ScriptedConnection, Turn

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --font-render-hinting=none"
)


def playwright() -> Any:
    """Playwright's own module, from the environment that the peer was installed into."""
    folder = peer_folder("playwright") / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    import playwright.sync_api as api  # pyright: ignore[reportMissingImports]

    return api


def launch(api: Any) -> Any:
    return _launch(api.chromium)


def relaunch(browser: Any, *flags: str) -> Any:
    """Another browser beside this one, with flags of its own."""
    return _launch(browser.browser_type, *flags)


def _launch(kind: Any, *flags: str) -> Any:
    return kind.launch(executable_path=str(peer_bin("chromium")), headless=True, args=[*FLAGS.split(), *flags])


class Site:
    """Serves `turns` to each conversation. `connections` has the agents that were started, in order."""

    def __init__(
        self,
        folder: Path,
        turns: Sequence[Turn] | Callable[[Opening], Sequence[Turn]] = (),
        **hub: Any,
    ) -> None:
        self.connections: list[ScriptedConnection] = []
        self.openings: list[Opening] = []
        self._turns = turns
        self._folder = folder
        self._commands: tuple[CommandInfo, ...] = hub.pop("commands", ())
        self._completes = hub.pop("completes", None)
        open_agent = hub.pop("open_agent", self._open)
        self._ancestors: Sequence[str] = hub.pop("ancestors", ())
        self.hub = Hub(Folders([folder]), open_agent, **hub)
        self._portal_context = start_blocking_portal("asyncio")

    def _open(self, opening: Opening) -> ScriptedConnection:
        info = SessionInfo(
            session_id=opening.session_id,
            cwd=opening.folder,
            model=opening.model or "loom-large",
            mode=opening.mode or "default",
            agent_version="1.0",
            agent_name=opening.agent,
            tools=("Read", "Edit", "Write", "Bash", "Grep", "WebFetch"),
            agents=("reviewer", "explorer"),
            commands=(
                CommandInfo("compact", "Make the conversation shorter", "[what to keep]"),
                CommandInfo("review", "Review the changes since the last commit"),
                CommandInfo("init", "Write a memory file for this project"),
                *self._commands,
            ),
            models=(
                ModelInfo("loom-large", "Loom Large", "For hard problems", 200_000),
                ModelInfo("loom-small", "Loom Small", "Quick and cheap", 128_000),
            ),
            servers=(
                ServerInfo("database", "ready", "project", tools=("query", "schema"), transport="stdio"),
                ServerInfo("tickets", "failed", "user", error="The server closed its output.", transport="http"),
            ),
        )
        turns = self._turns(opening) if callable(self._turns) else self._turns
        connection = ScriptedConnection(turns, info=info)
        if self._completes is not None:
            connection.completes = self._completes
        self.connections.append(connection)
        self.openings.append(opening)
        return connection

    def __enter__(self) -> Self:
        self.portal: BlockingPortal = self._portal_context.__enter__()
        self.host = WebHost(self.hub, ancestors=self._ancestors)
        self._serving = self.portal.start_task_soon(self.host.serve)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._serving.cancel()
        self._portal_context.__exit__(None, None, None)

    def link(self) -> str:
        return self.host.link()
