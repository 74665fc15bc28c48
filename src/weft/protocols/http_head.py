"""The heads of HTTP/1.1 as a client needs them: a request's out, an answer's in.

h11 does this too, and more of it; it takes a tenth of the CPU that a whole prompt may cost to be imported.
"""

from collections.abc import Mapping

import msgspec

from weft.errors import LocalProtocolError, RemoteProtocolError

_TOKEN = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CONTROLS = bytes(range(0x20)) + b"\x7f"


class Head(msgspec.Struct, frozen=True):
    """`headers` have lower-case names; values of the same name are joined by commas."""

    status: int
    minor: int
    """The version is 1.`minor`."""
    headers: dict[str, str]


class HeadDecoder:
    """Bytes to one head. Interim answers (100, 103) are passed over. `rest` is what followed the head."""

    def __init__(self, *, max_size: int) -> None:
        self._max = max_size
        self._buffer = b""
        self.rest = b""

    def feed(self, data: bytes) -> Head | None:
        """The head, once it is whole.

        Raises:
            RemoteProtocolError: this is not HTTP/1, or the head is larger than `max_size`.
        """
        self._buffer += data
        while True:
            end = _end(self._buffer)
            if end is None:
                self._check()
                return None
            head = _decode(self._buffer[:end])
            self._buffer = self._buffer[end:]
            if head.status >= 200:
                self.rest, self._buffer = self._buffer, b""
                return head

    def _check(self) -> None:
        if len(self._buffer) > self._max:
            raise RemoteProtocolError(f"a head is larger than {self._max} bytes")
        if len(self._buffer) >= 5 and not self._buffer.startswith(b"HTTP/"):
            raise RemoteProtocolError(f"not HTTP: {self._buffer[:20]!r}")


def _end(data: bytes) -> int | None:
    """Where the empty line after a head ends. RFC 9112 lets a reader take a lone LF for CRLF."""
    ends = [at + len(mark) for mark in (b"\n\r\n", b"\n\n") if (at := data.find(mark)) >= 0]
    return min(ends, default=None)


def _status(line: bytes) -> tuple[int, int]:
    """The status and the minor version."""
    version, _, rest = line.partition(b" ")
    code = rest.lstrip(b" ").partition(b" ")[0]
    if version not in (b"HTTP/1.0", b"HTTP/1.1") or len(code) != 3 or not code.isdigit() or code < b"100":
        raise RemoteProtocolError(f"not an HTTP/1 answer: {line[:40]!r}")
    return int(code), int(version[-1:])


def _is_token(name: bytes) -> bool:
    return bool(name) and not name.translate(None, _TOKEN)


def _decode(data: bytes) -> Head:
    first, *lines = data.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    status, minor = _status(first)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _is_token(name):
            raise RemoteProtocolError(f"not a header: {line[:40]!r}")
        key, text = name.decode().lower(), value.strip(b" \t").decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Head(status, minor, headers)


def content_length(head: Head) -> int | None:
    """
    Raises:
        RemoteProtocolError: it is not a number, or there are two that differ.
    """
    text = head.headers.get("content-length")
    if text is None:
        return None
    values = {part.strip() for part in text.split(",")}
    value = values.pop()
    if values or not value.isascii() or not value.isdigit() or len(value) > 18:
        raise RemoteProtocolError(f"not a content length: {text[:40]!r}")
    return int(value)


def encode_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """
    Raises:
        LocalProtocolError: something in it cannot stand in a head; the message names it, not its value.
    """
    try:
        start = f"{method} {target} HTTP/1.1".encode("ascii")
    except UnicodeEncodeError:
        raise LocalProtocolError("an address has a character that must be escaped") from None
    if len(start.split()) != 3 or start.translate(None, _CONTROLS) != start:
        raise LocalProtocolError("an address has a space or a control character")
    lines = [start]
    for name, value in headers.items():
        try:
            field, text = name.encode("ascii"), value.encode("latin-1")
        except UnicodeEncodeError:
            raise LocalProtocolError(f"the header {name!r} has a character that HTTP does not allow") from None
        if not _is_token(field) or any(mark in text for mark in (b"\0", b"\r", b"\n")):
            raise LocalProtocolError(f"the header {name!r} has a character that HTTP does not allow")
        lines.append(field + b": " + text.strip())
    return b"\r\n".join(lines) + b"\r\n\r\n"
