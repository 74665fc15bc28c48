"""The editor's server: a WebSocket on the loopback, its lock file, and all agents that attached."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.abc

from weft.errors import TransportError
from weft.exits import ExitStack
from weft.ide.agents import Agent, Tap
from weft.ide.lockfile import LockFile, Seat, keep_seat, last_seat, new_seat
from weft.ide.port import Editor, EditorEvent, Mentioned, SelectionMoved, ToolsChanged
from weft.ide.tools import Toolbox
from weft.protocols.ide import AUTH_HEADER, SUBPROTOCOL
from weft.protocols.ide.lock import Lock
from weft.protocols.ide.notices import (
    AT_MENTIONED,
    SELECTION_CHANGED,
    TOOLS_CHANGED,
    encode_mention,
    encode_selection,
)
from weft.protocols.ide.values import Selection
from weft.transports.websocket import Access, WebSocketServer, WebSocketStream

_log = logging.getLogger(__name__)
DEBOUNCE = 0.05
LONGEST_WAIT = 4
"""A selection that never rests is told every so many debounce times."""
KEEP_ALIVE = 30.0
SECOND_GREETING = 1.0


class IdeServer:
    """Listens while it is entered. The lock file is there exactly as long as somebody listens behind it.

    `home` is where agents look (`~/.claude`); `keep` is where the last port and token are remembered, so that a
    restart is found by agents that hold them.
    """

    def __init__(
        self,
        editor: Editor,
        *,
        home: Path,
        keep: Path | None = None,
        toolbox: Toolbox | None = None,
        debounce: float = DEBOUNCE,
        seat: Seat | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.editor = editor
        self.toolbox = toolbox or Toolbox(editor)
        self._home = home
        self._keep = keep
        self._debounce = debounce
        self._seat = seat
        self._tap = tap
        self._agents: dict[int, Agent] = {}
        self._count = 0
        self._moved = anyio.Event()
        self._selection: Selection | None = None
        self.subprotocols: tuple[str, ...] = (SUBPROTOCOL,)
        self._stack = ExitStack()
        self._group: anyio.abc.TaskGroup | None = None
        self.lock: Lock = Lock(port=0)

    @property
    def port(self) -> int:
        return self.lock.port

    @property
    def agents(self) -> Sequence[Agent]:
        return tuple(self._agents.values())

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that make an agent attach here when it is started with them."""
        return {"CLAUDE_CODE_SSE_PORT": str(self.port), "ENABLE_IDE_INTEGRATION": "true"}

    async def __aenter__(self) -> Self:
        async with ExitStack() as stack:
            seat = await self._listen(stack)
            self.lock = Lock(
                port=seat.port,
                pid=os.getpid(),
                folders=tuple(str(folder) for folder in self.editor.folders),
                ide_name=self.editor.name,
                token=seat.token,
            )
            self._selection = await self.editor.selection()
            file = LockFile(self._home, self.lock)
            file.write()
            stack.callback(file.remove)
            if self._keep is not None:
                keep_seat(self._keep, self.editor.folders, seat)
            group = self._group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            stack.callback(self.editor.listen(self._heard))
            group.start_soon(self._tell_selections)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        for agent in self.agents:
            agent.end()
        return await self._stack.__aexit__(kind, error, trace)

    def broadcast(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Sends a notification to every agent."""
        for agent in self.agents:
            agent.notify(method, None if params is None else dict(params))

    async def _listen(self, stack: ExitStack) -> Seat:
        """Takes the wanted seat, else the last one, else a random one that is free."""
        known = self._seat or (last_seat(self._keep, self.editor.folders) if self._keep else None)
        tries = [*([known] if known else []), *(new_seat() for _ in range(8))]
        for seat in tries:
            access = Access(token=seat.token, headers=(AUTH_HEADER,), query=None)
            server = WebSocketServer(
                self._attend,
                access=access,
                port=seat.port,
                deflate=False,
                subprotocols=self.subprotocols,
                ping_interval=KEEP_ALIVE,
            )
            try:
                await stack.enter_async_context(server)
            except TransportError as error:
                _log.debug("port %s is taken: %s", seat.port, error)
                continue
            return Seat(server.port, seat.token)
        raise TransportError("no free port was found for the editor's server")

    async def _attend(self, stream: WebSocketStream) -> None:
        self._count += 1
        agent = Agent(stream, self.toolbox, number=self._count, attached=self._greet, tap=self._tap)
        self._agents[agent.number] = agent
        try:
            await agent.run()
        finally:
            del self._agents[agent.number]

    def _greet(self, agent: Agent) -> None:
        """What was selected before the agent came is news to it."""
        if self._selection is not None and self._group is not None:
            agent.notify(SELECTION_CHANGED, encode_selection(self._selection))
            self._group.start_soon(self._greet_again, agent, self._selection)

    async def _greet_again(self, agent: Agent, told: Selection) -> None:
        """The real command says that it is connected a moment before it listens. Hearing it twice changes nothing."""
        await anyio.sleep(SECOND_GREETING)
        if self._selection == told:
            agent.notify(SELECTION_CHANGED, encode_selection(told))

    def _heard(self, event: EditorEvent) -> None:
        match event:
            case SelectionMoved(selection=selection):
                if selection != self._selection:
                    self._selection = selection
                    self._moved.set()
            case Mentioned(mention=mention):
                self.broadcast(AT_MENTIONED, encode_mention(mention))
            case ToolsChanged():
                self.broadcast(TOOLS_CHANGED)

    async def _tell_selections(self) -> None:
        """One notification per rest, not per key."""
        told: Selection | None = None
        while True:
            await self._moved.wait()
            with anyio.move_on_after(self._debounce * LONGEST_WAIT):
                while self._moved.is_set():
                    self._moved = anyio.Event()
                    with anyio.move_on_after(self._debounce):
                        await self._moved.wait()
            if self._moved.is_set():
                self._moved = anyio.Event()
            if self._selection != told:
                told = self._selection
                self.broadcast(SELECTION_CHANGED, encode_selection(told))
