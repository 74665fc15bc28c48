"""Opens a picker and waits for the choice."""

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp
    from weft.surfaces.terminal.picker import Picked, Picker


async def pick(app: "TerminalApp", picker: "Picker") -> "Picked | None":
    done = anyio.Event()
    chosen: list[Picked | None] = []

    def close(result: "Picked | None") -> None:
        chosen.append(result)
        done.set()

    app.push_screen(picker, close)
    await done.wait()
    return chosen[0]
