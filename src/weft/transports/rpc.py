"""A JSON-RPC conversation, both ways, over a stream of messages.

Frames are read by one task. A notification is handled before the next frame is read; a request gets a task of its
own, which has begun before the next frame is read. So a cancel can never overtake the request that it cancels.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import TaskGroup

from weft.errors import TransportError, WeftError
from weft.protocols.acp import frames
from weft.protocols.acp.frames import Id, RpcError
from weft.transports.messages import MessageStream

_log = logging.getLogger(__name__)

OnRequest: TypeAlias = Callable[[str, msgspec.Raw, Id], Awaitable[object]]
OnNotification: TypeAlias = Callable[[str, msgspec.Raw], Awaitable[None]]
_SECRETS = (b"apiKey", b"api_key", b"token", b"Authorization")
_HELD = 4096
"""Frames that wait behind the gate before a sender has to wait too."""


class Then:
    """An answer, and what follows it on the wire: `then` runs when the answer has been sent."""

    def __init__(self, result: object, then: Callable[[], Awaitable[None]]) -> None:
        self.result = result
        self.then = then


class _Call:
    __slots__ = ("answer", "done")

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: frames.Answer | frames.Failure | None = None


class RpcPeer:
    """One end. `run` lives as long as the stream; the other methods work while it does.

    `gated` holds back every frame while a request of ours is unanswered, and asks one thing at a time: some clients
    lose what arrives while they answer. `on_control` sees text that is not JSON and begins with `//`.
    """

    def __init__(
        self,
        stream: MessageStream,
        *,
        on_request: OnRequest,
        on_notification: OnNotification,
        on_control: Callable[[str], None] | None = None,
        on_cancel: Callable[[Id], bool] | None = None,
        gated: bool = False,
    ) -> None:
        self._stream = stream
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_control = on_control
        self._on_cancel = on_cancel
        self.gated = gated
        self.closed = anyio.Event()
        self.heard = 0
        """Messages that came so far."""
        self._next_id = 0
        self._calls: dict[Id, _Call] = {}
        self._inbound: dict[Id, anyio.CancelScope] = {}
        self._asking = anyio.Lock()
        self._gate_shut = False
        self._held: deque[bytes] = deque()
        self._room = anyio.Event()

    async def run(self) -> None:
        """Returns when the other side is gone. What it had asked for is cancelled; what we asked for fails."""
        try:
            async with anyio.create_task_group() as tasks:
                while (message := await self._stream.receive()) is not None:
                    await self._read(message, tasks)
                tasks.cancel_scope.cancel()
        finally:
            self.closed.set()
            for call in self._calls.values():
                call.done.set()

    async def _read(self, message: str | bytes, tasks: TaskGroup) -> None:
        self.heard += 1
        data = message.encode() if isinstance(message, str) else message
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("< %s", _shown(data))
        if data[:2] == b"//":
            if self._on_control:
                self._on_control(data.decode("utf-8", "replace"))
            return
        match frames.decode(data):
            case frames.Notification(method="$/cancel_request", params=params):
                self._cancel_inbound(params)
            case frames.Notification(method=method, params=params):
                await self._notified(method, params)
            case frames.Request() as request:
                tasks.start_soon(self._answer, request)
                await anyio.lowlevel.checkpoint()
            case frames.Answer() | frames.Failure() as answer:
                if call := self._calls.get(answer.id):
                    call.answer = answer
                    call.done.set()
                elif isinstance(answer, frames.Failure):
                    _log.warning("an error for no request of ours: %s (%s)", answer.message, answer.code)
            case frames.Invalid(code=code, message=text):
                await self._try_send(frames.encode_failure(None, code, text))

    def _cancel_inbound(self, params: msgspec.Raw) -> None:
        try:
            wanted = msgspec.json.decode(params, type=dict[str, object]).get("requestId")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        if wanted is not None and not isinstance(wanted, int | str):
            return
        if self._on_cancel and self._on_cancel(wanted):
            return
        if scope := self._inbound.get(wanted):
            scope.cancel()

    async def _notified(self, method: str, params: msgspec.Raw) -> None:
        try:
            await self._on_notification(method, params)
        except (WeftError, msgspec.MsgspecError) as error:
            _log.warning("the notification %s could not be handled: %s", method, error)

    async def _answer(self, request: frames.Request) -> None:
        scope = anyio.CancelScope()
        self._inbound[request.id] = scope
        frame: bytes | None = None
        then: Callable[[], Awaitable[None]] | None = None
        try:
            with scope:
                frame, then = await self._outcome(request)
        finally:
            if self._inbound.get(request.id) is scope:
                del self._inbound[request.id]
        if frame is None:
            frame = frames.encode_failure(request.id, frames.CANCELLED, "Request cancelled")
        await self._try_send(frame)
        if then is not None:
            await then()

    async def _outcome(self, request: frames.Request) -> tuple[bytes, Callable[[], Awaitable[None]] | None]:
        try:
            result = await self._on_request(request.method, request.params, request.id)
        except RpcError as error:
            return frames.encode_failure(request.id, error.code, error.message, error.data), None
        except (msgspec.ValidationError, WeftError) as error:
            return _failure(request.id, error), None
        except Exception:  # noqa: BLE001 - the boundary of a peer: a bug must not hang the other side
            _log.exception("the request %s failed", request.method)
            return frames.encode_failure(request.id, frames.INTERNAL_ERROR, "Internal error"), None
        if isinstance(result, Then):
            return frames.encode_answer(request.id, result.result), result.then
        return frames.encode_answer(request.id, result), None

    async def call(
        self, method: str, params: object, *, timeout: float | None = None, cancels: bool = True
    ) -> msgspec.Raw:
        """Asks and waits. When the caller is cancelled, the peer is told so (`$/cancel_request`) if `cancels`.

        Raises:
            RpcError: the peer refused.
            TransportError: the peer is gone.
            TimeoutError: no answer within `timeout` seconds.
        """
        if not self.gated:
            return await self._call(method, params, timeout, cancels=cancels)
        async with self._asking:
            self._gate_shut = True
            try:
                return await self._call(method, params, timeout, cancels=False)
            finally:
                self._gate_shut = False
                with anyio.CancelScope(shield=True):
                    await self._release()

    async def _call(self, method: str, params: object, timeout: float | None, *, cancels: bool) -> msgspec.Raw:
        if self.closed.is_set():
            raise TransportError("the other side is gone")
        self._next_id += 1
        id_ = self._next_id
        call = self._calls[id_] = _Call()
        try:
            await self._write(frames.encode_request(id_, method, params))
            with anyio.fail_after(timeout):
                await call.done.wait()
        finally:
            del self._calls[id_]
            if cancels and not call.done.is_set():
                with anyio.move_on_after(1, shield=True):
                    await self._try_send(frames.encode_notification("$/cancel_request", {"requestId": id_}))
        match call.answer:
            case frames.Answer(result=result):
                return result
            case frames.Failure(code=code, message=message, data=data):
                raise RpcError(code, message, data)
            case None:
                raise TransportError(f"the other side went away before it answered {method}")

    async def notify(self, method: str, params: object) -> None:
        """
        Raises:
            TransportError: the peer is gone.
        """
        await self._send(frames.encode_notification(method, params))

    async def answer_again(self, id_: Id, result: object) -> None:
        """A second answer to a request that has had one. JSON-RPC does not know this; see the iFlow dialect."""
        await self._send(frames.encode_answer(id_, result))

    async def _send(self, frame: bytes) -> None:
        while self._gate_shut or self._held:
            if len(self._held) < _HELD:
                self._held.append(frame)
                return
            self._room = anyio.Event()
            await self._room.wait()
        await self._write(frame)

    async def _release(self) -> None:
        while self._held and not self._gate_shut:
            frame = self._held[0]
            try:
                await self._write(frame)
            except TransportError:
                self._held.clear()
                break
            self._held.popleft()
        self._room.set()

    async def _try_send(self, frame: bytes) -> None:
        try:
            await self._send(frame)
        except TransportError as error:
            _log.debug("not sent: %s", error)

    async def _write(self, frame: bytes) -> None:
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("> %s", _shown(frame))
        await self._stream.send(frame)


def _failure(id_: Id, error: Exception) -> bytes:
    if isinstance(error, msgspec.ValidationError):
        return frames.encode_failure(id_, frames.INVALID_PARAMS, "Invalid params", {"details": str(error)})
    hint = error.hint if isinstance(error, WeftError) else None
    data = {"details": hint} if hint else msgspec.UNSET
    return frames.encode_failure(id_, frames.INTERNAL_ERROR, str(error), data)


def _shown(data: bytes) -> str:
    if any(word in data for word in _SECRETS):
        return f"(a frame with a secret, {len(data)} bytes)"
    return data[:2000].decode("utf-8", "replace")
