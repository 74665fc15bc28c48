"""One attached agent: its socket, its conversation and its running calls."""

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

import anyio

from weft.errors import TransportError
from weft.ide.tools import Toolbox
from weft.protocols.ide.catalogue import AnyArguments
from weft.protocols.ide.frames import (
    INTERNAL_ERROR,
    Reply,
    RequestId,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from weft.protocols.ide.host import Answered, Attached, Called, Cancelled, Host, HostEvent, Send
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
        answered: Callable[["Agent", Reply], None] | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.host = Host(toolbox.specs)
        self.number = number
        self._stream = stream
        self._toolbox = toolbox
        self._attached = attached
        self._answered = answered
        self._tap = tap
        self._calls: dict[RequestId, anyio.CancelScope] = {}
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
        self._put(encode_notification(method, params))

    def request(self, number: RequestId, method: str, params: Json | None = None) -> None:
        self._put(encode_request(number, method, params))

    def send_raw(self, frame: str) -> None:
        self._put(frame)

    def _put(self, frame: str) -> None:
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
                return self.end()

    async def _read(self, group: anyio.abc.TaskGroup) -> None:
        while (data := await self._stream.receive()) is not None:
            if self._tap:
                self._tap("<", data if isinstance(data, str) else data.decode("utf-8", "replace"))
            for event in self.host.receive(data):
                self._handle(event, group)

    def _handle(self, event: HostEvent, group: anyio.abc.TaskGroup) -> None:
        match event:
            case Send(frame=frame):
                self._put(frame)
            case Called():
                group.start_soon(self._call, event.id, event.name, event.arguments)
            case Cancelled(id=number):
                scope = self._calls.pop(number, None)
                if scope is not None:
                    scope.cancel()
            case Attached():
                self._attached(self)
            case Answered(reply=reply):
                if self._answered:
                    self._answered(self, reply)

    async def _call(self, number: RequestId, name: str, arguments: AnyArguments) -> None:
        scope = self._calls[number] = anyio.CancelScope()
        with scope:
            try:
                frame = encode_result(number, await self._toolbox.call(self, name, arguments))
            except Exception:  # noqa: BLE001 - the boundary of a peer's request: one bad call must not end the others
                _log.exception("the tool %s failed", name)
                frame = encode_error(number, INTERNAL_ERROR, f"{name} failed inside the editor")
            self._put(frame)
        self._calls.pop(number, None)
        self.host.answered(number)
