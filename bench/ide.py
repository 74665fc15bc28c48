"""How fast the editor's side is: selections to an attached agent, problems after an edit, many diffs.

python bench/ide.py            the numbers
python bench/ide.py --check    fails when a promise is broken
"""

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import find_servers
from weft.ide.server import DEBOUNCE, IdeServer
from weft.protocols.ide.values import Position, Rejected
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

CYCLES = 1000
TEXT = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(200))


async def selections(editor: HeadlessEditor, work: IdeWorkspace) -> list[float]:
    """From the person's move to what the agent would put into its next request."""
    found: list[float] = []
    for line in range(40):
        started = time.perf_counter()
        editor.select("calc.py", Position(line * 4, 0), Position(line * 4 + 1, 4))
        while work.take_context() is None:
            await anyio.sleep(0.0005)
        found.append(time.perf_counter() - started)
    return found


async def problems(work: IdeWorkspace, path: Path) -> list[float]:
    """From the write of a file to the problems in it, over the protocol."""
    found: list[float] = []
    for number in range(30):
        await work.write(path, f"import mod{number}\n{TEXT}".encode())
        started = time.perf_counter()
        lines = await work.diagnostics(path)
        found.append(time.perf_counter() - started)
        assert lines and any(f"mod{number}" in line for line in lines), lines
    return found[1:]


async def diffs(server: IdeServer, work: IdeWorkspace, path: Path, cycles: int) -> float:
    """Opens and closes diffs; returns seconds per cycle."""
    started = time.perf_counter()
    for number in range(cycles):
        async with anyio.create_task_group() as group:
            group.start_soon(work.propose_edit, path, f"{TEXT}# {number}\n")
            while not (pending := server.toolbox.diffs.pending()):
                await anyio.sleep(0)
            server.toolbox.diffs.decide(pending[0].id, Rejected())
    return (time.perf_counter() - started) / cycles


def memory() -> int:
    """Resident kilobytes now; the highest so far where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def main(check: bool) -> int:
    folder = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    path = folder / "calc.py"
    path.write_text(TEXT)
    env = {"HOME": str(folder)}
    servers = find_servers(trusted=False)
    async with HeadlessEditor([folder], servers=servers, kernel=False) as editor:
        async with IdeServer(editor, home=folder / ".claude") as server:
            work = IdeWorkspace(LocalWorkspace((folder,)))
            async with IdeLink(find_locks(env)[0], cwd=folder, heard=work.heard, env=env) as link:
                work.link = link
                moved = await selections(editor, work)
                told = await problems(work, path)
                await diffs(server, work, path, 200)
                before = memory()
                cycle = await diffs(server, work, path, CYCLES)
                grown = memory() - before
                left = len(server.toolbox.diffs)
    slowest = statistics.quantiles(told, n=20)[-1]
    print(
        f"selection to the next request: {statistics.median(moved) * 1000:.1f} ms (debounce {DEBOUNCE * 1000:.0f} ms)"
    )
    print(f"ruff's problems after an edit: median {statistics.median(told) * 1000:.1f} ms, 95% {slowest * 1000:.1f} ms")
    print(f"{CYCLES} diffs opened and closed: {cycle * 1000:.2f} ms each, {grown} kB more, {left} left")
    good = statistics.median(moved) < 0.25 and slowest < 0.1 and grown < 2048 and left == 0
    return 0 if good or not check else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main, "--check" in sys.argv))
