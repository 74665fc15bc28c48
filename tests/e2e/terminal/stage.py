"""The whole screen on Textual's own driver, with a scripted agent behind it."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from textual.pilot import Pilot

from weft.connect.port import Connection
from weft.schema import events as e
from weft.sessions.store import FileStore
from weft.settings import load_settings
from weft.surfaces.terminal.app import TerminalApp
from weft.surfaces.terminal.conversation import Opening
from weft.surfaces.terminal.picker import Picker
from weft.surfaces.terminal.ports import Found, Parts
from weft.testing.connection import ScriptedConnection, Turn

INFO = e.SessionInfo(
    session_id="s1",
    cwd="/",
    model="claude-test",
    commands=(e.CommandInfo("compact", "make it shorter", "[what]"), e.CommandInfo("cost", "what it cost")),
    models=(e.ModelInfo("claude-test", "Test"), e.ModelInfo("claude-other", "Other", "another one", 200_000)),
    agents=("review",),
    servers=(e.ServerInfo("files", "ready", tools=("read",)),),
)


class Stage:
    """`connection` is the agent of the first tab; `opened` has what every tab asked for."""

    def __init__(
        self, app: TerminalApp, pilot: Pilot[int], connection: ScriptedConnection, opened: list[Opening]
    ) -> None:
        self.app = app
        self.pilot = pilot
        self.connection = connection
        self.opened = opened

    @property
    def commands(self) -> Sequence[object]:
        return self.connection.commands

    def screen(self) -> str:
        """What a person sees now, line by line."""
        return "\n".join("".join(segment.text for segment in strip) for strip in self._strips())

    def _strips(self) -> Iterable[Iterable[object]]:
        return self.app.screen._compositor.render_strips()

    async def until(self, met: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            while not met():
                await self.pilot.pause(0.01)

    async def shows(self, *texts: str) -> None:
        try:
            await self.until(lambda: all(text in self.screen() for text in texts))
        except TimeoutError:
            raise AssertionError(f"{texts} is not on the screen:\n{self.screen()}") from None

    async def type(self, text: str) -> None:
        for letter in text:
            await self.pilot.press({" ": "space", "\n": "enter"}.get(letter, letter))

    async def picker(self) -> Picker:
        await self.until(lambda: isinstance(self.app.screen, Picker))
        assert isinstance(self.app.screen, Picker)
        return self.app.screen


@asynccontextmanager
async def on_stage(
    turns: Sequence[Turn] = (),
    *,
    folder: Path,
    size: tuple[int, int] = (80, 24),
    history: Iterable[e.AgentEvent] = (),
    env: dict[str, str] | None = None,
    fail: Exception | None = None,
    found: Sequence[Found] = (),
    info: e.SessionInfo = INFO,
    **more: object,
) -> AsyncIterator[Stage]:
    connection = ScriptedConnection(turns, info=info, history=history)
    opened: list[Opening] = []

    async def start(opening: Opening) -> Connection:
        opened.append(opening)
        if fail is not None and opening.model is None:
            raise fail
        return connection if len(opened) == 1 else ScriptedConnection(turns, info=INFO)

    async def look_around() -> list[Found]:
        return list(found)

    parts = Parts(
        start=start,
        cwd=folder,
        env={"HOME": str(folder), **(env or {})},
        history=folder / "history.jsonl",
        store=lambda: FileStore(folder / ".weft"),
        settings=lambda: load_settings(folder, env={"HOME": str(folder)}),
        look_around=look_around,
        **more,  # type: ignore[arg-type]
    )
    async with anyio.create_task_group() as group:
        app = TerminalApp(parts, group)
        async with app.run_test(size=size) as pilot:
            stage = Stage(app, pilot, connection, opened)
            with anyio.fail_after(30):
                while not opened:
                    await pilot.pause(0.01)
                await app.conversation.settled()
            await pilot.pause()
            yield stage
            group.cancel_scope.cancel()
