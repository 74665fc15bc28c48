"""`<think>` in plain text is thinking: some models write it that way. Any chunking gives the same pieces."""

from typing import Final, Literal, TypeAlias

Piece: TypeAlias = tuple[Literal["text", "thinking"], str]

OPEN: Final = "<think>"
CLOSE: Final = "</think>"


class ThinkSplitter:
    """Feed it text; it gives back pieces of text and of thinking, never an empty one.

    No Markdown is read here: models that write the tag put it outside of code.
    What may be the beginning of a tag waits for the next feed, or for `end`.
    """

    def __init__(self) -> None:
        self._held = ""
        self.thinking = False

    def feed(self, text: str) -> list[Piece]:
        self._held += text
        out: list[Piece] = []
        while True:
            tag = CLOSE if self.thinking else OPEN
            at = self._held.find(tag)
            if at < 0:
                break
            self._put(out, self._held[:at])
            self._held = self._held[at + len(tag) :]
            self.thinking = not self.thinking
        keep = _partial(self._held, CLOSE if self.thinking else OPEN)
        self._put(out, self._held[: len(self._held) - keep])
        self._held = self._held[len(self._held) - keep :]
        return out

    def end(self) -> list[Piece]:
        """The rest, as it is: a tag that never became whole is text."""
        out: list[Piece] = []
        self._put(out, self._held)
        self._held = ""
        return out

    def _put(self, out: list[Piece], text: str) -> None:
        if text:
            out.append(("thinking" if self.thinking else "text", text))


def _partial(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    for size in range(min(len(text), len(tag) - 1), 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0
