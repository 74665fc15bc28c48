"""Keeps this process's memory and environment from other processes of the same person."""

import ctypes
import sys
from typing import Final

_PR_GET_DUMPABLE: Final = 3
_PR_SET_DUMPABLE: Final = 4


def hide_from_peers() -> bool:
    """After this, `/proc/<pid>/environ` and `mem` belong to root: a child that runs as the same person cannot read
    the key there. True where the system could do it; children that are started later are as usual."""
    if not sys.platform.startswith("linux"):
        return False
    return _prctl(_PR_SET_DUMPABLE, 0) == 0


def is_hidden() -> bool:
    return sys.platform.startswith("linux") and _prctl(_PR_GET_DUMPABLE, 0) == 0


def _prctl(option: int, value: int) -> int:
    return int(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0))
