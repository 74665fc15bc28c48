"""What a message costs behind a pipe: control round trips and partial messages, beside the real command.

    python bench/stream_json.py [--trips 1000] [--messages 100000] [--no-peer]

CPU seconds of the child, read at the ends of each phase; interleaved runs, the better of two; a ratio under 0.5 is the
goal.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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


def drive(command: list[str], url: str, trips: int) -> dict[str, float]:
    """One child: its CPU seconds for the round trips and for the stream, each read at its own ends."""
    with tempfile.TemporaryDirectory() as home:
        ours = ("ANTHROPIC", "CLAUDE", "PYTHONDONT")
        env = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        env |= {"HOME": home, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "IS_SANDBOX": "1"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "0"}
        env["PYTHONPATH"] = str(ROOT / "src")
        child = subprocess.Popen([*command, *BASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=env)
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b'{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}\n')
        child.stdin.flush()
        _until(child, b'"control_response"')
        time.sleep(1)
        began = cpu_of(child.pid)
        for number in range(trips):
            request = {"type": "control_request", "request_id": f"r{number}", "request": {"subtype": "mcp_status"}}
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            _until(child, b'"control_response"')
        turned = cpu_of(child.pid)
        child.stdin.write(b'{"type":"user","message":{"role":"user","content":"go"}}\n')
        child.stdin.flush()
        partial = sum(b'"stream_event"' in line[:60] for line in _lines(child))
        ended = cpu_of(child.pid)
        child.stdin.close()
        child.stdout.read()
        child.wait()
        return {
            "trip_us": (turned - began) / trips * 1e6,
            "stream_s": ended - turned,
            "messages": float(partial),
        }


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far, children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _lines(child: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    assert child.stdout is not None
    for line in child.stdout:
        yield line
        if b'"type":"result"' in line:
            return


def _until(child: "subprocess.Popen[bytes]", words: bytes) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        if words in line:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=3000)
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
                    found = drive(command, model.url, arguments.trips)
                finally:
                    model.close()
                best = rows[name]
                rows[name] = {key: min(value, best.get(key, value)) for key, value in found.items()}
    print(f"{'':10}{'a round trip':>16}{'a delta of the model':>24}{'lines written':>16}")
    for name, row in rows.items():
        trip, delta = f"{row['trip_us']:.0f} us", f"{row['stream_s'] / arguments.messages * 1e6:.1f} us"
        print(f"{name:10}{trip:>16}{delta:>24}{row['messages']:>16.0f}")
    print(
        "Weft merges deltas when its reader is slower than the model; the cost is for each delta that the model sent."
    )
    if "claude" in rows:
        for key, words in (("trip_us", "a round trip"), ("stream_s", "a delta")):
            print(f"{words}: {rows['weft'][key] / rows['claude'][key]:.2f} of the real command's CPU (goal: 0.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
