"""How fast a model's answer is read: 5 MB of text, and a tool input of 2 MB in pieces of 20 characters.

    python bench/stream.py [--quick] [--json] [--peers]

The fake server is another process, so that the CPU seconds are the client's alone. Each size is run at 1x, 2x and 4x:
linear time shows as the same rate. `provider` is the whole path of `weft -p`: HTTP, events, deltas, retries, the fold
to a reply, and a partial tool input asked for after every piece. `--peers` also runs whole processes, `weft -p` and
Claude Code, one after the other: their rate is the size over the CPU that it costs more than a reply of 100 characters.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from weft.protocols.fold import Fold
from weft.providers.anthropic import AnthropicProvider
from weft.providers.retry import RetryingProvider
from weft.schema.content import Text
from weft.schema.messages import Message, Request
from weft.schema.stream import BlockDelta, StreamDone

REQUEST = Request("claude-sonnet-4-5", (Message("user", (Text("go"),)),))
LINE = 'The quick brown fox jumps over the lazy dog, says "hello" — and runs on.\n'
PIECE = 20
ROOT = Path(__file__).resolve().parent.parent


def script(kind: str, size: int) -> list[object]:
    text = (LINE * (size // len(LINE) + 1))[:size]
    if kind == "text":
        return [{"text": text, "piece": PIECE}]
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/a", "content": text}}
    return [{"blocks": [block], "piece": PIECE}]


@contextmanager
def server(kind: str, size: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_text(json.dumps(script(kind, size)))
        command = [sys.executable, "-m", "weft.testing.fake_anthropic", "--script", str(path), "--cycle"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert child.stdout is not None
            yield child.stdout.readline().strip()
        finally:
            child.terminate()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


async def read(url: str) -> tuple[int, int]:
    """(deltas, characters of the reply)"""
    provider = RetryingProvider(AnthropicProvider(key="k", base_url=url))
    fold, deltas, size = Fold(), 0, 0
    async for event in provider.stream(REQUEST):
        fold.feed(event)
        if isinstance(event, BlockDelta):
            deltas += 1
            fold.partial_input(event.index)
        elif isinstance(event, StreamDone):
            size = sum(len(str(use.input.get("content", ""))) for use in event.reply.tool_uses) or len(event.reply.text)
    await provider.aclose()
    return deltas, size


def measure(kind: str, size: int, times: int) -> dict[str, float]:
    with server(kind, size) as url:
        best = None
        for _ in range(times):
            wall, cpu = time.perf_counter(), time.process_time()
            deltas, got = anyio.run(read, url)
            row = (time.process_time() - cpu, time.perf_counter() - wall)
            assert got == size, f"{got} characters came of {size}"
            best = min(best, row) if best else row
    assert best is not None
    return {"size": size, "deltas": deltas, "cpu": best[0], "wall": best[1], "rate": size / 1e6 / best[0]}


def process(command: list[str], kind: str, size: int) -> float:
    """CPU seconds of a whole process that gets one answer of `size` characters."""
    with server(kind, size) as url, tempfile.TemporaryDirectory() as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-fake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        }
        with open(os.devnull, "r+b") as nothing:
            child = subprocess.Popen(
                command, env=env, cwd=home, stdin=nothing, stdout=nothing, stderr=subprocess.DEVNULL
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command[0]} failed with {child.returncode}")
    return used.ru_utime + used.ru_stime


def peers(scale: int) -> dict[str, list[dict[str, float]]]:
    """Whole processes, interleaved, so that a busy machine is unjust to nobody."""
    claude = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "peers.py"), "path", "claude"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    commands = {
        "weft -p": [sys.executable, "-m", "weft", "-p", "go", "--output-format", "json"],
        "claude -p": [claude, "-p", "go", "--output-format", "json"],
    }
    size = 5_000_000 // scale
    small: dict[str, float] = {}
    large: dict[str, float] = {}
    for _ in range(2):
        for name, command in commands.items():
            small[name] = min(small.get(name, 1e9), process(command, "text", 100))
            large[name] = min(large.get(name, 1e9), process(command, "text", size))
    rates = {name: size / 1e6 / max(1e-9, large[name] - small[name]) for name in commands}
    return {
        name: [{"size": size, "cpu": large[name], "cpu of 100 bytes": small[name], "rate": rates[name]}]
        for name in commands
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, once")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--peers", action="store_true", help="whole processes too: weft -p and Claude Code")
    arguments = parser.parse_args()
    scale, times = (10, 1) if arguments.quick else (1, 2)
    rows: dict[str, list[dict[str, float]]] = {}
    for kind, full in (("text", 5_000_000), ("tool input", 2_000_000)):
        rows[kind] = [measure(kind, full * factor // (4 * scale), times) for factor in (1, 2, 4)]
    others = peers(scale) if arguments.peers else {}
    if arguments.json:
        print(json.dumps({**rows, **others}))
        return 0
    print(f"{'what':12}{'MB':>8}{'deltas':>10}{'CPU s':>9}{'wall s':>9}{'MB/s CPU':>10}{'growth':>9}")
    for kind, measured in rows.items():
        before = None
        for row in measured:
            growth = f"x{row['cpu'] / before:.2f}" if before else ""
            before = row["cpu"]
            print(
                f"{kind:12}{row['size'] / 1e6:8.2f}{row['deltas']:10.0f}{row['cpu']:9.2f}{row['wall']:9.2f}"
                f"{row['rate']:10.2f}{growth:>9}"
            )
    print("Linear is a growth of x2.00 for each doubling.")
    for name, (row,) in others.items():
        print(f"{name:12}{row['size'] / 1e6:8.2f}{row['cpu']:19.2f}{row['rate']:19.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
