"""The forty edits in real projects from PyPI: each check fails before its solution and passes after it."""

from pathlib import Path

import msgspec
import pytest

from weft.cli.eval import scripted
from weft.providers.port import Provider
from weft.sdk.evals.run import Outcome, Plan, run_tasks
from weft.sdk.evals.tasks import Task, read_tasks
from weft.testing.scripted import ScriptedProvider

CACHE = Path.home() / ".weft" / "cache" / "evals"
"""Taken at import: the tests have a home of their own, and the packages are brought once."""


@pytest.fixture(autouse=True)
def packages(fresh_home: Path):
    CACHE.mkdir(parents=True, exist_ok=True)
    place = fresh_home / ".weft" / "cache"
    place.mkdir(parents=True)
    (place / "evals").symlink_to(CACHE, target_is_directory=True)


def ignore(outcome: Outcome) -> None: ...


def idle(task: Task) -> Provider:
    return ScriptedProvider(["I did nothing."])


async def test_every_check_passes_with_its_solution_through_the_small_model_profile():
    tasks = read_tasks("edits")
    assert len(tasks) == 40
    outcomes = await run_tasks(Plan(tasks=tasks, jobs=2, provider=scripted), ignore)
    assert [(one.task, one.reason) for one in outcomes if not one.passed] == []


async def test_no_check_passes_when_nothing_was_done():
    tasks = [msgspec.structs.replace(task, solution=()) for task in read_tasks("edits")]
    outcomes = await run_tasks(Plan(tasks=tasks, jobs=2, provider=idle), ignore)
    assert [one.task for one in outcomes if one.passed] == []
