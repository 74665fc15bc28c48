"""What Weft is and how it works: the same for every project, so that it can be cached."""

from collections.abc import Hashable
from functools import cache
from pathlib import Path

from weft.context.port import Piece, View

PLAN = """\
# Plan mode
The person wants a plan before anything changes. Read and search as much as you need; do not edit files, and run \
nothing that changes anything. Then propose the plan with the tool for that: what will change, in which files, in \
which order, and how it will be checked. Wait for the answer."""

ALONE = """\
# Nobody is watching
This run has no person to ask. Do not ask questions: choose what a careful colleague would choose, and say in your \
last message what you assumed."""


@cache
def base_prompt() -> str:
    return Path(__file__).with_name("base.md").read_text(encoding="utf-8").strip()


class Base:
    """The opening of the system prompt."""

    name = "base"

    def key(self, view: View) -> Hashable:
        return view.interactive

    def read(self, view: View) -> tuple[Piece, ...]:
        base = Piece(name="base", text=base_prompt(), where="weft", priority=100)
        if view.interactive:
            return (base,)
        return (base, Piece(name="alone", text=ALONE, where="weft", priority=90))


class PlanMode:
    """Last in the system prompt: it comes and goes without moving what stands before it."""

    name = "mode"

    def key(self, view: View) -> Hashable:
        return view.mode == "plan"

    def read(self, view: View) -> tuple[Piece, ...]:
        if view.mode != "plan":
            return ()
        return (Piece(name="plan mode", text=PLAN, where="weft", priority=95),)
