"""Commands that only change files which they name, for the modes that let edits pass."""

import os
import re
from collections.abc import Sequence

_OPTIONS = {
    "touch": r"-[acm]+|--no-create",
    "mkdir": r"-[pv]+|--(parents|verbose)",
    "rm": r"-[rRfidv]+|--(recursive|force|dir|verbose)",
    "rmdir": r"-[pv]+|--(parents|verbose)",
    "mv": r"-[finuvT]+|--(force|no-clobber|update|verbose)",
    "cp": r"-[finupvT]+|--(force|no-clobber|update|verbose)",
}
_REVERSIBLE = frozenset({"touch", "mkdir"})


def edited_files(words: Sequence[str], cwd: str, *, smart: bool = False) -> list[tuple[str, bool]] | None:
    """The files that a command touches, each with whether it is changed or only read; None for other commands.

    `smart` keeps to what can be undone by hand without loss.
    """
    options = _OPTIONS.get(words[0])
    if options is None or (smart and words[0] not in _REVERSIBLE):
        return None
    files: list[str] = []
    plain = False
    for word in words[1:]:
        if plain or not word.startswith("-"):
            files.append(word)
        elif word == "--":
            plain = True
        elif not re.fullmatch(options, word):
            return None
    if words[0] not in ("mv", "cp"):
        return [(path, True) for path in files] or None
    return _moved(words[0], files, cwd)


def _moved(name: str, files: list[str], cwd: str) -> list[tuple[str, bool]] | None:
    if len(files) < 2:
        return None
    *sources, target = files
    touched: list[tuple[str, bool]] = [(source, name == "mv") for source in sources]
    if os.path.isdir(os.path.join(cwd, target)):
        return touched + [(os.path.join(target, os.path.basename(source.rstrip("/"))), True) for source in sources]
    return [*touched, (target, True)]
