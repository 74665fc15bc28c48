"""Server-sent events, both directions.

"If the line is empty: dispatch the event. If the line starts with a colon: ignore the line." Lines end in LF, CR or
CRLF, each of which may be cut in two by the network.
"""

import msgspec

from weft.errors import RemoteProtocolError

MAX_EVENT = 64 * 1024 * 1024


class SseEvent(msgspec.Struct, frozen=True):
    """`event` is empty where the server named none. `data` is the data lines, joined by LF."""

    data: bytes
    event: str = ""
    id: str = ""


class SseDecoder:
    """Bytes to events. Linear in the bytes, whatever their cuts."""

    def __init__(self, *, max_event: int = MAX_EVENT) -> None:
        self._max = max_event
        self._buffer = bytearray()
        self._after_cr = False
        self._begun = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that `data` completes.

        Raises:
            RemoteProtocolError: an event is larger than `max_event`.
        """
        if b"\r" in data or self._after_cr:
            data = self._only_lf(data)
        searched = len(self._buffer)
        self._buffer += data
        if not self._begun and self._buffer and not self._drop_bom():
            return []
        end = self._buffer.rfind(b"\n\n", max(0, searched - 1))
        if end < 0:
            if len(self._buffer) > self._max:
                raise RemoteProtocolError(f"an event is larger than {self._max} bytes")
            return []
        complete = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return [event for block in complete.split(b"\n\n") if (event := _decode(block)) is not None]

    def finish(self) -> list[SseEvent]:
        """The server closed. A last event whose lines are whole counts, although the empty line is missing."""
        rest, self._buffer = bytes(self._buffer), bytearray()
        event = _decode(rest) if rest.endswith(b"\n") else None
        return [event] if event is not None else []

    def _drop_bom(self) -> bool:
        """False while it cannot be told yet."""
        if self._buffer.startswith(b"\xef\xbb\xbf"):
            del self._buffer[:3]
        elif b"\xef\xbb\xbf".startswith(bytes(self._buffer)):
            return False
        self._begun = True
        return True

    def _only_lf(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
            if not data:
                return data
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decode(block: bytes) -> SseEvent | None:
    # Nearly every event is one `event:` line and one `data:` line, or one `data:` line alone.
    if block.startswith(b"event: "):
        at = block.find(b"\ndata: ")
        if at > 0 and block.find(b"\n", at + 1) < 0 and block.find(b"\n", 0, at) < 0:
            return SseEvent(block[at + 7 :], block[7:at].decode("utf-8", "replace"))
    elif block.startswith(b"data: ") and b"\n" not in block:
        return SseEvent(block[6:])
    return _decode_any(block)


def _decode_any(block: bytes) -> SseEvent | None:
    name, data, ident = "", None, ""
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            data = value if data is None else data + b"\n" + value
        elif line.startswith(b"event:"):
            name = line[6:].removeprefix(b" ").decode("utf-8", "replace")
        elif line.startswith(b"id:"):
            ident = line[3:].removeprefix(b" ").decode("utf-8", "replace")
        elif line == b"data":
            data = b"" if data is None else data + b"\n"
    return None if data is None else SseEvent(data, name, ident)


def encode(data: bytes, event: str = "", id: str = "") -> bytes:
    """One event with its empty line."""
    head = b""
    if event:
        head += b"event: " + event.encode() + b"\n"
    if id:
        head += b"id: " + id.encode() + b"\n"
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    return head + b"data: " + data + b"\n\n"
