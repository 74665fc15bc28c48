"""Pending changes: five ways to end, each exactly once."""

import anyio
import pytest

from weft.ide.diffs import DiffTable
from weft.ide.port import Diff
from weft.protocols.ide.values import Accepted, Rejected


class View:
    """A view of diffs that a test answers; it knows which are open."""

    def __init__(self) -> None:
        self.open: dict[str, Accepted | Rejected | None] = {}
        self.changed = anyio.Event()

    async def show(self, diff: Diff) -> Accepted | Rejected:
        self.open[diff.id] = None
        self._tell()
        try:
            while (answer := self.open[diff.id]) is None:
                await self.changed.wait()
            return answer
        finally:
            del self.open[diff.id]
            self._tell()

    def answer(self, id: str, answer: Accepted | Rejected) -> None:
        self.open[id] = answer
        self._tell()

    async def holds(self, count: int) -> None:
        while len(self.open) != count:
            await self.changed.wait()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


def diff(id: str, title: str = "tab") -> Diff:
    return Diff(id=id, path="/f", before="a\n", after="b\n", title=title)


class Desk:
    def __init__(self) -> None:
        self.view = View()
        self.table = DiffTable(self.view.show)
        self.outcomes: dict[str, object] = {}

    async def run(self, owner: str, item: Diff) -> None:
        self.outcomes[item.id] = await self.table.open(owner, item)


@pytest.mark.parametrize("answer", [Accepted("b\n"), Accepted("mine\n"), Rejected()], ids=str)
async def test_the_persons_answer_is_the_outcome(answer) -> None:
    desk = Desk()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, "one", diff("1"))
            await desk.view.holds(1)
            desk.view.answer("1", answer)
    assert desk.outcomes == {"1": answer} and len(desk.table) == 0


async def test_the_first_answer_counts_and_the_view_closes() -> None:
    desk = Desk()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, "one", diff("1"))
            await desk.view.holds(1)
            assert desk.table.decide("1", Accepted("page\n"))
            assert not desk.table.decide("1", Rejected())
            await desk.view.holds(0)
    assert desk.outcomes == {"1": Accepted("page\n")}


async def test_an_agent_closes_only_its_own_tabs() -> None:
    desk = Desk()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for owner, id, title in (("one", "1", "tab"), ("two", "2", "tab"), ("one", "3", "other")):
                group.start_soon(desk.run, owner, diff(id, title))
            await desk.view.holds(3)
            assert desk.table.close("one", "tab") == 1 and desk.table.close("one", "tab") == 0
            await desk.view.holds(2)
            assert desk.outcomes == {"1": Rejected()}
            assert desk.table.close_all("one") == 1 and desk.table.close_all("two") == 1
    assert set(desk.outcomes.values()) == {Rejected()}


async def test_another_diff_of_the_same_title_replaces_the_first() -> None:
    desk = Desk()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, "one", diff("1"))
            await desk.view.holds(1)
            group.start_soon(desk.run, "one", diff("2"))
            while "1" not in desk.outcomes:
                await anyio.sleep(0)
            await desk.view.holds(1)
            desk.view.answer("2", Accepted("b\n"))
    assert desk.outcomes == {"1": Rejected(), "2": Accepted("b\n")}


async def test_a_cancelled_call_takes_its_view_away() -> None:
    desk = Desk()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, "one", diff("1"))
            await desk.view.holds(1)
            group.cancel_scope.cancel()
    assert desk.outcomes == {} and desk.view.open == {} and len(desk.table) == 0
