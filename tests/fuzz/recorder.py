"""Runs a line with bash so that every program it starts is only written down, with its words, and does nothing."""

import os
import subprocess
from pathlib import Path

from tests.fuzz.shell_lines import PROGRAMS

BUILTINS = "echo printf test [ true false pwd command eval type : hash kill"
_SHIM = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" '\\1' >> "$WEFT_RECORD"
"""


class Recorder:
    """`folder` gets the files that lines name, and the programs that write themselves down."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "proj"
        self.shims = folder / "shims"
        self.record = folder / "record"
        self._rc = folder / "rc"
        (self.project / "sub").mkdir(parents=True)
        self.shims.mkdir()
        for name in ("a.txt", "b.txt", "sub/c.txt"):
            (self.project / name).write_text("a b\nb c\n")
        for name in {*PROGRAMS, "[", "touch_out", "realpath", "basename", "dirname", "id", "cmp", "paste", "stat"}:
            shim = self.shims / name
            shim.write_text(_SHIM)
            shim.chmod(0o755)
        self._rc.write_text(f"enable -n {BUILTINS.replace(':', '')} 2>/dev/null\nenable -n : 2>/dev/null\n")

    def run(self, line: str) -> list[tuple[str, ...]]:
        """The words of each program that was started, in no certain order."""
        self.record.write_bytes(b"")
        env = {
            "PATH": str(self.shims),
            "HOME": str(self.project.parent / "home"),
            "BASH_ENV": str(self._rc),
            "WEFT_RECORD": str(self.record),
            "LC_ALL": "C.UTF-8",
        }
        subprocess.run(
            ["/bin/bash", "-c", f"{line}\nwait"],
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
        text = self.record.read_bytes().decode("utf-8", "surrogateescape")
        return [tuple(entry.split("\0")[:-1]) for entry in text.split("\\1\0") if entry]

    def files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for folder, _, names in os.walk(self.project):
            for name in names:
                path = Path(folder) / name
                found[str(path.relative_to(self.project))] = path.read_bytes()
        return found
