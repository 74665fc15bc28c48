"""The watcher: a tiny shell that outlives us by a moment and kills what we left running.

It reads group ids from a pipe that only we hold open. When we end, by exit or by SIGKILL, the pipe closes and it
kills every group that is still on its list. One watcher serves all children; the first spawn starts it.
"""

import contextlib
import os
import subprocess

_SCRIPT = """
trap '' INT HUP TERM QUIT
all=' '
while read -r sign id; do
  case $sign in
    +) all="$all$id " ;;
    -) case $all in *" $id "*) all="${all%%" $id "*} ${all#*" $id "}" ;; esac ;;
  esac
done
for id in $all; do kill -s KILL -- "-$id" 2>/dev/null; done
"""


class Watcher:
    """Keeps the list of groups. A group leaves it when nothing of it is left."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._orphaned: set[int] = set()
        self._pipe = -1
        self._owner = 0

    def prepare(self) -> None:
        """Before a spawn: the watcher is there, so that hardly a moment is left in which a child is nobody's."""
        if self._owner != os.getpid():
            self._start()

    def started(self, group: int) -> None:
        self.sweep()
        self._groups.add(group)
        self._tell("+", group)

    def leader_ended(self, group: int) -> None:
        self._orphaned.add(group)
        self.sweep()

    def sweep(self) -> None:
        """Forgets the groups that are empty now: a number may be given again once nothing has it."""
        for group in tuple(self._orphaned):
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                self._orphaned.discard(group)
                self._groups.discard(group)
                self._tell("-", group)
            except PermissionError:
                continue

    def _tell(self, sign: str, group: int) -> None:
        line = f"{sign} {group}\n".encode()
        if self._owner == os.getpid():
            with contextlib.suppress(OSError):
                os.write(self._pipe, line)
                return
            os.close(self._pipe)
        self._start()
        with contextlib.suppress(OSError):
            os.write(self._pipe, b"".join(f"+ {each}\n".encode() for each in self._groups))

    def _start(self) -> None:
        """After a fork the groups of the parent are the parent's: this process gets a watcher of its own."""
        if self._owner not in (0, os.getpid()):
            self._groups, self._orphaned = set(), set()
        reading, self._pipe = os.pipe()
        self._owner = os.getpid()
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
        os.close(reading)
        process.returncode = 0  # It outlives us: nobody waits for it, and Popen must not complain.


watcher = Watcher()
