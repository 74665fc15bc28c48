"""How long the gate takes to decide: a set of 1,000 rules, calls of every kind.

    python bench/permissions.py [--json FILE]

The promise is under 1 ms for each decision. Commands are new each time, so that no cache of parses helps. CPU time
is measured, so that a busy machine does not change the answer.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from weft.permissions.gate import RuleGate
from weft.permissions.port import Call
from weft.permissions.rules import Behavior, Rule, make

RULES = 1000
ROUNDS = 300
LIMIT = 1.0


def rules() -> list[Rule]:
    behaviors: tuple[Behavior, ...] = ("allow", "ask", "deny")
    found: list[Rule] = []
    for number in range(RULES // 5):
        behavior = behaviors[number % 3]
        found += [
            make(f"Bash(tool{number} sub:*)", behavior, "user"),
            make(f"Read(/folder{number}/**/*.key)", behavior, "project"),
            make(f"Edit(src/part{number}/**)", behavior, "local"),
            make(f"WebFetch(domain:host{number}.example.com)", behavior, "user"),
            make(f"mcp__server{number}__tool", behavior, "user"),
        ]
    return found


def calls(number: int) -> dict[str, Call]:
    return {
        "Read": Call(name="Read", input={"file_path": f"src/a/b{number}.py"}, read_only=True),
        "Edit": Call(name="Edit", input={"file_path": f"src/a/b{number}.py"}),
        "Bash, plain": Call(name="Bash", input={"command": f"git log --oneline -n {number}"}),
        "Bash, pipes": Call(
            name="Bash", input={"command": f"cd src && grep -rn foo{number} . | sort | uniq -c | head -20 2>/dev/null"}
        ),
        "Bash, asked": Call(name="Bash", input={"command": f"npm run build{number} && ./run.sh $(x) > out"}),
        "WebFetch": Call(name="WebFetch", input={"url": f"https://host{number}.example.com/x"}),
        "MCP": Call(name=f"mcp__server{number}__tool", input={}),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "src" / "a").mkdir(parents=True)
        began = time.thread_time()
        gate = RuleGate(rules(), cwd=folder, env={"HOME": folder, "PATH": "/usr/bin:/bin"})
        ready = (time.thread_time() - began) * 1000
        times: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            for name, call in calls(number).items():
                began = time.thread_time()
                gate.decide(call)
                times.setdefault(name, []).append((time.thread_time() - began) * 1000)
    rows = {
        name: {"median_ms": statistics.median(found), "p95_ms": sorted(found)[int(len(found) * 0.95)]}
        for name, found in times.items()
    }
    print(f"{RULES} rules, made ready in {ready:.1f} ms")
    for name, row in rows.items():
        print(f"{name:<12} median {row['median_ms']:.3f} ms   95% {row['p95_ms']:.3f} ms")
    if options.json:
        options.json.write_text(json.dumps({"rules": RULES, "ready_ms": ready, "rows": rows}, indent=2))
    return 1 if any(row["median_ms"] > LIMIT for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
