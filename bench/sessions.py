"""How long sessions take: resuming 5,000 messages against an empty start, and listing 10,000 sessions.

    python bench/sessions.py            prints the numbers and fails when a promise is broken

Both are whole processes, interleaved, CPU seconds (user and system) beside wall time; the machine may be busy, so
the promise is held on the best CPU time of the runs.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.sessions_records import SESSION, Talk, written  # noqa: E402

from weft import paths  # noqa: E402
from weft.schema.content import ToolResult, ToolUse  # noqa: E402

RUNS = 7
FIRST_REQUEST = """
import sys
from pathlib import Path
import anyio
from weft.context.assemble import Assembler
from weft.context.port import View
from weft.schema.messages import Message, Request
from weft.schema.content import Text
from weft.schema.wire import encode
from weft.sessions import resume
from weft.sessions.store import FileStore

async def main() -> None:
    cwd = Path(sys.argv[2])
    store = FileStore(Path(sys.argv[1]), Path(sys.argv[1]) / "none")
    history = resume.load(store, sys.argv[3], cwd).history if sys.argv[3:] else ()
    view = View(cwd=cwd, model="claude-x")
    assembler = Assembler()
    reminders = () if history else await assembler.reminders(view)
    messages = (*history, Message("user", (*reminders, Text("go on"))))
    encode(Request("claude-x", messages, assembler.system(view)))

anyio.run(main)
"""
LIST = """
import sys
from pathlib import Path
from weft.sessions.store import FileStore
rows = FileStore(Path(sys.argv[1]), Path(sys.argv[1]) / "none").list()
assert len(rows) == int(sys.argv[2]), len(rows)
assert all(row.first_prompt and row.last_prompt for row in rows)
"""


def _measure(code: str, *arguments: str) -> tuple[float, float]:
    """(CPU, wall) of one process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run((sys.executable, "-c", code, *arguments), check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - started


def _long_session(path: Path, messages: int) -> None:
    talk = Talk()
    for number in range(messages // 4):
        talk.user(f"Now part {number} of the work, please: " + "words and more words. " * 5)
        talk.assistant("I look at it. " * 10, ToolUse(f"t{number}", "Read", {"file_path": f"/project/{number}.py"}))
        talk.user(ToolResult(f"t{number}", "a line of code = some(value)\n" * 20))
        talk.assistant("Part done. " * 20)
    written(path, talk)


def _many_sessions(home: Path, count: int) -> None:
    for number in range(count):
        talk = Talk(f"{number:08}-0000-4000-8000-000000000000", f"/project/{number % 50}")
        talk.user(f"prompt {number}")
        for _ in range(6):
            talk.assistant("An answer of some length. " * 20)
            talk.user("and then?")
        talk.mark("last-prompt", lastPrompt="and then?", leafUuid="x")
        written(home / "projects" / f"-project-{number % 50}" / f"{number:08}-0000-4000-8000-000000000000.jsonl", talk)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder) / "home", Path(folder) / "project"
        cwd.mkdir()
        path = paths.session_file(SESSION, cwd, home)
        _long_session(path, 5_000)
        print(f"a session of 5,000 messages, {path.stat().st_size / 1e6:.1f} MB")
        empty: list[tuple[float, float]] = []
        long: list[tuple[float, float]] = []
        for _ in range(RUNS):
            empty.append(_measure(FIRST_REQUEST, str(home), str(cwd)))
            long.append(_measure(FIRST_REQUEST, str(home), str(cwd), SESSION))
        ratio = min(long)[0] / min(empty)[0]
        print(f"empty start to the first request:  {min(empty)[0]:.3f} s CPU, {min(w for _, w in empty):.3f} s")
        print(f"resume to the first request:       {min(long)[0]:.3f} s CPU, {min(w for _, w in long):.3f} s")
        print(f"ratio: {ratio:.2f} (the first request itself, without a whole `weft`)")
        many = Path(folder) / "many"
        _many_sessions(many, 10_000)
        listed = [_measure(LIST, str(many), "10000") for _ in range(3)]
        print(f"list of 10,000 sessions:           {min(listed)[0]:.3f} s CPU, {min(w for _, w in listed):.3f} s")
    return 0 if min(listed)[0] < 1.0 and min(long)[0] - min(empty)[0] < 0.15 else 1


if __name__ == "__main__":
    sys.exit(main())
