"""Where the agent is: folders, system, date. Stable for a session that stays in its folder for a day."""

import os
import sys
from collections.abc import Hashable
from datetime import date

from weft.context.port import Piece, View


class Environment:
    name = "environment"

    def key(self, view: View) -> Hashable:
        return (view.cwd, view.folders, view.model, view.date or date.today().isoformat())

    def read(self, view: View) -> tuple[Piece, ...]:
        others = [str(folder) for folder in view.folders if folder != view.cwd]
        rows = [
            f"Working folder: {view.cwd}",
            *([f"Other folders: {', '.join(others)}"] if others else []),
            f"System: {_system()}",
            f"Date: {view.date or date.today().isoformat()}",
            *([f"Model: {view.model}"] if view.model else []),
        ]
        return (Piece(name="environment", text="# Environment\n" + "\n".join(rows), where="this machine", priority=80),)


def _system() -> str:
    if sys.platform == "win32":
        return "Windows"
    machine = os.uname()
    return f"{machine.sysname} {machine.release} ({machine.machine})"
