"""One attached agent: its socket, its conversation and its running calls."""

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

import anyio
import anyio.abc
import msgspec

from weft.errors import TransportError
from weft.ide.tools import Toolbox
from weft.protocols.ide.catalogue import AnyArguments
from weft.protocols.ide.host import Answered, Attached, Called, Cancelled, Host, HostEvent, Send
from weft.protocols.jsonrpc import INTERNAL_ERROR, Id, Response, notification
from weft.schema.content import Json
from weft.transports.messages import MessageStream

_log = logging.getLogger(__name__)
MAX_UNREAD = 1024
"""Frames that wait for an agent to read them. One that reads no more is let go."""

Tap: TypeAlias = Callable[[Literal["<", ">"], str], None]


class Agent:
    """Serves one socket in `run`, until either side ends it."""

    def __init__(
        self,
        stream: MessageStream,
        toolbox: Toolbox,
        *,
        number: int,
        attached: Callable[["Agent"], None],
        answered: Callable[["Agent", Response], None] | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.host = Host(toolbox.specs)
        self.number = number
        self._stream = stream
        self._toolbox = toolbox
        self._attached = attached
        self._answered = answered
        self._tap = tap
        self._calls: dict[Id, anyio.CancelScope] = {}
        self._outbox, self._unsent = anyio.create_memory_object_stream[str](MAX_UNREAD)
        self._group: anyio.abc.TaskGroup | None = None

    def __str__(self) -> str:
        return self.host.agent_name or "agent"

    async def run(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._write)
                await self._read(group)
                group.cancel_scope.cancel()
        finally:
            self._toolbox.diffs.close_all(self)
            self._outbox.close()
            self._unsent.close()

    def end(self) -> None:
        """Lets the agent go: its calls are cancelled and `run` returns."""
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def notify(self, method: str, params: Json | None = None) -> None:
        self._put(notification(method, params))

    def request(self, method: str, params: Json | None = None) -> Id:
        """Asks the agent; `answered` is called with what it says."""
        id, message = self.host.request(method, params)
        self._put(message)
        return id

    def send_raw(self, frame: str) -> None:
        """Any text, as one frame: for those who test agents."""
        self._put_frame(frame)

    def _put(self, message: Json) -> None:
        self._put_frame(msgspec.json.encode(message).decode())

    def _put_frame(self, frame: str) -> None:
        try:
            self._outbox.send_nowait(frame)
        except anyio.WouldBlock:
            _log.warning("an agent does not read; it is let go")
            self.end()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass

    async def _write(self) -> None:
        async for frame in self._unsent:
            if self._tap:
                self._tap(">", frame)
            try:
                await self._stream.send(frame)
            except TransportError:
                self.end()
                return

    async def _read(self, group: anyio.abc.TaskGroup) -> None:
        while (data := await self._stream.receive()) is not None:
            if self._tap:
                self._tap("<", data if isinstance(data, str) else data.decode("utf-8", "replace"))
            for event in self.host.receive(data):
                self._handle(event, group)

    def _handle(self, event: HostEvent, group: anyio.abc.TaskGroup) -> None:
        match event:
            case Send(message=message):
                self._put(message)
            case Called():
                self._calls[event.id] = anyio.CancelScope()
                group.start_soon(self._call, event.id, event.name, event.arguments)
            case Cancelled(id=number):
                scope = self._calls.pop(number, None)
                if scope is not None:
                    scope.cancel()
            case Attached():
                self._attached(self)
            case Answered(response=response):
                if self._answered:
                    self._answered(self, response)

    async def _call(self, id: Id, name: str, arguments: AnyArguments) -> None:
        result: Json | None = None
        with self._calls[id] as scope:
            try:
                result = await self._toolbox.call(self, name, arguments)
            except Exception:  # noqa: BLE001 - the boundary of a peer's request: one bad call must not end the others
                _log.exception("the tool %s failed", name)
        if scope.cancel_called:
            return
        del self._calls[id]
        if result is None:
            self._put(self.host.error(id, INTERNAL_ERROR, f"{name} failed inside the editor"))
        else:
            self._put(self.host.result(id, result))
