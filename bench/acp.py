"""How long real ACP agents and Weft take, in one interleaved run against one fake model.

    python bench/acp.py [--rounds 3] [--agents weft,codex-acp,…] [--json FILE]

For each: spawn to the answer of session/new, prompt to the first text (first and third prompt), the CPU seconds that
the process and its children used up to session/new and over all, and the memory after the turns (unique to the
processes, so that shared libraries count once). Wall times depend on the machine's load; CPU seconds hardly do.
The agents are those of `tests/conformance/acp`, installed by `scripts/peers.py`.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.conformance.acp.test_agents import AGENTS, Prepared, fake_model  # noqa: E402

from weft.connect.acp.connection import AcpConnection  # noqa: E402
from weft.connect.acp.options import AcpOptions  # noqa: E402
from weft.connect.acp.start import ChildAgent  # noqa: E402
from weft.schema import commands as c  # noqa: E402
from weft.schema import events as e  # noqa: E402
from weft.schema.stream import BlockDelta, TextDelta  # noqa: E402

TURN_LIMIT = 120


def child_of(name: str, home: Path, base: str) -> tuple[ChildAgent, Path]:
    if name != "weft":
        prepared = Prepared(name, home, base)
        return prepared.child(), prepared.cwd
    cwd = home / "project"
    cwd.mkdir()
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": "fake",
    }
    clean = ["env", "-i", *(f"{key}={value}" for key, value in env.items())]
    return ChildAgent([*clean, sys.executable, "-m", "weft", "acp"], cwd=cwd), cwd


def used(pid: int) -> tuple[float, float]:
    """CPU seconds and megabytes of a process and all below it."""
    cpu = memory = 0.0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0, 0.0
    for one in family:
        try:
            times = one.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
            memory += one.memory_full_info().uss / 2**20
        except psutil.NoSuchProcess:
            continue
    return cpu, memory


async def first_text(connection: AcpConnection, events: Any) -> float:
    """Seconds to the model's own words: what an agent says of itself before does not count."""
    began = time.perf_counter()
    first = 0.0
    words = ""
    await connection.send(c.Prompt("hello"))
    with anyio.fail_after(TURN_LIMIT):
        async for event in events:
            match event:
                case e.Streamed(delta=BlockDelta(delta=TextDelta(text=text))):
                    words += text
                    if not first and "Hello" in words:
                        first = time.perf_counter() - began
                case e.TurnEnded():
                    return first
                case _:
                    pass
    return first


async def measure(name: str, base: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        child, cwd = child_of(name, Path(folder), base)
        began = time.perf_counter()
        async with AcpConnection(child, AcpOptions(cwd=cwd)) as connection:
            opened = time.perf_counter() - began
            assert child.child is not None
            start_cpu, _ = used(child.child.pid)
            events = aiter(connection.events())
            texts = [await first_text(connection, events) for _ in range(3)]
            cpu, memory = used(child.child.pid)
    return {
        "open_ms": opened * 1000,
        "open_cpu_s": start_cpu,
        "first_text_ms": texts[0] * 1000,
        "third_text_ms": texts[2] * 1000,
        "cpu_s": cpu,
        "memory_mb": memory,
    }


async def run(names: list[str], rounds: int) -> dict[str, list[dict[str, float]]]:
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    async with fake_model() as base:
        for number in range(rounds):
            for name in names if number % 2 == 0 else reversed(names):
                results[name].append(await measure(name, base))
                print(f"round {number + 1} {name}", file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agents", default=",".join(["weft", *AGENTS]))
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    results = anyio.run(run, arguments.agents.split(","), arguments.rounds)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))
    keys = list(next(iter(results.values()))[0])
    print(f"{'agent':16}" + "".join(f"{key:>16}" for key in keys))
    for name, rows in results.items():
        print(f"{name:16}" + "".join(f"{statistics.median(row[key] for row in rows):16.2f}" for key in keys))


if __name__ == "__main__":
    main()
