"""Many sessions in one process, and what a step costs beside the model.

    python bench/many.py [--sessions 1000] [--steps 300] [--json]

Each session is whole: loop, tools, gate, log on disk, on a scripted model without latency. All of them are open at
once, and each makes one turn with a tool call. `step` is the CPU of one model request with one Read, in one session.
"""

import argparse
import gc
import json
import os
import resource
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from weft.agent.options import SessionOptions
from weft.connect.port import Connection
from weft.schema.commands import Prompt
from weft.schema.events import TurnEnded
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import ScriptedProvider, call


def resident() -> float:
    """Megabytes that this process has in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def turn(connection: Connection) -> TurnEnded:
    await connection.send(Prompt("go"))
    async for event in connection.events():
        if isinstance(event, TurnEnded):
            return event
    raise RuntimeError("the events ended before the turn")


async def at_once(folder: Path, count: int) -> dict[str, float]:
    read = call("Read", file_path=str(folder / "a.txt"))
    gc.collect()
    before, cpu = resident(), time.process_time()
    async with AsyncExitStack() as stack:
        opened: list[Connection] = []
        for _ in range(count):
            provider = ScriptedProvider([read, "Done."])
            options = SessionOptions(cwd=folder)
            opened.append(await stack.enter_async_context(connect(options, Overrides(provider=provider))))
        idle, opening = resident(), time.process_time() - cpu
        ends: list[TurnEnded] = []

        async def one(connection: Connection) -> None:
            ends.append(await turn(connection))

        cpu = time.process_time()
        with anyio.fail_after(300):
            async with anyio.create_task_group() as group:
                for connection in opened:
                    group.start_soon(one, connection)
        spent = time.process_time() - cpu
        assert [end.reason for end in ends] == ["completed"] * count
        after, files = resident(), len(os.listdir("/proc/self/fd"))
        rest = time.process_time()
        await anyio.sleep(5)
        rest = time.process_time() - rest
    return {
        "sessions": count,
        "open_kb": (idle - before) * 1024 / count,
        "after_turn_kb": (after - before) * 1024 / count,
        "open_ms": opening * 1000 / count,
        "turn_ms": spent * 1000 / count,
        "idle_cpu_percent": rest / 5 * 100,
        "open_files": files,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def step(folder: Path, steps: int) -> float:
    script = [call("Read", file_path=str(folder / f"{n % 7}.txt")) for n in range(steps)]
    provider = ScriptedProvider([*script, "Done."])
    async with connect(SessionOptions(cwd=folder), Overrides(provider=provider)) as connection:
        cpu = time.process_time()
        end = await turn(connection)
        spent = time.process_time() - cpu
    assert end.steps == steps + 1, end
    return spent / steps * 1000


async def main(sessions: int, steps: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["WEFT_HOME"] = str(folder / "home")
        for text in ("a.txt", *(f"{n}.txt" for n in range(7))):
            (folder / text).write_text("hello\n" * 20)
        found = {"step_ms": await step(folder, steps)}
        return found | await at_once(folder, sessions)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    result = anyio.run(main, given.sessions, given.steps)
    print(json.dumps(result) if given.json else "\n".join(f"{k:18} {v:.2f}" for k, v in result.items()))
