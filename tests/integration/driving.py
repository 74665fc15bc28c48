"""Opening a session on a scripted model, and reading a turn of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from weft.agent.options import SessionOptions
from weft.connect.port import Connection
from weft.schema.commands import Prompt
from weft.schema.events import AgentEvent, TurnEnded
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import Script, ScriptedProvider


@asynccontextmanager
async def session(
    cwd: Path, script: Script | ScriptedProvider, **options: Any
) -> AsyncIterator[tuple[Connection, ScriptedProvider]]:
    provider = script if isinstance(script, ScriptedProvider) else ScriptedProvider(script)
    with anyio.fail_after(120):
        async with connect(SessionOptions(cwd=cwd, **options), Overrides(provider=provider)) as connection:
            yield connection, provider


async def turn(connection: Connection, text: str) -> list[AgentEvent]:
    """Every event of one turn."""
    await connection.send(Prompt(text))
    return await until_end(connection)


async def until_end(connection: Connection) -> list[AgentEvent]:
    seen: list[AgentEvent] = []
    async for event in connection.events():
        seen.append(event)
        if isinstance(event, TurnEnded):
            break
    return seen


def ended(events: list[AgentEvent]) -> TurnEnded:
    last = events[-1]
    assert isinstance(last, TurnEnded)
    return last


def names(events: list[AgentEvent]) -> list[str]:
    """The kinds of events in order, runs of the same kind as one."""
    found: list[str] = []
    for event in events:
        name = type(event).__name__
        if not found or found[-1] != name:
            found.append(name)
    return found
