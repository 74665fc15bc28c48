"""The sources put together: the system prompt, and what stands before the first prompt.

The order is base, model, environment, memory, git, files, tools. The first three are the system prompt, which stays
the same byte for byte from turn to turn; the rest is said once, in front of the conversation, where it is history
and cached as such. When all of it is more than the budget, the pieces of least priority are shortened or left out.
"""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from weft.context.base import Base, PlanMode
from weft.context.environment import Environment
from weft.context.files import Files
from weft.context.git import Git
from weft.context.memory import OPENING, Memory
from weft.context.model import ModelNotes
from weft.context.port import LiveSource, Piece, Source, View
from weft.context.tools import Listings
from weft.schema.content import Content, Text
from weft.schema.messages import SystemPart
from weft.sessions import tokens

BUDGET = 40_000
SMALLEST = 1_500
MARK = "system-reminder"


class PromptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller says about the system prompt. `replace` stands in the place of base and model notes; `append`
    comes after everything that stays the same. `bare` leaves out memory, git and files."""

    replace: str | None = None
    append: str | None = None
    preset: Literal["weft", "none"] = "weft"
    static: bool = False
    """What is about this machine alone is told in front of the conversation, not in the system prompt."""
    bare: bool = False
    budget: int = BUDGET


class Assembler:
    """Puts the sources together. Sources are read again only when what they depend on has changed."""

    def __init__(
        self,
        options: PromptOptions | None = None,
        *,
        memory: Memory | None = None,
        sources: Sequence[Source] | None = None,
        live: Sequence[LiveSource] | None = None,
    ) -> None:
        self.options = options or PromptOptions()
        self.memory = memory or Memory()
        self._sources: Sequence[Source] = sources or (Base(), ModelNotes(), Environment(), PlanMode())
        self._live: Sequence[LiveSource] = live or (self.memory, Git(), Files(), Listings())
        self._cache: dict[str, tuple[Hashable, tuple[Piece, ...]]] = {}

    def system(self, view: View) -> tuple[SystemPart, ...]:
        """The system prompt: what never changes, then what seldom does. Each part ends a cacheable prefix."""
        pieces = self.system_pieces(view)
        stable = [piece.text for piece in pieces if piece.name not in ("environment", "plan mode")]
        moving = [piece.text for piece in pieces if piece.name in ("environment", "plan mode")]
        parts = [SystemPart("\n\n".join(texts), cache=True) for texts in (stable, moving) if texts]
        return tuple(parts)

    def system_pieces(self, view: View) -> tuple[Piece, ...]:
        """As `system`, by source."""
        options = self.options
        pieces: list[Piece] = []
        for source in self._sources:
            if source.name in ("base", "model") and (options.replace is not None or options.preset == "none"):
                continue
            if source.name == "environment":
                pieces += self._given()
                if options.static:
                    continue
            pieces += self._held(source, view)
        return tuple(piece for piece in pieces if piece.text)

    def _given(self) -> list[Piece]:
        given = [("system prompt", self.options.replace), ("appended prompt", self.options.append)]
        return [Piece(name=name, text=text, where="given by the caller", priority=100) for name, text in given if text]

    def _held(self, source: Source, view: View) -> tuple[Piece, ...]:
        key = source.key(view)
        held = self._cache.get(source.name)
        if held is None or held[0] != key:
            held = self._cache[source.name] = (key, source.read(view))
        return held[1]

    async def reminders(self, view: View) -> Content:
        """What is put before the first prompt of a conversation, a block for each source."""
        pieces = await self.reminder_pieces(view)
        blocks: list[Text] = []
        for name in dict.fromkeys(piece.name for piece in pieces):
            blocks.append(_block([piece for piece in pieces if piece.name == name]))
        return tuple(blocks)

    async def reminder_pieces(self, view: View) -> tuple[Piece, ...]:
        """As `reminders`, by piece, within the budget."""
        pieces: list[Piece] = []
        if self.options.static:
            pieces += [piece for source in self._sources if source.name == "environment" for piece in source.read(view)]
        for source in self._live:
            if not self.options.bare or source.name == "tools":
                pieces += await source.read(view)
        return fitted(pieces, self._budget(view))

    def _budget(self, view: View) -> int:
        """A small window has room for a quarter of it at most: the conversation needs the rest."""
        return min(self.options.budget, max(view.window // 4, SMALLEST)) if view.window else self.options.budget

    def compacted(self) -> None:
        """What was told of folders below may be gone from the conversation: it is told again when it matters."""
        self.memory.forget()

    def touched(self, path: Path, view: View) -> Content:
        """What is to be told after a file was read or written: memory of its folders, rules that match it."""
        if self.options.bare:
            return ()
        pieces = fitted(self.memory.touched(path, view), self._budget(view) // 4)
        return (_block(pieces),) if pieces else ()


def _block(pieces: Sequence[Piece]) -> Text:
    opening = [OPENING] if pieces[0].name == "memory" else []
    body = "\n\n".join([*opening, *(piece.text for piece in pieces)])
    return Text(f"<{MARK}>\n{body}\n</{MARK}>")


def fitted(pieces: Sequence[Piece], budget: int) -> tuple[Piece, ...]:
    """The pieces within the budget, in their order: those of least priority are shortened first, the later of two
    equals first, then left out."""
    kept = list(pieces)
    costs = [piece.tokens for piece in kept]
    total = sum(costs)
    by_priority = sorted(range(len(kept)), key=lambda index: (kept[index].priority, -index))
    for shorten in (True, False):
        for index in by_priority:
            if total <= budget:
                break
            text = kept[index].shortened if shorten else ""
            saved = costs[index] - tokens.of_text(text)
            if saved > 0:
                total -= saved
                costs[index] -= saved
                kept[index] = msgspec.structs.replace(kept[index], text=text)
    return tuple(piece for piece in kept if piece.text)
