"""An attached editor: one WebSocket, kept for as long as the editor lives, attached again after a break."""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, cast

import anyio
import anyio.abc
import msgspec

from weft.errors import TransportError, WorkspaceError
from weft.exits import ExitStack
from weft.protocols.ide import AUTH_HEADER, SUBPROTOCOL
from weft.protocols.ide.guest import Finished, Guest, GuestEvent, MentionMade, Selected, Send, ToolListStale
from weft.protocols.ide.notices import as_object
from weft.protocols.ide.values import Mention, Selection
from weft.protocols.jsonrpc import Id
from weft.schema.content import Json
from weft.transports.websocket import WebSocketClient, WebSocketStream
from weft.workspace.ide.locks import Found, find_locks, listener_is_foreign

_log = logging.getLogger(__name__)
OPEN_LIMIT = 5.0
CALL_LIMIT = 10.0
RETRIES = (0.0, 1.0, 2.0, 4.0, 8.0)
STEADY = 5.0
MAX_SHORT = 4
"""An editor with room for one agent throws out the first for a second one. Two agents that both come back at once would
go on for ever: after so many short stays the place is left to the other."""

State: TypeAlias = Literal["attached", "lost", "closed"]
Change: TypeAlias = Selected | MentionMade | State
Heard: TypeAlias = Callable[[Change], None]


class _Waiter(msgspec.Struct):
    event: anyio.Event
    answer: Finished | None = None


class _Session:
    """One open socket and its conversation."""

    def __init__(self, stream: WebSocketStream, guest: Guest) -> None:
        self.stream = stream
        self.guest = guest
        self.waiting: dict[Id, _Waiter] = {}

    async def send(self, message: Json) -> None:
        await self.stream.send(msgspec.json.encode(message).decode())

    def lose(self) -> None:
        for waiter in self.waiting.values():
            waiter.event.set()


class IdeLink:
    """Entered, it is attached; left, it is closed. Selections and paths are in our own paths.

    `heard` is told of selections, mentions and of the link itself. It must not wait.

    Raises:
        WorkspaceError: on entering, when nobody answers behind the lock.
    """

    def __init__(
        self, found: Found, *, cwd: Path, heard: Heard | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.found = found
        self.state: State = "closed"
        self.tools: frozenset[str] = frozenset()
        self.selection: Selection | None = None
        self._cwd = cwd
        self._heard = heard
        self._env = env
        self._session: _Session | None = None
        self._stack = ExitStack()
        self._group: anyio.abc.TaskGroup | None = None

    @property
    def name(self) -> str:
        return self.found.lock.ide_name

    async def __aenter__(self) -> Self:
        async with ExitStack() as stack:
            socket = ExitStack()
            stack.push_async_callback(socket.aclose)
            session = await self._attach(self.found, socket)
            self._group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(self._group.cancel_scope.cancel)
            self._group.start_soon(self._keep, session, socket)
            self._stack = stack.pop_all()
        with anyio.move_on_after(OPEN_LIMIT):
            await self.refresh_tools()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.state = "closed"
        session, self._session = self._session, None
        if session is not None:
            session.lose()
        return await self._stack.__aexit__(kind, error, trace)

    async def call(self, name: str, arguments: Json, *, limit: float | None = CALL_LIMIT) -> Json:
        """The result of a tool of the editor, as it came. A cancelled call is withdrawn.

        Raises:
            WorkspaceError: it refused, it went away, or it took longer than `limit`.
        """
        session = self._session
        if session is None:
            raise WorkspaceError(f"{self.name} is not attached", hint="Attach with /ide.")
        id, message = session.guest.call(name, arguments)
        try:
            answer = await self._wait(session, id, message, limit)
        except TimeoutError:
            raise WorkspaceError(f"{self.name} did not answer {name} in {limit:g} s") from None
        if answer.error is not None:
            raise WorkspaceError(f"{self.name} refused {name}: {answer.error[:500]}")
        return answer.result

    async def refresh_tools(self) -> None:
        session = self._session
        if session is None:
            return
        try:
            answer = await self._wait(session, *session.guest.list_tools(), OPEN_LIMIT)
        except (TimeoutError, WorkspaceError) as error:
            _log.debug("the editor did not list its tools: %s", error)
            return
        listed = answer.result.get("tools")
        items = cast("list[object]", listed) if isinstance(listed, list) else []
        names = (as_object(item).get("name") for item in items)
        self.tools = frozenset(name for name in names if isinstance(name, str))

    async def _wait(self, session: _Session, id: Id, message: Json, limit: float | None) -> Finished:
        waiter = session.waiting[id] = _Waiter(anyio.Event())
        try:
            with anyio.fail_after(limit):
                await session.send(message)
                await waiter.event.wait()
        except TransportError as error:
            raise WorkspaceError(f"{self.name} went away") from error
        finally:
            del session.waiting[id]
            if waiter.answer is None:
                await self._withdraw(session, id)
        if waiter.answer is None:
            raise WorkspaceError(f"{self.name} went away")
        return waiter.answer

    async def _withdraw(self, session: _Session, id: Id) -> None:
        message = session.guest.give_up(id)
        with anyio.move_on_after(1, shield=True):
            try:
                await session.send(message)
            except TransportError:
                _log.debug("the editor is gone already")

    async def _attach(self, found: Found, socket: ExitStack) -> _Session:
        """Opens a socket and initializes: an answer to that is what makes an editor alive."""
        lock = found.lock
        problem = "it cannot be reached"
        for host in found.hosts:
            if host == "127.0.0.1" and listener_is_foreign(lock.port):
                raise WorkspaceError(f"port {lock.port} belongs to another user's program now")
            client = WebSocketClient(
                f"ws://{host}:{lock.port}/",
                headers={AUTH_HEADER: lock.token} if lock.token else {},
                subprotocols=(SUBPROTOCOL,),
                deflate=False,
                open_timeout=OPEN_LIMIT,
                ping_interval=30,
            )
            try:
                stream = await socket.enter_async_context(client)
                with anyio.fail_after(OPEN_LIMIT):
                    return await self._initialize(found, stream)
            except (TransportError, TimeoutError) as error:
                problem = str(error) or "it did not answer"
                await socket.aclose()
        raise WorkspaceError(
            f"{lock.ide_name} cannot be attached: {problem}", hint="Is the editor still running? See /ide."
        )

    async def _initialize(self, found: Found, stream: WebSocketStream) -> _Session:
        folder = found.lock.folders[0] if found.lock.folders else str(self._cwd)
        if found.paths.windows is not None:
            folder = ""
        guest = Guest(cwd=found.paths.to_theirs(str(self._cwd)), folder=folder, pid=os.getpid())
        session = _Session(stream, guest)
        id, message = guest.initialize()
        await session.send(message)
        while (data := await stream.receive()) is not None:
            for event in guest.receive(data):
                if isinstance(event, Finished) and event.id == id:
                    if event.error is not None:
                        raise TransportError(f"it refused to initialize: {event.error[:200]}")
                    for each in guest.initialized():
                        await session.send(each)
                    self._session, self.state = session, "attached"
                    return session
        raise TransportError("it closed the connection")

    async def _keep(self, session: _Session, socket: ExitStack) -> None:
        current: _Session | None = session
        short = 0
        while current is not None:
            began = anyio.current_time()
            self._tell("attached")
            await self._serve(current)
            self._session = None
            current.lose()
            await socket.aclose()
            self._tell("lost")
            short = short + 1 if anyio.current_time() - began < STEADY else 0
            current = await self._again(socket) if short < MAX_SHORT else None
        self._tell("closed")

    async def _again(self, socket: ExitStack) -> _Session | None:
        """The lock is read again each time: a restarted editor may have a new token."""
        for delay in RETRIES:
            await anyio.sleep(delay)
            fresh = [item for item in find_locks(self._env) if item.lock.port == self.found.lock.port]
            try:
                session = await self._attach(fresh[0] if fresh else self.found, socket)
            except WorkspaceError as error:
                _log.debug("not attached again: %s", error)
                continue
            if fresh:
                self.found = fresh[0]
            return session
        return None

    async def _serve(self, session: _Session) -> None:
        while (data := await session.stream.receive()) is not None:
            for event in session.guest.receive(data):
                await self._take(session, event)

    async def _take(self, session: _Session, event: GuestEvent) -> None:
        match event:
            case Send(message=message):
                try:
                    await session.send(message)
                except TransportError:
                    _log.debug("the editor went away before it was answered")
            case Finished(id=id):
                waiter = session.waiting.get(id)
                if waiter is not None:
                    waiter.answer = event
                    waiter.event.set()
            case Selected(selection=selection):
                self.selection = self._to_ours(selection)
                self._tell(Selected(self.selection))
            case MentionMade(mention=mention):
                path = self.found.paths.to_ours(mention.path)
                self._tell(MentionMade(Mention(path=path, first_line=mention.first_line, last_line=mention.last_line)))
            case ToolListStale():
                if self._group is not None:
                    self._group.start_soon(self.refresh_tools)

    def _to_ours(self, selection: Selection | None) -> Selection | None:
        if selection is None:
            return None
        return msgspec.structs.replace(selection, path=self.found.paths.to_ours(selection.path))

    def _tell(self, change: Change) -> None:
        if isinstance(change, str):
            self.state = change
        if self._heard is not None:
            self._heard(change)
