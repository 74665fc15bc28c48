"""Tasks run: each in a folder of its own, several at once, every one judged from outside."""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
import msgspec

from weft.agent.options import SessionOptions
from weft.errors import TransportError, WeftError
from weft.paths import weft_home
from weft.providers.port import Provider
from weft.schema.commands import Prompt
from weft.schema.events import MessageDone, TurnEnded
from weft.schema.messages import Reply, Usage
from weft.sdk.compose import Overrides, connect
from weft.sdk.evals.packages import bring, copy
from weft.sdk.evals.tasks import Task
from weft.transports.capture import capture

_CHECK: Final = 60.0
_STEPS: Final = 40


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one task went. `steps` are answers of the model; `reason` says what failed."""

    task: str
    model: str
    passed: bool
    reason: str = ""
    steps: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    text: str = ""


class Plan(msgspec.Struct, kw_only=True):
    """What is run. `provider` gives a model to each task in the place of `model`."""

    tasks: Sequence[Task]
    model: str | None = None
    jobs: int = 1
    limit: float = 1800.0
    provider: Callable[[Task], Provider] | None = None
    env: Mapping[str, str] | None = None
    keep: Path | None = None
    """Where the folders are left for a look afterwards."""


async def run_tasks(plan: Plan, on_done: Callable[[Outcome], None]) -> list[Outcome]:
    """One outcome for each task, in their order."""
    outcomes: dict[str, Outcome] = {}
    room = anyio.CapacityLimiter(max(plan.jobs, 1))

    async def one(task: Task) -> None:
        async with room:
            outcome = await _run(task, plan)
        outcomes[task.name] = outcome
        on_done(outcome)

    async with anyio.create_task_group() as group:
        for task in plan.tasks:
            group.start_soon(one, task)
    return [outcomes[task.name] for task in plan.tasks]


async def _run(task: Task, plan: Plan) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="weft-eval-"))
    model = plan.model or "default"
    started = time.monotonic()
    try:
        await _prepare(task, folder)
        before = _digests(task, folder)
        with anyio.fail_after(plan.limit):
            turn = await _play(task, folder, plan)
        seconds = time.monotonic() - started
        _keep_replies(task, turn, plan)
        reason = turn.error or await _judge(task, folder, turn.text, before)
        return Outcome(
            task=task.name,
            model=turn.model or model,
            passed=not reason,
            reason=reason,
            steps=turn.steps,
            input_tokens=turn.usage.input_tokens + turn.usage.cache_creation_input_tokens,
            cached_tokens=turn.usage.cache_read_input_tokens,
            output_tokens=turn.usage.output_tokens,
            seconds=round(seconds, 2),
            text=turn.text,
        )
    except TimeoutError:
        return Outcome(
            task=task.name, model=model, passed=False, reason=f"took more than {plan.limit:g} s", seconds=plan.limit
        )
    except WeftError as error:
        return Outcome(task=task.name, model=model, passed=False, reason=str(error))
    finally:
        _put_away(task, folder, plan)


class _Played(msgspec.Struct, kw_only=True):
    text: str = ""
    error: str = ""
    model: str = ""
    steps: int = 0
    usage: Usage = Usage()
    replies: list[Reply] = []


async def _play(task: Task, folder: Path, plan: Plan) -> _Played:
    """One turn of a real session. Commands run in the sandbox, where the machine has one."""
    options = SessionOptions(
        cwd=folder,
        model=plan.model,
        mode="acceptEdits",
        allowed_tools=("Bash", "Edit", "Write"),
        max_turns=_STEPS,
        settings='{"sandbox": {"enabled": true}}',
        setting_sources=("user",),
        persist=False,
        checkpoints=False,
    )
    provider = plan.provider(task) if plan.provider is not None else None
    played = _Played()
    connection = connect(options, Overrides(provider=provider, env=dict(plan.env) if plan.env else None))
    async with connection:
        await connection.send(Prompt(task.prompt))
        async for event in connection.events():
            if isinstance(event, MessageDone) and event.reply.usage.output_tokens:
                played.steps += 1
                played.model = event.reply.model
                played.replies.append(event.reply)
            if isinstance(event, TurnEnded):
                played.text, played.usage = event.text, event.usage
                good = event.reason in ("completed", "max_turns")
                played.error = "" if good else event.error or event.reason
                break
    return played


async def _prepare(task: Task, folder: Path) -> None:
    if task.package:
        copy(await bring(task.package, weft_home() / "cache" / "evals"), folder)
    for name, text in task.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _digests(task: Task, folder: Path) -> dict[str, str]:
    return {name: _digest(folder / name) for name in task.keep}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


async def _judge(task: Task, folder: Path, text: str, before: Mapping[str, str]) -> str:
    """Empty when the task is done well, else why not."""
    for name, digest in before.items():
        if _digest(folder / name) != digest:
            return f"{name} was changed"
    if task.answer and not re.search(task.answer, text, re.IGNORECASE | re.DOTALL):
        return f"the answer has no {task.answer}"
    if task.check:
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder)}
        try:
            done = await capture(("sh", "-c", task.check), cwd=folder, env=env, limit=_CHECK, stderr="merge")
        except TransportError as error:
            return f"the check failed: {error}"
        if done.code != 0:
            last = done.text.strip().splitlines()[-1:] or [f"exit code {done.code}"]
            return f"the check failed: {last[0][:200]}"
    return ""


def _keep_replies(task: Task, turn: _Played, plan: Plan) -> None:
    """What the model said, beside the folder that it left."""
    if plan.keep is not None:
        plan.keep.mkdir(parents=True, exist_ok=True)
        lines = [msgspec.json.encode(list(reply.content)) for reply in turn.replies]
        (plan.keep / f"{task.name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")


def _put_away(task: Task, folder: Path, plan: Plan) -> None:
    if plan.keep is not None:
        shutil.copytree(folder, plan.keep / task.name, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
