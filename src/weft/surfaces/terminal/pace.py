"""What keeps keys quick in a process that does much else: the collector waits for a pause, and threads yield soon."""

import gc
import sys
from collections.abc import Callable
from time import monotonic
from typing import Final

import anyio

QUIET: Final = 2.0
"""Seconds without a key after which a pause is a pause."""
LOOK: Final = 5.0
"""Seconds between two looks for a pause."""
SWITCH: Final = 0.0005
"""Seconds after which a thread that computes lets another one run. A key is read by one thread, painted by a second
and written by a third: with Python's own 5 ms each of them may wait so long for the next."""
YOUNG: Final = (500, 4)
"""Objects made between two collections of the youngest, and how many of those there are to one of the middle ones:
a few milliseconds at most. All objects are looked at only in a pause: that may take a twentieth of a second."""
NEVER: Final = 1_000_000_000
ENOUGH: Final = 10
"""Collections of the middle ones after which it is worth looking at all objects."""


async def keep_pace(last_key: Callable[[], float]) -> None:
    """Runs beside the screen until it is cancelled, and leaves the process as it was.

    What is loaded by the time of the call stays; the collector never looks at it again.
    """
    thresholds, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(*YOUNG, NEVER)
    sys.setswitchinterval(SWITCH)
    try:
        while True:
            await anyio.sleep(LOOK)
            collect_if_quiet(last_key())
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(switch)


def collect_if_quiet(last_key: float) -> bool:
    """Whether it was worth it, and nobody typed."""
    if gc.get_count()[2] < ENOUGH or monotonic() - last_key < QUIET:
        return False
    gc.collect()
    return True
