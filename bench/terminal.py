"""The terminal in numbers: `python bench/terminal.py`, or one of `paint`, `stream`, `keys`, `idle` by name.

paint   CPU seconds of the whole process until the first paint is on the screen (budget: 0.4)
stream  seconds for replies of 0.25, 0.5 and 1 MB; the time for a byte must not grow
keys    milliseconds from a key to its echo while a reply streams, in a real pty (budget: 16 at the 99th percentile);
        beside it a program that only echoes: what the machine itself takes, which is much when others use it
        (`chrt -r 10 python bench/terminal.py keys` leaves less of that)
idle    share of a CPU that an idle screen uses (budget: 0.5 %)
day     memory over a day's work: 500 turns in 10 conversations, each with 40 keys, a tool call and its output, a reply
        of 4,000 characters, a list that opens and closes, a resize. After the second conversation it must not grow
        (only by name; `day 100` for fewer turns)
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

PAINT = """
import os, sys, time
sys.argv = ["weft"]
from weft.cli.arguments import parse
from weft.cli import terminal
import anyio
def painted():
    with open(os.environ["BENCH_OUT"], "w") as file:
        file.write(str(time.process_time()))
    os.kill(os.getpid(), 15)
anyio.run(terminal.run_screen, parse([]), painted)
"""
MODEL = """
import anyio, sys
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.schema.content import Text
TEXT = "".join(f"Paragraph {n} with `code`, **weight** and more words.\\n\\n" for n in range(60000))
async def main():
    async with FakeAnthropic(lambda body: Answer(blocks=(Text(TEXT),), piece=40, delay=0.004)) as server:
        print(server.url, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""
DAY = """
import anyio, sys
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.schema.content import Text, ToolUse
REPLY = "".join(f"Sentence {n} with `code`, **weight** and more words.\\n\\n" for n in range(70))
turns = 0
def answer(body):
    global turns
    last = body["messages"][-1]["content"]
    if not body.get("tools"):
        return Answer(blocks=(Text("a title"),))
    if isinstance(last, list) and any(block.get("type") == "tool_result" for block in last):
        turns += 1
        return Answer(blocks=(Text(f"{REPLY}```python\\nprint({turns})\\n```\\n\\nFinished {turns}!"),), piece=200)
    return Answer(blocks=(ToolUse(id=f"toolu_{turns}", name="Bash", input={"command": "seq 200"}),))
async def main():
    async with FakeAnthropic(answer) as server:
        print(server.url, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""
ECHO = """
import os, tty
tty.setraw(0)
while True:
    os.write(1, os.read(0, 1000))
"""


@contextmanager
def child(argv: list[str], env: dict[str, str], size: tuple[int, int] = (24, 80)) -> Iterator[tuple[int, int]]:
    """A process on a pty of its own, gone at the end: its id, and our end."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    try:
        yield pid, fd
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def environment(folder: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "PYTHONPATH")}
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return {**kept, "HOME": folder, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths, **more}


def read_until(fd: int, wanted: bytes, limit: float, beside: int | None = None) -> bytes:
    """What came, up to and with `wanted`; all that came when it did not. What comes from `beside` is let go."""
    data = b""
    end = time.monotonic() + limit
    while wanted not in data and time.monotonic() < end:
        ready = select.select([fd] if beside is None else [fd, beside], [], [], 0.05)[0]
        if beside in ready:
            os.read(beside, 65536)
        if fd in ready:
            try:
                data += os.read(fd, 65536)
            except OSError:
                break
    return data


def must_show(fd: int, wanted: bytes) -> None:
    """Waits for it; a screen that never shows it has nothing to measure."""
    data = read_until(fd, wanted, 20)
    if wanted not in data:
        sys.exit(f"{wanted!r} never came: {data[-400:]!r}")


def paint(runs: int = 5) -> None:
    found: list[float] = []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            env = environment(folder, BENCH_OUT=str(out), ANTHROPIC_API_KEY="sk-none")
            os.chdir(folder)
            with child([sys.executable, "-c", PAINT], env) as (_, fd):
                end = time.monotonic() + 20
                while not (out.exists() and out.read_text()) and time.monotonic() < end:
                    read_until(fd, b"\0", 0.05)
            found.append(float(out.read_text()))
            os.chdir(ROOT)
    best = sorted(found[1:])
    print(f"paint   {best[0]:.3f} s of CPU at best, {best[len(best) // 2]:.3f} s in the middle")


def stream() -> None:
    import anyio

    from weft.surfaces.terminal.conversation import Opening
    from weft.surfaces.terminal.ports import Parts
    from weft.testing.connection import ScriptedConnection, said

    paragraph = "A paragraph with `code`, **weight** and [a link](https://example.org), long enough to wrap once. "
    block = f"{paragraph * 3}\n\n```python\ndef f(x):\n    return [x, 'text', 12]  # done\n```\n\n- one\n- two\n\n"

    async def once(size: int) -> tuple[float, int]:
        from weft.schema.commands import Prompt
        from weft.surfaces.terminal.app import TerminalApp

        text = (block * (size // len(block) + 1))[:size]
        connection = ScriptedConnection([said(text, chunk=64)])

        async def start(opening: Opening) -> ScriptedConnection:
            return connection

        async def nothing() -> list[object]:
            return []

        parts = Parts(
            start=start, cwd=Path("/"), env={}, store=lambda: None, settings=lambda: None, look_around=nothing
        )  # type: ignore[arg-type]
        async with anyio.create_task_group() as group:
            app = TerminalApp(parts, group)
            async with app.run_test(size=(100, 40)) as pilot:
                await app.conversation.settled()
                began = time.process_time()
                app.conversation.send(Prompt("go"))
                while app.conversation.model.ended is None:
                    await anyio.sleep(0.02)
                while app.transcript.total < 10 or app.conversation.model.touched:
                    await anyio.sleep(0.02)
                await pilot.pause()
                lines = app.transcript.total
                spent = time.process_time() - began
                group.cancel_scope.cancel()
        return spent, lines

    for size in (250_000, 500_000, 1_000_000):
        spent, lines = anyio.run(once, size)
        print(f"stream  {size:>9,} characters: {spent:.2f} s of CPU, {spent / size * 1e6:.2f} µs each, {lines} lines")


def model_server(folder: str, script: str = MODEL) -> tuple[int, str]:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.execvpe(sys.executable, [sys.executable, "-c", script], environment(folder))
    os.close(write)
    with os.fdopen(read) as lines:
        return pid, lines.readline().strip()


def keys(count: int = 300) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pid, url = model_server(folder)
        env = environment(folder, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="sk-fake")
        os.chdir(folder)
        try:
            command = [sys.executable, "-m", "weft"]
            with (
                child(command, env, (40, 120)) as (pid_, fd),
                child([sys.executable, "-c", ECHO], env) as (other, echo),
            ):
                must_show(fd, b"ask first")
                os.write(fd, b"go\r")
                must_show(fd, b"Paragraph 40 ")
                found: list[tuple[float, float]] = []
                plain: list[float] = []
                for number in range(count):
                    found.append(_press(fd, pid_, number, echo))
                    plain.append(_press(echo, other, number, fd)[0])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.chdir(ROOT)
    for name, waits in (
        ("by the clock", sorted(wall for wall, _ in found)),
        ("without waiting for a CPU", sorted(own for _, own in found)),
        ("of a program that only echoes", sorted(plain)),
    ):
        middle, high = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
        print(
            f"keys    {middle * 1000:.1f} ms in the middle, {high * 1000:.1f} at the 99th percentile of {count}, {name}"
        )


def _queued(pid: int) -> float:
    """Seconds that the process wanted to run and had no CPU, because others had it."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def _press(fd: int, pid: int, number: int, beside: int) -> tuple[float, float]:
    """Types a letter that the reply does not have, waits for it, and takes it away again. What comes from `beside`
    meanwhile is read too: a terminal that is not read stops who writes to it."""
    letter = "ΔΘΛΞΠΣΦΨΩ"[number % 9].encode()
    queued, began = _queued(pid), time.monotonic()
    os.write(fd, letter)
    read_until(fd, letter, 2, beside)
    spent = time.monotonic() - began
    own = max(0.0, spent - (_queued(pid) - queued))
    os.write(fd, b"\x7f")
    read_until(fd, b"\0", 0.015 + (number % 7) * 0.002, beside)
    return spent, own


def idle(seconds: float = 10.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder, ANTHROPIC_API_KEY="sk-fake")
        os.chdir(folder)
        with child([sys.executable, "-m", "weft"], env) as (pid, fd):
            must_show(fd, b"ask first")
            read_until(fd, b"\0", 2)
            before = _cpu(pid)
            read_until(fd, b"\0", seconds)
            print(f"idle    {(_cpu(pid) - before) / seconds:.2%} of a CPU")
        os.chdir(ROOT)


def day(turns: int = 500, conversations: int = 10) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pid, url = model_server(folder, DAY)
        env = environment(folder, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="sk-fake")
        os.chdir(folder)
        marks: list[float] = []
        try:
            command = [sys.executable, "-m", "weft", "--allowedTools", "Bash"]
            with child(command, env, (40, 120)) as (own, fd):
                must_show(fd, b"ask first")
                for number in range(1, turns + 1):
                    os.write(fd, f"this is turn {number} of a long day of work".encode() + b"\r")
                    must_show(fd, f"Finished {number}!".encode())
                    _open_and_resize(fd, number)
                    if number % (turns // conversations) == 0:
                        os.write(fd, b"/clear\r")
                        must_show(fd, b"/resume")
                        read_until(fd, b"\0", 8)
                        marks.append(_resident(own))
                        print(f"day     {marks[-1]:.1f} MB after {number} turns", flush=True)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.chdir(ROOT)
    print(f"day     grown by {marks[-1] - marks[1]:.1f} MB since the second conversation")


def _open_and_resize(fd: int, number: int) -> None:
    """The list of keys is opened and closed; then the window gets another size, which paints all again."""
    read_until(fd, b"\0", 0.1)
    os.write(fd, b"?")
    must_show(fd, b"ype to search")
    os.write(fd, b"\x1b")
    must_show(fd, b"sk anything")
    read_until(fd, b"\0", 0.2)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100 + number % 2 * 10, 0, 0))
    must_show(fd, b"sk anything")
    read_until(fd, b"\0", 0.1)


def _resident(pid: int) -> float:
    """Megabytes that it holds now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["paint", "stream", "keys", "idle"]
    if wanted[0] == "day":
        day(*map(int, wanted[1:]))
    else:
        for name in wanted:
            {"paint": paint, "stream": stream, "keys": keys, "idle": idle}[name]()
