"""Faults of the model by seed: every turn ends, with a reason, and the next one works."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast, get_args

import anyio
import pytest

from tests.integration.driving import until_end
from weft.agent.options import SessionOptions
from weft.connect.port import Connection
from weft.providers.port import Provider
from weft.providers.retry import RetryingProvider, RetryPolicy
from weft.schema.commands import Cancel, Prompt
from weft.schema.events import ToolCalled, ToolEnded, TurnEnded, TurnReason, TurnStarted
from weft.sdk.compose import Overrides, connect
from weft.testing.faults import FaultyProvider
from weft.testing.scripted import ScriptedProvider, call, say, think

REASONS = frozenset(get_args(TurnReason))


def script(folder: Path) -> list[object]:
    read = call("Read", file_path=str(folder / "a.txt"))
    return [
        [think("Hm."), say("Looking. " * 20), read],
        [read, call("Glob", pattern="*.txt"), call("Bash", command="ls")],
        call("Edit", file_path=str(folder / "a.txt"), old_string="nowhere", new_string="x"),
        call("NoSuchTool", x=1),
        call("Read"),
        "An answer. " * 30,
    ]


@asynccontextmanager
async def faulty(folder: Path, seed: int) -> AsyncIterator[tuple[Connection, FaultyProvider]]:
    inner = ScriptedProvider(cast("list[str]", script(folder)), cycle=True, chunk=7)
    spoiled = FaultyProvider(cast(Provider, inner), seed, rate=0.35, lasting=0.3)
    retrying = RetryingProvider(spoiled, policy=RetryPolicy(max_retries=2, first=0.0, longest=0.0, jitter=0.0))
    options = SessionOptions(cwd=folder, mode="acceptEdits", persist=seed % 2 == 0)
    with anyio.fail_after(60):
        async with connect(options, Overrides(provider=retrying)) as connection:
            yield connection, spoiled


@pytest.mark.parametrize("seed", range(12))
async def test_every_turn_ends_with_a_reason_and_the_next_one_works(seed: int, tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello\n")
    async with faulty(tmp_path, seed) as (connection, provider):
        for number in range(6):
            await connection.send(Prompt(f"turn {number}"))
            events = await until_end(connection)
            end = events[-1]
            assert isinstance(end, TurnEnded)
            assert end.reason in REASONS
            if end.reason not in ("completed", "cancelled", "local_command"):
                assert end.error, end
            assert sum(isinstance(e, TurnStarted) for e in events) == 1
            called = [e.use.id for e in events if isinstance(e, ToolCalled)]
            closed = [e.tool_use_id for e in events if isinstance(e, ToolEnded)]
            assert set(called) == set(closed) and len(closed) == len(set(closed))
        assert any(provider.faults), "the seed planned no fault"


@pytest.mark.parametrize("seed", range(8))
async def test_a_cancel_at_any_moment_ends_the_turn_and_the_next_one_works(seed: int, tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello\n")
    async with faulty(tmp_path, seed) as (connection, _):
        for number in range(3):
            await connection.send(Prompt(f"turn {number}"))
            seen = 0
            async for event in connection.events():
                seen += 1
                if seen == 3 + seed * 4 + number:
                    await connection.send(Cancel())
                if isinstance(event, TurnEnded):
                    assert event.reason in REASONS
                    break
