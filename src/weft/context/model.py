"""What only some models need to be told."""

from collections.abc import Hashable
from typing import Final

from weft.context.port import Piece, View

_EAGER = """\
# Finish the work
Go on until the request is done; do not stop to announce what you will do next. Call tools with the exact argument \
names of their schema. Put nothing between you and the tool: no code fence, no quoted call, only the call itself."""

_SMALL = """\
# One step at a time
Before each call, know what you want to learn from it. Read the relevant lines before you edit them, copy the text to \
be replaced exactly, and change one thing at a time. Call tools with the exact argument names of their schema, as tool \
calls, never as text. If you are not sure that something exists, look."""

_LITERAL = """\
# Reading the request
Take the request as it is written. When it asks for one thing, do that thing; offer more at the end in a sentence \
instead of doing it."""

FAMILIES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("claude",), ""),
    (("gpt", "o1", "o3", "o4", "codex"), _EAGER),
    (("gemini", "grok"), _LITERAL),
    (
        ("llama", "qwen", "mistral", "codestral", "devstral", "deepseek", "gemma", "phi", "kimi", "glm", "granite"),
        _SMALL,
    ),
)


def family_of(model: str) -> str:
    """The name that a model's family is known by here; empty for one that we do not know."""
    name = model.lower().rpartition("/")[2]
    for names, _ in FAMILIES:
        if any(name.startswith(start) for start in names):
            return names[0]
    return ""


class ModelNotes:
    """An adaptation for the model's family. Models that we do not know get what small models get."""

    name = "model"

    def key(self, view: View) -> Hashable:
        return family_of(view.model)

    def read(self, view: View) -> tuple[Piece, ...]:
        family = family_of(view.model)
        text = next((text for names, text in FAMILIES if names[0] == family), _SMALL)
        if not text or not view.model:
            return ()
        return (Piece(name="model", text=text, where=f"weft ({family or 'unknown family'})", priority=60),)
