"""The exit stack that leaves no circle of exceptions behind."""

import subprocess
import sys
from contextlib import asynccontextmanager
from types import TracebackType

import anyio
import pytest

from weft.exits import ExitStack


class Group:
    """Raises again what it is left with, as a cancelled task group does."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            raise error


@asynccontextmanager
async def fails():
    yield
    raise RuntimeError("inner")


async def test_an_exception_that_is_raised_again_is_not_its_own_context() -> None:
    stack = ExitStack()
    await stack.enter_async_context(Group())
    await stack.enter_async_context(Group())
    await stack.enter_async_context(fails())
    with pytest.raises(RuntimeError, match="inner") as caught:
        try:
            raise ValueError("outer")
        except ValueError:
            await stack.__aexit__(None, None, None)
    chain: list[BaseException] = []
    error: BaseException | None = caught.value
    while error is not None:
        assert error not in chain
        chain.append(error)
        error = error.__context__


CANCELLED = """
import anyio
from pathlib import Path
from weft.agent.options import SessionOptions
from weft.schema.commands import Prompt
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import ScriptedProvider, call

async def talk():
    sleep = call("Bash", command="sleep 100")
    provider = ScriptedProvider([call("Bash", command="sleep 100", run_in_background=True), sleep])
    options = SessionOptions(cwd=Path.cwd(), persist=False, allowed_tools=("Bash",))
    async with connect(options, Overrides(provider=provider)) as session:
        await session.send(Prompt("go"))
        async for _ in session.events():
            pass

async def main():
    for moment in (0.05, 0.2, 0.5):
        async with anyio.create_task_group() as group:
            group.start_soon(talk)
            await anyio.sleep(moment)
            group.cancel_scope.cancel()
    print("left")

anyio.run(main)
"""


async def test_a_cancelled_host_of_a_session_comes_to_an_end() -> None:
    with anyio.fail_after(60):
        done = await anyio.run_process([sys.executable, "-c", CANCELLED], stderr=subprocess.STDOUT, check=False)
    assert done.stdout == b"left\n"
