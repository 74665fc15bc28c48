"""MessagePack-RPC, without I/O: one side of a conversation with Neovim.

Messages follow each other without frames, so the end of each must be found in its own bytes first.
"""

from typing import Any, Final, TypeAlias, cast

import msgspec

from weft.errors import RemoteProtocolError

MAX_MESSAGE = 64 << 20

_FIXED: Final = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2}
_FIXED_MORE: Final = {0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SCALARS: Final = {**_FIXED, **_FIXED_MORE}
_SIZED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_COUNTED: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


class _Short(Exception):
    """The value goes on after the bytes that are here."""


def _number(data: bytes | bytearray, at: int, size: int) -> int:
    if at + size > len(data):
        raise _Short
    return int.from_bytes(data[at : at + size], "big")


def _end(data: bytes | bytearray, at: int) -> int:
    """Where the value that begins at `at` ends."""
    left = 1
    while left:
        left -= 1
        tag = _number(data, at, 1)
        at += 1
        if tag <= 0x7F or tag >= 0xE0:
            continue
        if tag <= 0x8F:
            left += 2 * (tag & 0x0F)
        elif tag <= 0x9F:
            left += tag & 0x0F
        elif tag <= 0xBF:
            at += tag & 0x1F
        elif tag in _SCALARS:
            at += _SCALARS[tag]
        elif tag in _SIZED:
            size = _SIZED[tag]
            at += size + _number(data, at, size) + (1 if tag in (0xC7, 0xC8, 0xC9) else 0)
        elif tag in _COUNTED:
            size, times = _COUNTED[tag]
            left += times * _number(data, at, size)
            at += size
        else:
            raise RemoteProtocolError(f"there is no MessagePack value {tag:#x}")
        if at > len(data) or left > len(data):
            raise _Short
    return at


class Replied(msgspec.Struct, frozen=True):
    """The answer to our request; `error` is None when it went well."""

    id: int
    result: object = None
    error: str | None = None


class Notified(msgspec.Struct, frozen=True):
    method: str
    params: list[Any]


RpcEvent: TypeAlias = Replied | Notified


class MsgpackPeer:
    """Requests out, answers and notifications in. Requests of the other side are refused."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._next_id = 0

    def request(self, method: str, *params: object) -> tuple[int, bytes]:
        self._next_id += 1
        return self._next_id, msgspec.msgpack.encode([0, self._next_id, method, params])

    def feed(self, data: bytes) -> tuple[list[RpcEvent], bytes]:
        """Events, and bytes to be sent.

        Raises:
            RemoteProtocolError: not MessagePack-RPC, or a message that is too large.
        """
        self._buffer += data
        events: list[RpcEvent] = []
        answers = b""
        while self._buffer:
            try:
                end = _end(self._buffer, 0)
            except _Short:
                if len(self._buffer) > MAX_MESSAGE:
                    raise RemoteProtocolError("a message is too large") from None
                break
            message = bytes(self._buffer[:end])
            del self._buffer[:end]
            event, answer = _read(message)
            answers += answer
            if event is not None:
                events.append(event)
        return events, answers


def _read(data: bytes) -> tuple[RpcEvent | None, bytes]:
    try:
        value = msgspec.msgpack.decode(data, type=list[Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"a message is not MessagePack: {error}") from error
    match value:
        case [1, int(number), error, result]:
            return Replied(number, result, None if error is None else _sentence(error)), b""
        case [2, str(method), params] if isinstance(params, list):
            return Notified(method, cast("list[Any]", params)), b""
        case [0, int(number), str(method), _]:
            return None, msgspec.msgpack.encode([1, number, f"there is no method {method}", None])
        case _:
            raise RemoteProtocolError("a message is not one of MessagePack-RPC")


def _sentence(error: object) -> str:
    """Neovim's errors are `[type, text]`."""
    parts = cast("list[object]", error) if isinstance(error, list) else [error]
    return str(parts[-1]) if parts else "the request failed"
