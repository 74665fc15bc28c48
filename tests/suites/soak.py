"""Conversations through every surface at once, for as long as you like, with what they cost measured.

    python tests/suites/soak.py [--seconds 60] [--pause 0.05] [--json FILE]

Runs as processes: `weft` in a terminal (tmux), `weft web` with a page's socket, an agent behind stream-json, one behind
ACP, and `weft -p` again and again; and one agent in this process. Each conversation runs a command, lists files and
answers, and the hosted ones cancel now and then. Every tenth of the time memory, open files and processes are sampled.
It fails when a turn does not end, when memory or files grow without end, when idle agents use CPU, or when a process
is left behind.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.suites.people import AtThePage, AtTheTerminal  # noqa: E402
from tests.suites.processes import alive, command, environment, gone  # noqa: E402
from weft.agent.options import SessionOptions  # noqa: E402
from weft.connect.acp.connection import AcpConnection  # noqa: E402
from weft.connect.acp.options import AcpOptions  # noqa: E402
from weft.connect.acp.start import ChildAgent  # noqa: E402
from weft.connect.port import Connection  # noqa: E402
from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions  # noqa: E402
from weft.schema.commands import Cancel, PermissionAnswered, Prompt  # noqa: E402
from weft.schema.content import Json, ToolUse  # noqa: E402
from weft.schema.events import PermissionAsked, TurnEnded  # noqa: E402
from weft.sdk.compose import connect  # noqa: E402
from weft.testing.fake_anthropic import FakeAnthropic  # noqa: E402

TURN_LIMIT = 60
GROWTH = 1.5
"""How much larger than after the first fifth the memory may be at the end."""


def model(body: Json) -> Any:
    """Reads, runs a command and answers, by how many results the last turn has so far."""
    messages = cast("list[Any]", body["messages"])
    results, asked = 0, ""
    for message in reversed(messages):
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        kinds = [block.get("type") for block in blocks]
        if message["role"] == "user" and "tool_result" not in kinds:
            asked = str(blocks[-1].get("text"))
            break
        results += kinds.count("tool_result")
    if results == 0:
        return ToolUse("", "Bash", {"command": f"echo {uuid.uuid4().hex}", "description": "Say something new"})
    if results == 1:
        return ToolUse("", "Glob", {"pattern": "*.txt"})
    return "An answer of some length. " * 20 + f"\n\nThat was {asked}."


class Tally:
    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.turns: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self.slowest = 0.0
        self.until = math.inf
        """When it is over; known once everybody had a turn, so that start-up is not taken for growth."""


async def talk(name: str, connection: Connection, tally: Tally) -> None:
    number = 0
    while time.monotonic() < tally.until:
        number += 1
        began = time.monotonic()
        with anyio.fail_after(TURN_LIMIT):
            await connection.send(Prompt(f"{name} {number}"))
            seen = 0
            async for event in connection.events():
                seen += 1
                if isinstance(event, PermissionAsked):
                    await connection.send(PermissionAnswered(event.request_id, "allow"))
                if number % 7 == 0 and seen == 5:
                    await connection.send(Cancel())
                if isinstance(event, TurnEnded):
                    tally.reasons[event.reason] = tally.reasons.get(event.reason, 0) + 1
                    break
            else:
                raise RuntimeError(f"{name}: the events ended in the middle of a turn")
        tally.turns[name] = tally.turns.get(name, 0) + 1
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        await anyio.sleep(tally.pause)


async def use(name: str, person: AtTheTerminal | AtThePage, tally: Tally) -> None:
    """A person writes, waits for the answer, and thinks for a moment."""
    number = 0
    while time.monotonic() < tally.until:
        number += 1
        began = time.monotonic()
        with anyio.fail_after(TURN_LIMIT):
            reason = await person.turn(f"{name} {number}")
        tally.reasons[reason] = tally.reasons.get(reason, 0) + 1
        tally.turns[name] = tally.turns.get(name, 0) + 1
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        await anyio.sleep(max(0.5, tally.pause))


async def once_more(folder: Path, env: dict[str, str], tally: Tally) -> None:
    """`weft -p` as a script calls it, with nobody there to be asked."""
    while time.monotonic() < tally.until:
        with anyio.fail_after(TURN_LIMIT):
            done = await anyio.run_process(command("-p", "print"), cwd=folder, env=env, check=False)
        assert done.returncode in (0, 3), done
        tally.turns["print"] = tally.turns.get("print", 0) + 1
        await anyio.sleep(max(1, tally.pause))


def sample(mark: str) -> dict[str, float]:
    """Of this process and of all that bear the mark: megabytes, open files, count, CPU seconds."""
    page, ticks = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    total = {"memory_mb": 0.0, "files": 0.0, "processes": 0.0, "cpu_s": 0.0}
    for pid in [os.getpid(), *alive(mark)]:
        try:
            total["memory_mb"] += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page / 2**20
            total["files"] += len(os.listdir(f"/proc/{pid}/fd"))
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total["cpu_s"] += (int(fields[11]) + int(fields[12])) / ticks
            total["processes"] += 1
        except OSError:
            continue
    return total


async def soak(seconds: float, pause: float = 0.05) -> dict[str, Any]:
    mark = f"weft-soak-{uuid.uuid4().hex}"
    tally, samples = Tally(pause), list[dict[str, float]]()
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "project"
        home.mkdir()
        folder.mkdir()
        (folder / "a.txt").write_text("hello\n")
        os.environ["WEFT_HOME"] = str(home / "here")
        async with FakeAnthropic(model) as server:
            env = environment(home, server, WEFT_SOAK_MARK=mark)
            weft = tuple(command())
            opened: dict[str, Callable[[], Connection]] = {
                "stream-json": lambda: StreamJsonConnection(StreamJsonOptions(command=weft, cwd=folder, env=env)),
                "acp": lambda: AcpConnection(ChildAgent((*weft, "acp"), cwd=folder, env=env), AcpOptions(cwd=folder)),
                "local": lambda: connect(SessionOptions(cwd=folder, env=env, asks=frozenset({"permission"}))),
            }

            async def one(way: str) -> None:
                async with opened[way]() as connection:
                    await talk(way, connection, tally)
                    quiet.append(way)
                    await rest.wait()

            async def person(way: str) -> None:
                async with people[way]() as sitting:
                    await use(way, sitting, tally)
                    quiet.append(way)
                    await rest.wait()

            people: dict[str, Callable[[], AtTheTerminal | AtThePage]] = {
                "terminal": lambda: AtTheTerminal(folder, env),
                "page": lambda: AtThePage(folder, env),
            }
            quiet: list[str] = []
            rest = anyio.Event()
            async with anyio.create_task_group() as group:
                for way in opened:
                    group.start_soon(one, way)
                for way in people:
                    group.start_soon(person, way)
                group.start_soon(once_more, folder, env, tally)
                with anyio.fail_after(TURN_LIMIT * 2):
                    while len(tally.turns) < len(opened) + len(people) + 1:
                        await anyio.sleep(0.1)
                tally.until = time.monotonic() + seconds
                for _ in range(10):
                    due = time.monotonic() + seconds / 10
                    while time.monotonic() < due:
                        await anyio.sleep(min(1, seconds / 10))
                        server.requests.clear()  # What the fake remembers of its callers is not what is measured.
                    samples.append(sample(mark))
                with anyio.fail_after(TURN_LIMIT * 2):
                    while len(quiet) < len(opened) + len(people):
                        await anyio.sleep(0.1)
                await anyio.sleep(2)
                before = sample(mark)["cpu_s"]
                await anyio.sleep(5)
                idle = (sample(mark)["cpu_s"] - before) / 5 * 100
                rest.set()
        logs = sum(path.stat().st_size for path in home.rglob("*.jsonl"))
        await gone(mark)
        left = alive(mark)
    return {
        "seconds": seconds,
        "turns": tally.turns,
        "reasons": tally.reasons,
        "slowest_turn_s": tally.slowest,
        "samples": samples,
        "idle_cpu_percent": idle,
        "log_bytes": logs,
        "left_behind": len(left),
    }


def verdict(found: dict[str, Any]) -> list[str]:
    """What is wrong; empty when all is well."""
    wrong: list[str] = []
    settled, last = found["samples"][len(found["samples"]) // 5], found["samples"][-1]
    if last["memory_mb"] > settled["memory_mb"] * GROWTH:
        wrong.append(f"memory grew from {settled['memory_mb']:.0f} to {last['memory_mb']:.0f} MB")
    if last["files"] > settled["files"] * GROWTH + 20:
        wrong.append(f"open files grew from {settled['files']:.0f} to {last['files']:.0f}")
    if found["idle_cpu_percent"] > 2:
        wrong.append(f"idle agents use {found['idle_cpu_percent']:.1f} % of a core")
    if found["left_behind"]:
        wrong.append(f"{found['left_behind']} processes were left behind")
    if set(found["reasons"]) - {"completed", "cancelled"}:
        wrong.append(f"turns ended badly: {found['reasons']}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds that everybody thinks between turns")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = anyio.run(soak, given.seconds, given.pause)
    write = sys.stdout.write
    write("| second | memory MB | open files | processes |\n|---|---|---|---|\n")
    for number, row in enumerate(found["samples"], 1):
        at = number * given.seconds / 10
        write(f"| {at:.0f} | {row['memory_mb']:.0f} | {row['files']:.0f} | {row['processes']:.0f} |\n")
    write(f"\nturns {found['turns']}, ends {found['reasons']}, slowest {found['slowest_turn_s']:.1f} s\n")
    write(f"idle CPU {found['idle_cpu_percent']:.2f} %, logs {found['log_bytes'] / 2**20:.1f} MB\n")
    wrong = verdict(found)
    write("".join(f"WRONG: {line}\n" for line in wrong) or "all well\n")
    if given.json:
        given.json.write_text(json.dumps({**found, "wrong": wrong}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
