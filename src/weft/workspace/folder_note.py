"""Where a command ended up, told behind the back of the terminal that it runs in: neither its line nor its output has
anything of ours in it."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path


class FolderNote:
    """`env` makes a bash write its folder into a file when it ends. `read` gives it; `remove` takes all of it away.

    Bash runs the file that `BASH_ENV` names before its command. The person's own, if there is one, is run as well, and
    programs that the command starts see theirs again, not ours. On another machine the file is not there, which bash
    passes over: then nothing is known.
    """

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="weft-folder-"))
        theirs = os.environ.get("BASH_ENV", "")
        again = f'export BASH_ENV={shlex.quote(theirs)}\n[ -r "$BASH_ENV" ] && . "$BASH_ENV"\n'
        lines = again if theirs else "unset BASH_ENV\n"
        note = shlex.quote(str(self._home / "folder"))
        start = self._home / "start"
        start.write_text(f"{lines}trap {shlex.quote(f'pwd -P 2>/dev/null >{note}')} EXIT\n")
        self.env = {"BASH_ENV": str(start)}

    def read(self) -> bytes:
        """The folder and a newline; empty when the shell could not say."""
        try:
            return (self._home / "folder").read_bytes()[:8192]
        except OSError:
            return b""

    def remove(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
