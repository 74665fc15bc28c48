"""What keeps keys quick in a process that does much else: the collector waits for a pause, and threads yield soon."""

import gc
import sys
from time import monotonic
from typing import Final

import anyio
from textual._styles_cache import StylesCache

QUIET: Final = 1.5
"""Seconds without a key after which a pause is a pause."""
JUST_NOW: Final = 0.4
"""Seconds after a key in which another one is likely."""
LOOK: Final = 5.0
"""Seconds between two looks for a pause."""
LONGEST: Final = 60.0
"""Seconds of typing without a pause after which the young objects are looked at all the same."""
SWITCH: Final = 0.0005
"""Seconds after which a thread that computes lets another one run. A key is read by one thread, painted by a second
and written by a third: with Python's own 5 ms each of them may wait so long for the next."""
YOUNG: Final = (500, 4)
"""Objects made between two collections of the youngest, and how many of those there are to one of the middle ones:
a few milliseconds at most. All objects are looked at only in a pause: that may take a twentieth of a second."""
NEVER: Final = 1_000_000_000
ENOUGH: Final = 10
"""Collections of the middle ones after which it is worth looking at all objects."""


class Pace:
    """`key` is told of every key; `run` goes on beside the screen, and leaves the process as it was."""

    def __init__(self) -> None:
        self._last_key = monotonic()
        self._last_look = monotonic()
        self._running = False

    def key(self) -> None:
        self._last_key = monotonic()
        if self._running:
            gc.disable()

    @property
    def typing(self) -> bool:
        """Whether a key came just now: what streams may then be painted less often."""
        return monotonic() - self._last_key < JUST_NOW

    async def run(self) -> None:
        """What is loaded by the time of the call stays; the collector never looks at it again."""
        thresholds, switch, enabled = gc.get_threshold(), sys.getswitchinterval(), gc.isenabled()
        gc.freeze()
        gc.set_threshold(*YOUNG, NEVER)
        sys.setswitchinterval(SWITCH)
        self._running = True
        try:
            while True:
                await anyio.sleep(LOOK)
                self.look(monotonic())
        finally:
            self._running = False
            gc.set_threshold(*thresholds)
            sys.setswitchinterval(switch)
            if enabled:
                gc.enable()

    def look(self, now: float) -> None:
        """Collects what is worth it, if nobody types at the moment."""
        if now - self._last_key < QUIET:
            if now - self._last_look > LONGEST:
                gc.collect(1)
                self._last_look = now
            return
        self._last_look = now
        held_back = not gc.isenabled()
        gc.enable()
        if held_back or gc.get_count()[2] >= ENOUGH:
            # Textual remembers the colours of the last thousand widgets, and with them all that those had painted.
            StylesCache.get_inner_outer.cache_clear()
            gc.collect()
