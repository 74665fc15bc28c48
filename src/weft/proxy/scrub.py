"""Keeps secrets out of what leaves: streams, headers, errors and logs.

A secret is replaced by as many stars, so that lengths and framing stay right. A stream is held back only where its
last bytes may be the beginning of a secret.
"""

import base64
from collections.abc import Iterable
from urllib.parse import quote

_SHORTEST = 6


def spellings(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """The secrets as they may turn up: plain, URL-encoded, base64. Very short ones would hit plain text."""
    found: dict[bytes, None] = {}
    for secret in secrets:
        if len(secret) < _SHORTEST:
            continue
        plain = secret.encode()
        for one in (plain, quote(secret, safe="").encode(), base64.b64encode(plain).rstrip(b"=")):
            found[one] = None
    return tuple(found)


class Scrubber:
    """Bytes in, the same bytes out, without the secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._needles = spellings(secrets)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if not self._needles:
            return data
        if self._held:
            data, self._held = self._held + data, b""
        data = self._stars(data)
        keep = max(_overlap(data, needle) for needle in self._needles)
        if keep:
            data, self._held = data[:-keep], data[-keep:]
        return data

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def clean(self, data: bytes) -> bytes:
        """A whole text."""
        return self._stars(data)

    def text(self, text: str) -> str:
        return self._stars(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _stars(self, data: bytes) -> bytes:
        for needle in self._needles:
            if needle in data:
                data = data.replace(needle, b"*" * len(needle))
        return data


def _overlap(data: bytes, needle: bytes) -> int:
    """How many of the last bytes of `data` are the beginning of `needle`."""
    at = max(0, len(data) - len(needle) + 1)
    first = needle[:1]
    while (at := data.find(first, at)) >= 0:
        if needle.startswith(data[at:]):
            return len(data) - at
        at += 1
    return 0
