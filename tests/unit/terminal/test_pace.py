"""The collector waits for a pause in typing."""

import gc
import sys
from time import monotonic

import anyio
import pytest

from weft.surfaces.terminal import pace
from weft.surfaces.terminal.transcript import KeptStrip


async def test_the_process_is_left_as_it_was() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    async with anyio.create_task_group() as group:
        group.start_soon(pace.keep_pace, monotonic)
        with anyio.fail_after(30):
            while gc.get_threshold()[2] != pace.NEVER:
                await anyio.lowlevel.checkpoint()
        assert sys.getswitchinterval() < before[1]
        group.cancel_scope.cancel()
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    gc.unfreeze()


def test_all_objects_are_looked_at_in_a_pause_and_never_while_keys_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, pace.ENOUGH))
    assert not pace.collect_if_quiet(monotonic())
    assert pace.collect_if_quiet(monotonic() - 2 * pace.QUIET)


def test_nothing_is_looked_at_when_little_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, pace.ENOUGH - 1))
    assert not pace.collect_if_quiet(monotonic() - 2 * pace.QUIET)


def test_a_line_of_the_conversation_is_freed_without_the_collector() -> None:
    from rich.segment import Segment

    strip = KeptStrip([Segment("a line")], 6)
    assert list(strip.divide([6])) == [strip]
    assert [part.text for part in strip.divide([2, 6])] == ["a ", "line"]
    assert all(strip is not part for part in strip.divide([2, 6]))
    assert not any(strip is found for found in gc.get_referents(strip))
