"""What a command file wishes for its turn: its own model and effort. Afterwards all is as before.

Its `allowed-tools` are not granted: a file of a repository cannot widen what the person allowed.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, Protocol

import anyio
import msgspec

from weft.agent.commands.port import Taken
from weft.errors import WeftError
from weft.schema.messages import ThinkingConfig

EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Wishing(Protocol):
    """The part of a session's state that a wish changes."""

    model: str
    thinking: ThinkingConfig


@asynccontextmanager
async def granted(
    taken: Taken,
    state: Wishing,
    set_model: Callable[[str | None], Awaitable[None]],
    notice: Callable[[str, Literal["warning"]], None],
) -> AsyncGenerator[None]:
    """Holds while the turn runs. A model that cannot be had is a notice, and the turn runs on the session's own."""
    former, thinking = state.model, state.thinking
    wished = former
    try:
        if taken.model:
            try:
                await set_model(taken.model)
                wished = state.model
            except WeftError as error:
                notice(f"/{taken.command} asks for the model {taken.model}: {error}", "warning")
        if taken.effort in EFFORTS:
            state.thinking = msgspec.structs.replace(thinking, effort=taken.effort)
        yield
    finally:
        if taken.effort in EFFORTS:
            state.thinking = thinking
        # Who chose another model in the meantime keeps it.
        if wished != former and state.model == wished:
            with anyio.move_on_after(5, shield=True):
                await set_model(former)
