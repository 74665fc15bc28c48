"""What an attached editor shows, for a surface that has no session of its own."""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from weft.errors import WorkspaceError
from weft.protocols.ide.guest import Selected
from weft.protocols.ide.values import Selection
from weft.workspace.ide.link import Change, IdeLink
from weft.workspace.ide.locks import choose

_log = logging.getLogger(__name__)
POLL = 2.0


async def watch_selections(
    cwd: Path,
    told: Callable[[Selection | None], None],
    *,
    hidden: Callable[[str], bool],
    env: Mapping[str, str] | None = None,
) -> None:
    """Attaches to the editor that has `cwd` open, now or when it appears, and calls `told` at each change. Goes on
    until it is cancelled. Files that `hidden` names are told as None, and so is the end of the editor."""
    while True:
        found = choose(cwd, env, auto=True).found
        if found is None or found.lock.pid == os.getpid():
            await anyio.sleep(POLL)
            continue
        over = anyio.Event()

        def heard(change: Change, over: anyio.Event = over) -> None:
            if isinstance(change, Selected):
                selection = change.selection
                told(None if selection is None or hidden(selection.path) else selection)
            elif change == "closed":
                over.set()

        try:
            async with IdeLink(found, cwd=cwd, heard=heard, env=env):
                await over.wait()
        except WorkspaceError as error:
            _log.debug("no editor to watch: %s", error)
        told(None)
        await anyio.sleep(POLL)
