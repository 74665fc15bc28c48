"""`weft`: the composition root."""

import sys

from weft import __version__


def entry() -> None:
    """The console script."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"{__version__} (Weft)\n")
        return
    raise SystemExit(2)
