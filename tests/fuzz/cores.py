"""Fuzzes every core of `targets.py` for a while, in processes of their own.

    python tests/fuzz/cores.py [--seconds 60] [--only NAME] [--json FILE]

With atheris (`pip install weft[fuzz]`; `make fuzz` does) the bytes are led by what of our code they reach; without,
they are mutations of good input. A finding is printed with the input that causes it, and the exit code is 1.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]


def one(name: str, seconds: float) -> int:
    """In the child: one target until the time is over, or until it fails."""
    try:
        import atheris
    except ImportError:
        return mutations(name, seconds)
    with atheris.instrument_imports(include=["weft"]):
        from tests.fuzz.targets import TARGETS
    target = next(t for t in TARGETS if t.name == name)

    def feed(data: bytes) -> None:
        try:
            target.run(data)
        except target.allowed:
            return

    import tempfile

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(target.seeds):
            (Path(corpus) / str(number)).write_bytes(seed)
        flags = [f"-max_total_time={max(1, int(seconds))}", "-max_len=4096", "-timeout=10", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *flags, "-print_final_stats=1", corpus], feed)
        atheris.Fuzz()
    return 0


def mutations(name: str, seconds: float) -> int:
    from tests.fuzz.targets import TARGETS, mutate

    target = next(t for t in TARGETS if t.name == name)
    chance, until, runs = Random(name), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        data = mutate(chance.choice(target.seeds), chance)
        runs += 1
        try:
            target.run(data)
        except target.allowed:
            continue
        except Exception:
            sys.stderr.write(f"input: {data!r}\n")
            raise
    sys.stderr.write(f"stat::number_of_executed_units: {runs}\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="for all of them together")
    parser.add_argument("--only")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.child:
        return one(given.child, given.seconds)
    from tests.fuzz.targets import TARGETS

    chosen = [t.name for t in TARGETS if not given.only or t.name == given.only]
    each = max(1.0, given.seconds / len(chosen))
    rows: list[dict[str, Any]] = []
    for name in chosen:
        child = [sys.executable, __file__, "--child", name, "--seconds", str(each)]
        done = subprocess.run(child, capture_output=True, text=True, timeout=each * 3 + 60)
        said = (done.stderr + done.stdout).splitlines()
        runs = next((int(line.split()[-1]) for line in said if "number_of_executed_units" in line), 0)
        rows.append({"target": name, "runs": runs, "ok": done.returncode == 0})
        sys.stdout.write(f"{name:20} {runs:10} runs  {'ok' if done.returncode == 0 else 'FAILED'}\n")
        sys.stdout.flush()
        if done.returncode:
            sys.stdout.write("\n".join(said[-25:]) + "\n")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
