"""Everything that is published, measured in one go.

    python bench/run.py [--runs 3] [--quick] [--json docs/benchmarks/results.json]

Runs `startup.py`, `stream.py`, `sessions.py` and `many.py`, each as a process of its own, and gathers what they say.
`scripts/benchmarks.py` makes the page and its plots out of the file.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEFAULT = HERE.parent / "docs" / "benchmarks" / "results.json"


def python(*arguments: str, limit: float = 1800) -> str:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=HERE.parent, env=env, stdout=subprocess.PIPE, text=True, timeout=limit)
    return done.stdout


def startup(runs: int, only: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "startup.json"
        python("bench/startup.py", "--runs", str(runs), "--json", str(path), *(["--only", only] if only else []))
        return json.loads(path.read_text())


def sessions() -> dict[str, float]:
    text = python("bench/sessions.py")
    found = {name: float(value) for name, value in re.findall(r"^(.*?):\s+([0-9.]+) s CPU", text, re.MULTILINE)}
    ratio = re.search(r"ratio: ([0-9.]+)", text)
    first = re.search(r"first request is there .*: ([0-9.]+) times", text)
    ratios = {"ratio": ratio, "first": first}
    return {**found, **{name: float(match.group(1)) for name, match in ratios.items() if match}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer peers, smaller sizes")
    parser.add_argument("--json", type=Path, default=DEFAULT)
    parser.add_argument("--startup", type=Path, help="the results of an earlier startup.py")
    given = parser.parse_args()
    only = "weft,claude,codex,codex-binary" if given.quick else None
    results: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_before": os.getloadavg()[0],
        "startup": json.loads(given.startup.read_text()) if given.startup else startup(given.runs, only),
        "stream": json.loads(python("bench/stream.py", "--json", *(["--quick"] if given.quick else ["--peers"]))),
        "sessions": sessions(),
        "many": json.loads(python("bench/many.py", "--json", *(["--sessions", "100"] if given.quick else []))),
        "load_after": os.getloadavg()[0],
    }
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {given.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
