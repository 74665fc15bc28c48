"""What a message costs behind a pipe: control round trips and partial messages, beside the real command.

    python bench/stream_json.py [--trips 1000] [--messages 100000] [--no-peer]

CPU seconds of the child for each message, interleaved runs, the better of two; a ratio under 0.5 is the goal.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BASE = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--include-partial-messages"]


class Model:
    """A fake model server in a process of its own."""

    def __init__(self, script: list[object], folder: Path) -> None:
        file = folder / "script.json"
        file.write_text(json.dumps(script))
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "weft.testing.fake_anthropic", "--port", "0", "--script", str(file)],
            stdout=subprocess.PIPE,
            env=env,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = next(word for word in self._process.stdout.readline().split() if word.startswith("http"))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def drive(command: list[str], url: str, trips: int, prompt: bool) -> tuple[float, float, int]:
    """CPU seconds, wall seconds and partial messages of one child."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE", "PYTHONDONT"))
        }
        env |= {"HOME": home, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "IS_SANDBOX": "1"}
        env |= {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "PYTHONPATH": str(ROOT / "src"),
            "ENABLE_TOOL_SEARCH": "0",
        }
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        child = subprocess.Popen([*command, *BASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=env)
        assert child.stdin is not None and child.stdout is not None
        partial = 0
        child.stdin.write(b'{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}\n')
        child.stdin.flush()
        _until(child, b'"control_response"')
        for number in range(trips):
            request = {"type": "control_request", "request_id": f"r{number}", "request": {"subtype": "mcp_status"}}
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            _until(child, b'"control_response"')
        if prompt:
            child.stdin.write(b'{"type":"user","message":{"role":"user","content":"go"}}\n')
            child.stdin.flush()
            for line in child.stdout:
                partial += b'"stream_event"' in line[:40] or b'"type":"stream_event"' in line
                if b'"type":"result"' in line:
                    break
        threading.Thread(target=child.stdout.read, daemon=True).start()
        child.stdin.close()
        child.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return cpu, time.monotonic() - started, partial


def _until(child: "subprocess.Popen[bytes]", words: bytes) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        if words in line:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    commands = {"weft": [sys.executable, "-m", "weft"]}
    if not arguments.no_peer:
        from tests.peers import peer_bin

        commands["claude"] = [str(peer_bin("claude"))]
    text = {"blocks": [{"type": "text", "text": "word " * arguments.messages}], "piece": 5}
    rows: dict[str, dict[str, float]] = {name: {} for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for _round in range(2):
            for name, command in commands.items():
                model = Model([text, text], Path(folder))
                try:
                    idle, _wall, _none = drive(command, model.url, 0, prompt=False)
                    trips, _wall, _none = drive(command, model.url, arguments.trips, prompt=False)
                    whole, wall, partial = drive(command, model.url, 0, prompt=True)
                finally:
                    model.close()
                found = {
                    "trip_us": max(trips - idle, 1e-6) / arguments.trips * 1e6,
                    "message_us": max(whole - idle, 1e-6) / max(partial, 1) * 1e6,
                    "messages": float(partial),
                    "stream_wall_s": wall,
                }
                best = rows[name]
                rows[name] = {key: min(value, best.get(key, value)) for key, value in found.items()}
    print(f"{'':10}{'a round trip':>16}{'a partial message':>20}{'messages':>12}{'wall':>8}")
    for name, row in rows.items():
        trip, message = f"{row['trip_us']:.0f} us", f"{row['message_us']:.1f} us"
        print(f"{name:10}{trip:>16}{message:>20}{row['messages']:>12.0f}{row['stream_wall_s']:>7.1f}s")
    if "claude" in rows:
        for key, words in (("trip_us", "a round trip"), ("message_us", "a partial message")):
            print(f"{words}: {rows['weft'][key] / rows['claude'][key]:.2f} of the real command's CPU (goal: 0.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
