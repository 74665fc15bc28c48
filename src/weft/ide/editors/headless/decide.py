"""Who decides a proposed change when there is no screen to show it on."""

import os
import sys
from typing import Literal, TypeAlias

import anyio

from weft.ide.editors.headless.editor import Decide, hold
from weft.ide.port import Diff
from weft.protocols.ide.values import Accepted, Rejected
from weft.tools.diff import accept, hunks

Who: TypeAlias = Literal["ask", "hold", "accept", "reject"]


def decider(who: Who) -> Decide:
    """`ask` puts each change before the person at this terminal; `hold` leaves it to the agent's own prompt."""
    if who == "ask":
        return TerminalDecider()
    return {"hold": hold, "accept": _accept, "reject": _reject}[who]


async def _accept(diff: Diff) -> Accepted | Rejected:
    return Accepted(diff.after)


async def _reject(diff: Diff) -> Accepted | Rejected:
    return Rejected()


class TerminalDecider:
    """One change at a time, hunk by hunk if the person likes. A change that is decided elsewhere stops asking."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()

    async def __call__(self, diff: Diff) -> Accepted | Rejected:
        async with self._turn:
            before = diff.before or ""
            found = hunks(before, diff.after)
            _say(f"\n{diff.agent or 'an agent'} wants to change {diff.path} ({len(found)} hunks)\n")
            for hunk in found:
                _say("\n".join(hunk.lines) + "\n")
            try:
                answer = await _ask("Take it? [y]es, [n]o, [h]unk by hunk: ")
                if answer == "y":
                    return Accepted(diff.after)
                if answer != "h":
                    return Rejected()
                chosen: list[int] = []
                for index, hunk in enumerate(found):
                    _say("\n".join(hunk.lines) + "\n")
                    if await _ask(f"Hunk {index + 1} of {len(found)}? [y/n]: ") == "y":
                        chosen.append(index)
                return Accepted(accept(before, diff.after, chosen)) if chosen else Rejected()
            except anyio.get_cancelled_exc_class():
                _say("\ndecided elsewhere.\n")
                raise


def _say(text: str) -> None:
    sys.stdout.write(_plain(text))
    sys.stdout.flush()


def _plain(text: str) -> str:
    """A file may hold anything; the terminal gets no escape sequences from it."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "·" for sign in text)


async def _ask(question: str) -> str:
    """The first letter of one line; the end of the input is a no."""
    _say(question)
    await anyio.wait_readable(sys.stdin.fileno())
    line = os.read(sys.stdin.fileno(), 4096)
    return line.decode("utf-8", "replace").strip().lower()[:1] if line else "n"
