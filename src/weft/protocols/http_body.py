"""The body of an HTTP/1.1 answer: by chunks, by length, or until the connection closes.

h11 reads heads; bodies are read here because a model's stream has a chunk for every few words, and this costs a fifth.
"""

from typing import Protocol

from weft.errors import RemoteProtocolError

_MAX_SIZE_LINE = 4096
_MAX_TRAILERS = 65536
_MAX_SIZES = 1024
_MAX_HELD = 1 << 18


class Body(Protocol):
    """`feed` returns the bytes of the body that `data` holds. `done` says that the last byte was among them;
    what follows it is in `rest`. `finish` says that the connection closed."""

    done: bool
    rest: bytes

    def feed(self, data: bytes) -> bytes: ...

    def finish(self) -> None:
        """
        Raises:
            RemoteProtocolError: the body was not complete.
        """
        ...


class LengthBody:
    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.rest: bytes = b""

    def feed(self, data: bytes) -> bytes:
        body, self.rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        self.done = self._left == 0
        return body

    def finish(self) -> None:
        if not self.done:
            raise RemoteProtocolError(f"the connection closed {self._left} bytes before the end of the answer")


class OpenBody:
    """Neither a length nor chunks: the end of the connection is the end of the body."""

    def __init__(self) -> None:
        self.done = False
        self.rest: bytes = b""

    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> None:
        self.done = True


class ChunkedBody:
    """`chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF`; the last has size 0 and trailers, which are dropped."""

    def __init__(self) -> None:
        self._buffer: bytes = b""
        self._left = 0
        """Bytes of the chunk that are still to come, its CRLF not counted."""
        self._after_data = False
        self._in_trailers = False
        self._trailers = 0
        self._sizes: dict[bytes, int] = {}
        """Size lines that were read before."""
        self.done = False
        self.rest: bytes = b""

    def feed(self, data: bytes) -> bytes:
        """
        Raises:
            RemoteProtocolError: the framing is broken.
        """
        data = self._buffer + data if self._buffer else data
        parts: list[bytes] = []
        at, end = 0, len(data)
        while at < end and not self.done:
            if not (self._left or self._after_data or self._in_trailers):
                # Most chunks lie whole in the data, and their sizes repeat.
                line_end = data.find(b"\r\n", at, at + 8)
                size = self._sizes.get(data[at:line_end], 0) if line_end > 0 else 0
                start = line_end + 2
                if size and data[start + size : start + size + 2] == b"\r\n":
                    parts.append(data[start : start + size])
                    at = start + size + 2
                    continue
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                self._after_data = self._left == 0
                continue
            line_end = data.find(b"\n", at)
            if line_end < 0:
                if end - at > _MAX_SIZE_LINE:
                    raise RemoteProtocolError("a chunk's size line is too long")
                break
            self._read_line(data[at:line_end].rstrip(b"\r"))
            at = line_end + 1
        self._buffer = b"" if self.done else data[at:]
        self.rest = data[at:] if self.done else b""
        return b"".join(parts)

    def _read_line(self, line: bytes) -> None:
        if self._in_trailers:
            self._trailers += len(line)
            if self._trailers > _MAX_TRAILERS:
                raise RemoteProtocolError("the trailers are too long")
            self.done = not line
        elif self._after_data:
            if line:
                raise RemoteProtocolError("a chunk is longer than it said")
            self._after_data = False
        else:
            size = line.split(b";", 1)[0].strip()
            if not size or len(size) > 16 or size.strip(b"0123456789abcdefABCDEF"):
                raise RemoteProtocolError(f"a chunk's size is not a number: {line[:20]!r}")
            self._left = int(size, 16)
            if len(self._sizes) < _MAX_SIZES:
                self._sizes[line] = self._left
            self._in_trailers = self._left == 0

    def finish(self) -> None:
        if not self.done:
            raise RemoteProtocolError("the connection closed in the middle of the answer")


class FramedBody:
    """A chunked body for somebody who passes it on: whole chunks keep their framing, so nothing is taken apart.

    That goes while each chunk ends in a line feed, as the chunks of event streams do: no line then lies in two of
    them. From the first that does not, the rest comes without framing.
    """

    def __init__(self) -> None:
        self._held: bytes = b""
        self._plain: ChunkedBody | None = None
        self._sizes: dict[bytes, int] = {}
        self.done = False
        self.rest: bytes = b""

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """(whole chunks with their framing, bytes of the body without it), in this order. The last chunk and the
        trailers are left out.

        Raises:
            RemoteProtocolError: the framing is broken.
        """
        if self._plain is not None:
            return b"", self._feed_plain(data)
        if self._held:
            data = self._held + data
        at, end, sizes, find = 0, len(data), self._sizes, data.find
        while True:
            line_end = find(b"\r\n", at, at + 10)
            size = sizes.get(data[at:line_end]) if line_end > 0 else None
            if size is None:
                if line_end < 0 and end - at < 10:
                    break
                size = self._read_size(data[at:line_end] if line_end > 0 else b"")
                if not size:
                    return data[:at], self._unframe(data[at:])
            after = line_end + size + 4
            if after > end:
                break
            if data[after - 3] != 10 or data[after - 1] != 10:
                return data[:at], self._unframe(data[at:])
            at = after
        held = self._held = data[at:]
        return data[:at], self._unframe(held) if len(held) > _MAX_HELD else b""

    def finish(self) -> None:
        if not self.done:
            raise RemoteProtocolError("the connection closed in the middle of the answer")

    def _read_size(self, line: bytes) -> int:
        """0 for the last chunk, and for lines that `ChunkedBody` knows better what to do with."""
        if not line or line.strip(b"0123456789abcdefABCDEF"):
            return 0
        size = int(line, 16)
        if size and len(self._sizes) < _MAX_SIZES:
            self._sizes[line] = size
        return size

    def _unframe(self, data: bytes) -> bytes:
        self._plain, self._held = ChunkedBody(), b""
        return self._feed_plain(data)

    def _feed_plain(self, data: bytes) -> bytes:
        assert self._plain is not None
        body = self._plain.feed(data)
        self.done, self.rest = self._plain.done, self._plain.rest
        return body
