"""Loops and spirals: the same call with the same answer, or the same words before each call, again and again."""

from weft.schema.content import ToolResult, ToolUse
from weft.schema.wire import encode

REPEATS = 6
TEXT_REPEATS = 12
SHORT = 40


class LoopGuard:
    """Counts identical calls with identical results that follow one another."""

    def __init__(self, repeats: int = REPEATS) -> None:
        self._repeats = repeats
        self._last: int | None = None
        self._count = 0

    def note(self, use: ToolUse, result: ToolResult) -> str | None:
        """A sentence when the limit is reached, None before."""
        # Only the hash is kept: a result may be large, and one session of a thousand is not the place for it.
        call = hash(encode([use.name, use.input, result.content, result.is_error]))
        self._count = self._count + 1 if call == self._last else 1
        self._last = call
        if self._count < self._repeats:
            return None
        return f"Stopped: {use.name} was called {self._count} times in a row with the same input and the same result."


class TextGuard:
    """Counts replies that say the same and call tools, one after another; what they call may differ."""

    def __init__(self, repeats: int = TEXT_REPEATS) -> None:
        self._repeats = repeats
        self._last = ""
        self._count = 0

    def note(self, text: str) -> str | None:
        """A sentence when the limit is reached, None before. A short text is no sign of anything."""
        text = text.strip()
        self._count = self._count + 1 if text == self._last and len(text) >= SHORT else 1
        self._last = text
        if self._count < self._repeats:
            return None
        return f"Stopped: the model said the same {self._count} times in a row: {text[:80]!r}"
