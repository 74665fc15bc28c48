"""JSON lines: one JSON value a line, UTF-8, ended by LF."""

import msgspec

from weft.errors import RemoteProtocolError
from weft.schema.wire import encode as encode_json

MAX_LINE = 64 * 1024 * 1024


class Lines:
    """Bytes to lines. Only LF ends a line: U+2028 is legal inside a JSON string. A CR before the LF goes too."""

    def __init__(self, *, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._tail = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes; the rest waits for the next call.

        Raises:
            RemoteProtocolError: a line is longer than `max_line`. The splitter is of no use afterwards.
        """
        head, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._tail += data
            self._check(len(self._tail))
            return []
        lines = (bytes(self._tail) + head).split(b"\n")
        self._tail = bytearray(rest)
        self._check(max(len(rest), *map(len, lines)))
        return [line[:-1] if line.endswith(b"\r") else line for line in lines]

    def finish(self) -> list[bytes]:
        """The peer closed: what it left without a newline is a last line."""
        tail, self._tail = bytes(self._tail), bytearray()
        return [tail] if tail.strip() else []

    def _check(self, size: int) -> None:
        if size > self._max:
            raise RemoteProtocolError(f"a line is longer than {self._max} bytes")


class JsonLines:
    """Bytes to JSON values. Blank lines are nothing.

    A bad line never takes the good ones before it along: they are returned first, and the next call raises.
    """

    def __init__(self, *, max_line: int = MAX_LINE) -> None:
        self._lines = Lines(max_line=max_line)
        self._error: RemoteProtocolError | None = None

    @property
    def broken(self) -> bool:
        """Whether the next call raises."""
        return self._error is not None

    def feed(self, data: bytes) -> list[object]:
        """Returns the values completed by `data`; the rest waits for the next call.

        Raises:
            RemoteProtocolError: a line is not JSON, or is longer than `max_line`.
        """
        if self._error is not None:
            raise self._error
        return self._decode(self._lines.feed(data))

    def finish(self) -> list[object]:
        """The peer closed: a last line without a newline counts.

        Raises:
            RemoteProtocolError: it is not JSON.
        """
        if self._error is not None:
            raise self._error
        return self._decode(self._lines.finish())

    def _decode(self, lines: list[bytes]) -> list[object]:
        values: list[object] = []
        for line in lines:
            if not line.strip():
                continue
            try:
                values.append(msgspec.json.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._error = RemoteProtocolError(f"a line is not JSON ({error}): {line[:80]!r}")
                if values:
                    return values
                raise self._error from None
        return values


def encode(value: object) -> bytes:
    """One line with its newline. Blocks that we do not know leave as the bytes they came as."""
    # An unknown block's own bytes may hold newlines between tokens; inside a JSON string they cannot stand.
    return encode_json(value).replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
