"""Loops and budgets: a model that goes round in circles is stopped with a reason, and money is one account."""

import itertools
from pathlib import Path

from tests.integration.driving import ended, session, turn
from weft.schema.messages import Request
from weft.testing.scripted import Cue, Line, ScriptedProvider, call, say


async def test_the_same_words_before_ever_new_calls_are_stopped(tmp_path: Path):
    number = itertools.count()

    def cue(_: Request) -> Cue:
        path = tmp_path / f"{next(number)}.txt"
        path.write_text("x")
        return [say("Let me look at one more file before I answer you."), call("Read", file_path=str(path))]

    async with session(tmp_path, ScriptedProvider([cue], cycle=True)) as (connection, provider):
        end = ended(await turn(connection, "go"))
    assert end.reason == "loop"
    assert end.error is not None and "said the same" in end.error
    assert len(provider.requests) == 12


async def test_short_words_and_silence_before_calls_are_no_loop(tmp_path: Path):
    number = itertools.count()

    def cue(_: Request) -> Cue:
        at = next(number)
        if at == 30:
            return "Done."
        path = tmp_path / f"{at}.txt"
        path.write_text("x")
        read = call("Read", file_path=str(path))
        return [say("Next."), read] if at % 2 else read

    async with session(tmp_path, ScriptedProvider([cue], cycle=True)) as (connection, _):
        end = ended(await turn(connection, "go"))
    assert (end.reason, end.text) == ("completed", "Done.")


async def test_a_budget_is_one_account_with_subagents_and_is_asked_before_each_call(tmp_path: Path):
    """Every reply costs; agents that start agents stop where a single one would."""
    from weft.schema.messages import Usage

    dear = Usage(input_tokens=200_000, output_tokens=2_000)
    number = itertools.count()

    def cue(_: Request) -> Cue:
        task = call("Task", description="x", prompt=f"work {next(number)}", subagent_type="general-purpose")
        return Line((task,), usage=dear)

    options = {"max_budget": 3.0, "allowed_tools": ("Task",), "model": "claude-sonnet-4-5"}
    async with session(tmp_path, ScriptedProvider([cue], cycle=True), **options) as (connection, provider):
        end = ended(await turn(connection, "spend"))
    assert end.reason == "budget", end
    each = end.total_cost / len(provider.requests)
    assert each > 0
    assert end.total_cost < 3.0 + each + 0.01, (end.total_cost, len(provider.requests))
