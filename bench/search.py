"""Grep and Glob beside plain ripgrep on 50,000 files, and memory over 10,000 tool calls.

    python bench/search.py [--files N] [--calls N] [--rounds N]

Runs are interleaved; CPU is of children and ourselves together, the median of the rounds. Wall time is the least of
the rounds, which a busy machine disturbs least. Plain ripgrep writes to /dev/null, with the same options that decide
what is searched. Exits with 1 when the CPU of a search is over 1.3 times ripgrep's or memory grows; wall time on a busy
machine is shown, not judged.
"""

import argparse
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from weft.schema.content import Json
from weft.testing.tool_context import fake_tool_context
from weft.tools.bash import Bash
from weft.tools.edit import Edit
from weft.tools.glob import Glob
from weft.tools.grep import Grep
from weft.tools.port import ToolContext
from weft.tools.read import Read
from weft.tools.ripgrep import BASE, find_ripgrep
from weft.tools.write import Write
from weft.workspace.local import LocalWorkspace

MAX_RATIO = 1.3
MAX_GROWTH = 3.0
"""Megabytes, from the end of the first tenth of the calls to the end of the last."""


def make_tree(root: Path, files: int) -> None:
    """Three in five files are not ignored; one in fifty has the word that is looked for."""
    (root / ".gitignore").write_text("build/\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    body = "def function(argument):\n    return argument\n" * 20
    for number in range(files):
        kind = "build" if number % 5 in (1, 3) else "src"
        folder = root / kind / f"p{number % 97}" / f"q{number % 13}"
        folder.mkdir(parents=True, exist_ok=True)
        ending = ("py", "ts", "md")[number % 3]
        word = "needle_in_the_hay\n" if number % 50 == 0 else ""
        (folder / f"f{number}.{ending}").write_text(body + word)


def cpu() -> float:
    return sum(
        use.ru_utime + use.ru_stime
        for use in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def measure_plain(argv: list[str], cwd: Path) -> tuple[float, float]:
    wall, before = time.perf_counter(), cpu()
    subprocess.run(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - wall, cpu() - before


async def measure_tool(run: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    wall, before = time.perf_counter(), cpu()
    await run()
    return time.perf_counter() - wall, cpu() - before


async def compare(context: ToolContext, root: Path, rounds: int) -> bool:
    rg = find_ripgrep()
    if rg is None:
        print("there is no ripgrep: nothing to compare with")
        return False
    grep, glob = Grep(), Glob()
    cases: list[tuple[str, list[str], Callable[[], Awaitable[object]]]] = [
        (
            "Grep, files",
            [rg, *BASE, "-l", "needle_in_the_hay", "./"],
            lambda: grep.run(grep.decode({"pattern": "needle_in_the_hay"}), context),
        ),
        (
            "Grep, lines",
            [rg, *BASE, "-n", "needle_in_\\w+", "./"],
            lambda: grep.run(
                grep.decode({"pattern": "needle_in_\\w+", "output_mode": "content", "head_limit": 0}), context
            ),
        ),
        (
            "Glob",
            # Not --glob, which overrides the ignore files and so does less.
            [rg, *BASE, "--files", "--type=py", "./"],
            lambda: glob.run(glob.decode({"pattern": "**/*.py"}), context),
        ),
    ]
    good = True
    for name, argv, run in cases:
        measure_plain(argv, root)
        await run()
        plain: list[tuple[float, float]] = []
        ours: list[tuple[float, float]] = []
        for _ in range(rounds):
            plain.append(measure_plain(argv, root))
            ours.append(await measure_tool(run))
        walls = [min(run[0] for run in runs) for runs in (plain, ours)]
        cpus = [statistics.median(run[1] for run in runs) for runs in (plain, ours)]
        ratios = [walls[1] / walls[0], cpus[1] / cpus[0]]
        print(
            f"{name:12} wall: rg {walls[0] * 1000:6.1f} ms, ours {walls[1] * 1000:6.1f} ms, ratio {ratios[0]:.2f}; "
            f"cpu: rg {cpus[0] * 1000:6.1f} ms, ours {cpus[1] * 1000:6.1f} ms, ratio {ratios[1]:.2f}"
        )
        good = good and ratios[1] <= MAX_RATIO
    return good


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def keeps_flat(context: ToolContext, root: Path, calls: int) -> bool:
    """Reads and edits of thousands of files, and now and then a command, a new file and a search."""
    names = [str(path) for path in sorted((root / "src").rglob("*.py"))[:6000]]
    read, edit, write, bash, grep = Read(), Edit(), Write(), Bash(), Grep()
    marks: list[float] = []
    for number in range(calls):
        name = names[number % len(names)]
        if number % 4 == 0:
            old, new = ("def", "fed") if (number // len(names)) % 2 == 0 else ("fed", "def")
            args: Json = {"file_path": name, "old_string": old, "new_string": new, "replace_all": True}
            await edit.run(edit.decode(args), context)
        elif number % 100 == 1:
            await bash.run(bash.decode({"command": f"seq {number}"}), context)
        elif number % 100 == 2:
            await write.run(write.decode({"file_path": f"{root}/new/{number}.txt", "content": "x" * number}), context)
        elif number % 100 == 3:
            where: Json = {"pattern": "return", "path": str(Path(name).parent), "output_mode": "content"}
            await grep.run(grep.decode(where), context)
        else:
            await read.run(read.decode({"file_path": name}), context)
        if number % (calls // 10) == calls // 10 - 1:
            gc.collect()
            marks.append(resident())
    print("memory in MB after each tenth of", calls, "calls:", " ".join(f"{mark:.1f}" for mark in marks))
    growth = marks[-1] - marks[0]
    print(f"growth since the first tenth: {growth:.1f} MB")
    return growth < MAX_GROWTH


async def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        root = Path(os.path.realpath(folder))
        make_tree(root, arguments.files)
        context = fake_tool_context(LocalWorkspace([root]))
        fast = await compare(context, root, arguments.rounds)
        flat = await keeps_flat(context, root, arguments.calls)
    print(f"searches within {MAX_RATIO} of ripgrep: {'yes' if fast else 'NO'}; memory flat: {'yes' if flat else 'NO'}")
    return 0 if fast and flat else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    return anyio.run(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
