"""Loops and spirals: the same call with the same answer, again and again."""

import hashlib

from weft.schema.content import ToolResult, ToolUse
from weft.schema.wire import encode

REPEATS = 6


class LoopGuard:
    """Counts identical calls with identical results that follow one another."""

    def __init__(self, repeats: int = REPEATS) -> None:
        self._repeats = repeats
        self._last = b""
        self._count = 0

    def note(self, use: ToolUse, result: ToolResult) -> str | None:
        """A sentence when the limit is reached, None before."""
        same = hashlib.blake2b(encode([use.name, use.input, result.content, result.is_error]), digest_size=16).digest()
        self._count = self._count + 1 if same == self._last else 1
        self._last = same
        if self._count < self._repeats:
            return None
        return f"Stopped: {use.name} was called {self._count} times in a row with the same input and the same result."
