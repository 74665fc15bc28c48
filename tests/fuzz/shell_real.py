"""The long form: lines that are judged safe are really run, in the sandbox and under strace.

    python -m tests.fuzz.shell_real --seconds 600 --seed 1

A line fails when it starts a program that it was not read as, or when a file of the workspace has changed after it.
Prints a table and, with --json, writes it.
"""

import argparse
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.recorder import Recorder
from tests.fuzz.shell_lines import line
from tests.unit.permissions.bypasses import ALLOWED, CASES
from tests.unit.permissions.table import gate_for
from weft.permissions.gate import RuleGate
from weft.permissions.sandbox import Policy, Sandbox, available
from weft.permissions.shell_gate import examine

TRANSPORTS = {"ssh", "git-remote-http", "git-remote-https"}
"""What git starts to reach another machine: whoever allows all of git by a rule has allowed that."""
_STARTED = re.compile(r'execve\("([^"]+)".*\) = 0')


def started(sandbox: Sandbox, project: Path, log: Path, text: str) -> list[str]:
    """The programs that a line really starts, by their base name, without the shell itself."""
    argv = ("strace", "-f", "-qq", "-e", "trace=execve", "-o", str(log), "/bin/bash", "-c", f"{text}\nwait")
    wrapped, env = sandbox(argv, project, {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"})
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            wrapped, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False
        )
    found = [os.path.basename(match[1]) for match in _STARTED.finditer(log.read_text(errors="replace"))]
    return found[1:]


def programs(gate: RuleGate, text: str) -> set[str]:
    """The words of a line that was read: a program must be one of them, as a wrapper may stand before it."""
    analysis = examine(gate, text, gate.cwd).analysis
    assert analysis.line is not None
    return {word.text for simple in analysis.line.commands for word in simple.words}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kind, sentence = available()
    if kind == "none":
        sys.stderr.write(f"{sentence}\n")
        return 2
    counts = {"judged": 0, "safe": 0, "programs": 0, "failures": 0}
    failures: list[str] = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        recorder = Recorder(Path(folder))
        subprocess.run(["git", "init", "-q"], cwd=recorder.project, check=True)
        gate = gate_for(recorder.project, allow=ALLOWED)
        sandbox = Sandbox(Policy(roots=(str(recorder.project),)), kind)
        source = random.Random(options.seed)
        bypasses = [text for lines in CASES.values() for text in lines]
        end = time.monotonic() + options.seconds
        log = Path(folder) / "strace"
        sandbox((), recorder.project, {})
        before = recorder.files()
        while time.monotonic() < end:
            text = line(source) if source.random() < 0.8 else mutated(source, bypasses)
            counts["judged"] += 1
            if examine(gate, text, gate.cwd).decision.behavior != "allow" or "sleep" in text or "\0" in text:
                continue
            counts["safe"] += 1
            ran = started(sandbox, recorder.project, log, text)
            counts["programs"] += len(ran)
            strangers = set(ran) - {os.path.basename(name) for name in programs(gate, text)}
            if "git" in ran:
                strangers -= TRANSPORTS
            if strangers or recorder.files() != before:
                counts["failures"] += 1
                failures.append(f"{text!r}: {sorted(strangers) or 'files changed'}")
                before = recorder.files()
        sandbox.close()
    for name, value in counts.items():
        sys.stdout.write(f"{name:<10} {value}\n")
    sys.stdout.write("".join(f"  {failure}\n" for failure in failures))
    if options.json:
        options.json.write_text(json.dumps({**counts, "lines": failures}, indent=2))
    return 1 if failures else 0


def mutated(source: random.Random, lines: list[str]) -> str:
    """A known bypass with one character taken out, doubled or put elsewhere."""
    text = source.choice([known for known in lines if len(known) < 200])
    at = source.randrange(len(text))
    change = source.choice(("drop", "double", "quote", "none"))
    if change == "drop":
        return text[:at] + text[at + 1 :]
    if change == "double":
        return text[:at] + text[at] + text[at:]
    return f"{text[:at]}'{text[at]}'{text[at + 1 :]}" if change == "quote" and text[at] not in "'\n" else text


if __name__ == "__main__":
    sys.exit(main())
