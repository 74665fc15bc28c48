"""The collector waits for a pause in typing."""

import gc
import sys
from collections.abc import Iterator
from time import monotonic

import anyio
import pytest

from weft.surfaces.terminal import pace
from weft.surfaces.terminal.pace import Pace
from weft.surfaces.terminal.transcript import KeptStrip


class Collections:
    """Which generations were collected on purpose."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[int] = []
        self.pending = pace.ENOUGH
        monkeypatch.setattr(gc, "collect", lambda generation=2: self.seen.append(generation))
        monkeypatch.setattr(gc, "get_count", lambda: (0, 0, self.pending))


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collections]:
    yield Collections(monkeypatch)
    gc.enable()


async def test_keys_hold_the_collector_back_and_the_process_is_left_as_it_was() -> None:
    before = gc.get_threshold(), sys.getswitchinterval(), gc.isenabled()
    one = Pace()
    one.key()
    assert gc.isenabled()
    async with anyio.create_task_group() as group:
        group.start_soon(one.run)
        with anyio.fail_after(30):
            while gc.get_threshold()[2] != pace.NEVER:
                await anyio.lowlevel.checkpoint()
        assert sys.getswitchinterval() < before[1]
        one.key()
        assert not gc.isenabled()
        group.cancel_scope.cancel()
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.isenabled()) == before
    gc.unfreeze()


def test_all_objects_are_looked_at_in_a_pause_and_never_while_keys_come(collections: Collections) -> None:
    one = Pace()
    one.key()
    one.look(monotonic())
    assert collections.seen == []
    one.look(monotonic() + 2 * pace.QUIET)
    assert collections.seen == [2]


def test_nothing_is_looked_at_when_little_was_made(collections: Collections) -> None:
    collections.pending -= 1
    Pace().look(monotonic() + 2 * pace.QUIET)
    assert collections.seen == []


def test_after_typing_the_pause_makes_up_for_what_was_held_back(collections: Collections) -> None:
    collections.pending = 0
    gc.disable()
    Pace().look(monotonic() + 2 * pace.QUIET)
    assert collections.seen == [2] and gc.isenabled()


def test_somebody_who_never_pauses_does_not_fill_the_memory(collections: Collections) -> None:
    one = Pace()
    began = monotonic()
    for seconds in range(0, 130, 5):
        vars(one)["_last_key"] = began + seconds
        one.look(began + seconds)
    assert collections.seen == [1, 1]


def test_a_line_of_the_conversation_is_freed_without_the_collector() -> None:
    from rich.segment import Segment

    strip = KeptStrip([Segment("a line")], 6)
    assert list(strip.divide([6])) == [strip]
    assert [part.text for part in strip.divide([2, 6])] == ["a ", "line"]
    assert all(strip is not part for part in strip.divide([2, 6]))
    assert not any(strip is found for found in gc.get_referents(strip))
