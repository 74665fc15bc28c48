"""`weft eval`: how well a model does a set of tasks, in numbers."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.providers.port import Provider
    from weft.sdk.evals.run import Outcome
    from weft.sdk.evals.tasks import Task

EXAMPLES = """\
examples:
  weft eval ten                                      the model that weft would use now
  weft eval ten --model gguf:qwen2.5-coder-1.5b      a file that runs here
  weft eval edits --model ollama:qwen3:8b --jobs 2   forty small edits in projects from PyPI
  weft eval mine.toml --model sonnet --json > out.json
  weft eval ten --model scripted                     the tasks' own solutions: proves the checks
  weft eval --list
A task file is TOML; docs/local-models.md shows one. Exit code 1 when a task failed.
"""
SCRIPTED = "scripted"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft eval",
        description="Runs tasks in fresh folders and says how many succeeded, in how many steps, tokens and seconds.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", nargs="?", help="a shipped set, or a TOML file")
    parser.add_argument("--model", action="append", default=[], help="the model; several are compared")
    parser.add_argument("--profile", choices=("small", "full"), help="how models are spoken to; else as weft does")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this task alone; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="tasks at the same time (1)")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one task (1800)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the folders here, to look at")
    parser.add_argument("--json", action="store_true", help="outcomes as JSON")
    parser.add_argument("--list", action="store_true", help="the sets that ship with Weft")
    arguments = parser.parse_args(argv)
    if arguments.list or arguments.tasks is None:
        return _list()
    return _run(arguments)


def _list() -> int:
    from weft.sdk.evals.tasks import read_tasks, shipped

    for name in shipped():
        sys.stdout.write(f"{name:10} {len(read_tasks(name))} tasks\n")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    import anyio
    import msgspec

    from weft.errors import UsageError
    from weft.sdk.evals.report import table
    from weft.sdk.evals.run import Plan, run_tasks
    from weft.sdk.evals.tasks import read_tasks

    tasks = read_tasks(arguments.tasks)
    if arguments.only:
        tasks = tuple(task for task in tasks if task.name in arguments.only)
        if not tasks:
            raise UsageError(f"no task of {arguments.tasks} has that name")
    env = {**os.environ, **({"WEFT_PROFILE": arguments.profile} if arguments.profile else {})}
    outcomes: list[Outcome] = []
    for model in arguments.model or [None]:
        plan = Plan(
            tasks=tasks,
            model=model,
            jobs=arguments.jobs,
            limit=arguments.timeout,
            provider=scripted if model == SCRIPTED else None,
            env=env,
            keep=arguments.keep,
        )
        progress = _Progress(len(tasks))
        outcomes += anyio.run(run_tasks, plan, progress)
        progress.end()
    if arguments.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(outcomes), indent=2).decode() + "\n")
    else:
        sys.stdout.write("\n".join(table(outcomes)) + "\n")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def scripted(task: "Task") -> "Provider":
    """A model that plays the task's own solution, spoken to as a small model is."""
    import json

    from weft.providers.small.provider import SmallProvider
    from weft.testing.scripted import ScriptedProvider

    return SmallProvider(ScriptedProvider([json.dumps(action) for action in task.solution]))


class _Progress:
    """A bar on standard error, where somebody watches; else a line for each task."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._passed = 0
        self._watched = sys.stderr.isatty()

    def __call__(self, outcome: "Outcome") -> None:
        from weft.sdk.evals.report import bar

        self._done += 1
        self._passed += outcome.passed
        line = bar(self._done, self._total, self._passed, outcome.task)
        sys.stderr.write(f"\r{line}" if self._watched else f"{line.rstrip()}\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._watched:
            sys.stderr.write("\n")
