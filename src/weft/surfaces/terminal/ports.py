"""What the terminal is given by whoever starts it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.surfaces.terminal.conversation import OpenAgent

if TYPE_CHECKING:
    from weft.sessions.port import SessionStore
    from weft.settings import Settings


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the set-up: a key in the environment, a local model server, a program."""

    state: str
    """`ok`, `missing` or `problem`."""
    text: str
    advice: str = ""
    model: str = ""
    """The model that choosing this row would use."""


class Parts(msgspec.Struct, kw_only=True):
    """`start` opens agents. The rest is made when it is first needed, so that the first paint does not wait for it."""

    start: OpenAgent
    cwd: Path
    env: Mapping[str, str]
    prompt: str = ""
    pick: bool = False
    """Begin with the list of conversations (`--resume` without a name)."""
    theme: str = ""
    vim: bool = False
    history: Path | None = None
    store: Callable[[], "SessionStore"]
    settings: Callable[[], "Settings"]
    look_around: Callable[[], Awaitable[list[Found]]]
