"""A channel to a running Neovim: calls out, events in."""

import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc
import msgspec

from weft.errors import RemoteProtocolError, TransportError, WorkspaceError
from weft.exits import ExitStack
from weft.protocols.msgpack_rpc import MsgpackPeer, Notified, Replied, RpcEvent
from weft.transports.sockets import connect_local

_log = logging.getLogger(__name__)
CALL_LIMIT = 10.0
"""Neovim answers nothing while it waits for a key in a prompt of its own."""


class _Waiter(msgspec.Struct):
    event: anyio.Event
    reply: Replied | None = None


class Neovim:
    """Entered, it is connected and our Lua is loaded; `heard` gets its events (a name and arguments).

    Raises:
        WorkspaceError: a call failed, took too long, or Neovim is gone.
    """

    def __init__(self, address: str, heard: Callable[[str, list[Any]], None]) -> None:
        self._address = address
        self._heard = heard
        self._peer = MsgpackPeer()
        self._waiting: dict[int, _Waiter] = {}
        self._stack = ExitStack()
        self._stream: anyio.abc.ByteStream | None = None
        self._sending = anyio.Lock()
        self._channel = 0
        self.ended = anyio.Event()
        self.cwd = ""

    async def __aenter__(self) -> Self:
        async with ExitStack() as stack:
            try:
                self._stream = await stack.enter_async_context(await connect_local(self._address))
            except TransportError as error:
                hint = "Start it with: nvim --listen SOCKET"
                raise WorkspaceError(f"Neovim cannot be reached: {error}", hint=hint) from error
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(self._read, self._stream)
            info = await self.request("nvim_get_api_info")
            self._channel = int(info[0])
            self.cwd = str(await self.request("nvim_exec_lua", _lua(), [self._channel]))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def call(self, name: str, *arguments: object) -> Any:
        """A function of our Lua module. Its result crosses as plain values."""
        code = f"return _G['weft_{self._channel}'].{name}(...)"
        return await self.request("nvim_exec_lua", code, list(arguments))

    async def request(self, method: str, *params: object) -> Any:
        number, data = self._peer.request(method, *params)
        waiter = self._waiting[number] = _Waiter(anyio.Event())
        try:
            with anyio.fail_after(CALL_LIMIT):
                await self._send(data)
                await waiter.event.wait()
        except TimeoutError:
            raise WorkspaceError("Neovim does not answer; is it waiting for a key?") from None
        finally:
            del self._waiting[number]
        if waiter.reply is None:
            raise WorkspaceError("Neovim is gone")
        if waiter.reply.error is not None:
            raise WorkspaceError(f"Neovim: {waiter.reply.error[:500]}")
        return waiter.reply.result

    async def _send(self, data: bytes) -> None:
        if self._stream is None or self.ended.is_set():
            raise WorkspaceError("Neovim is gone")
        try:
            async with self._sending:
                await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise WorkspaceError("Neovim is gone") from error

    async def _read(self, stream: anyio.abc.ByteStream) -> None:
        try:
            while True:
                events, answers = self._peer.feed(await stream.receive())
                for event in events:
                    self._take(event)
                if answers:
                    await self._send(answers)
        except (anyio.EndOfStream, anyio.BrokenResourceError, OSError):
            _log.debug("Neovim closed the channel")
        except (RemoteProtocolError, WorkspaceError) as error:
            _log.warning("the channel to Neovim broke: %s", error)
        finally:
            self.ended.set()
            for waiter in self._waiting.values():
                waiter.event.set()

    def _take(self, event: RpcEvent) -> None:
        match event:
            case Replied(id=number):
                waiter = self._waiting.get(number)
                if waiter is not None:
                    waiter.reply = event
                    waiter.event.set()
            case Notified(method="weft", params=[str(name), *arguments]):
                self._heard(name, arguments)
            case Notified():
                pass


def _lua() -> str:
    return Path(__file__).with_name("weft.lua").read_text(encoding="utf-8")
