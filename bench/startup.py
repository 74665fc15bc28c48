"""One prompt, whole process, Weft beside its peers in one interleaved run.

    python bench/startup.py [--runs 5] [--only weft,claude,codex] [--json FILE] [--install]

Each round starts every agent once with a prompt of no tool turns, and once with one of `--steps` turns, in an order
that changes from round to round. The model is `bench/model.py`: scripted, without latency, on loopback, in this
process, so that the CPU seconds are the agent's own and its children's. The medians of all rounds are printed:

    wall      seconds from start to exit
    first     seconds from start to the first model request
    cpu       user and system seconds of the process and of every child it waited for
    memory    the largest resident size of any one of its processes, in MB
    turn      milliseconds of CPU for one more tool turn (a shell command that echoes a word)

A ratio below 1 means that Weft needs less. `--install` fetches the peers that only this bench uses.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agents import EXTRA, PYPI, ROOT, Agent, agents
from model import Model, model

LIMIT = 240


@dataclass(frozen=True)
class Run:
    wall: float
    first: float
    cpu: float
    memory: float
    requests: int


@dataclass(frozen=True)
class Row:
    agent: str
    wall: float
    first: float
    cpu: float
    memory: float
    turn: float | None
    runs: int
    least: float = 0.0
    """The least CPU of all rounds: what is left when other programs are in the way the least."""


class Failed(Exception):
    """The agent did not do what the script asked."""


def environment(agent: Agent, base: str, home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TZ")}
    mine = {k: v.replace("{home}", str(home)) for k, v in agent.env(base).items()}
    places = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".share")}
    return {**kept, **places, "TERM": "dumb", "NO_COLOR": "1", "CI": "1", **mine}


def run(agent: Agent, server: Model, home: Path, steps: int) -> Run:
    """
    Raises:
        Failed: it left with an error, took too long, or did not make every step.
    """
    project = home / "project"
    project.mkdir(exist_ok=True)
    server.asked.clear()
    started = time.monotonic()
    output = home / "output"
    with open(output, "wb") as out:
        child = subprocess.Popen(
            agent.command(f"STEPS {steps}: do as the script says."),
            cwd=project,
            env=environment(agent, server.url, home),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        status, usage = wait(child)
    wall = time.monotonic() - started
    asked = list(server.asked)
    if status != 0 or len(asked) < steps + 1:
        said = output.read_text(errors="replace")[-600:]
        raise Failed(f"{agent.name}: exit {status}, {len(asked)} requests of {steps + 1}\n{said}")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, asked[0] - started, cpu, usage.ru_maxrss / 1024, len(asked))


def wait(child: "subprocess.Popen[bytes]"):
    """The exit status and the resources, also of the children it waited for."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        time.sleep(0.002)
    child.kill()
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = -9
    return -9, usage


def prepare(agent: Agent, base: str, home: Path) -> None:
    for name, text in agent.files(base).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def measure(chosen: list[Agent], rounds: int, steps: int) -> list[Row]:
    results: dict[str, tuple[list[Run], list[Run]]] = {a.name: ([], []) for a in chosen}
    alive = list(chosen)
    with model() as server, tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        homes = {a.name: Path(folder) / a.name for a in chosen}
        for agent in chosen:
            homes[agent.name].mkdir()
            prepare(agent, server.url, homes[agent.name])
        # The first round warms caches and byte code, and is thrown away.
        for number in range(rounds + 1):
            order = list(alive)
            random.Random(number).shuffle(order)
            for agent in order:
                try:
                    plain = run(agent, server, homes[agent.name], 0)
                    long = run(agent, server, homes[agent.name], steps) if agent.tools else None
                except (Failed, OSError) as failure:
                    print(f"left out: {failure}", file=sys.stderr)
                    alive.remove(agent)
                    continue
                if number:
                    results[agent.name][0].append(plain)
                    if long:
                        results[agent.name][1].append(long)
    return [row(a.name, *results[a.name], steps) for a in alive]


def row(name: str, plain: list[Run], long: list[Run], steps: int) -> Row:
    cpu = statistics.median(r.cpu for r in plain)
    turn = (statistics.median(r.cpu for r in long) - cpu) / steps * 1000 if long else None
    middle = {k: statistics.median(getattr(r, k) for r in plain) for k in ("wall", "first", "memory")}
    return Row(
        name, middle["wall"], middle["first"], cpu, middle["memory"], turn, len(plain), min(r.cpu for r in plain)
    )


def table(rows: list[Row]) -> str:
    ours = next(r for r in rows if r.agent == "weft")
    head = ("agent", "wall s", "first request s", "CPU s", "least CPU s", "memory MB", "tool turn CPU ms")
    lines = [f"| {' | '.join(head)} | CPU, Weft / it | memory | turn |"]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for r in sorted(rows, key=lambda r: r.cpu):
        turn = f"{r.turn:.1f}" if r.turn is not None else "–"
        ratio = f"{ours.turn / r.turn:.2f}" if r.turn and ours.turn is not None else "–"
        figures = f"{r.wall:.2f} | {r.first:.2f} | {r.cpu:.2f} | {r.least:.3f} | {r.memory:.0f} | {turn}"
        lines.append(f"| {r.agent} | {figures} | {ours.cpu / r.cpu:.2f} | {ours.memory / r.memory:.2f} | {ratio} |")
    return "\n".join(lines)


def targets(rows: list[Row]) -> list[str]:
    """What was promised, against the best peer of this run, as the peer's users start it: `codex-binary` is a part of
    `codex`, and has a line of its own."""
    own = [r for r in rows if r.agent in ("weft", "weft-installed")]
    others = [r for r in rows if r not in own]
    peers = [r for r in others if r.agent != "codex-binary"]
    if not peers:
        return []
    lines = [line for ours in own for line in _against(ours, peers)]
    for part in (r for r in others if r not in peers):
        lines += [
            f"{ours.agent}, CPU: {ours.cpu / part.cpu:.2f} of {part.agent} alone (least {ours.least / part.least:.2f})"
            for ours in own
        ]
    return lines


def _against(ours: Row, peers: list[Row]) -> list[str]:
    best = {
        "CPU": (ours.cpu, min(r.cpu for r in peers), 0.5),
        "least CPU": (ours.least, min(r.least for r in peers), 0.5),
        "memory": (ours.memory, min(r.memory for r in peers), 0.4),
        "tool turn": (ours.turn or 0.0, min(r.turn for r in peers if r.turn is not None), 0.34),
    }
    return [
        f"{ours.agent}, {name}: {mine / peer:.2f} of the best peer (promised: at most {limit}) "
        + ("met" if mine <= limit * peer else "MISSED")
        for name, (mine, peer, limit) in best.items()
    ]


def install_weft() -> None:
    """This checkout, as a package of its own on the system's Python."""
    venv = EXTRA / "weft" / "venv"
    system = "/usr/bin/python3"
    env = {**os.environ, "UV_SYSTEM_CERTS": "1"}
    subprocess.run(["uv", "venv", "-q", "--clear", "-p", system, str(venv)], env=env, check=True)
    python = str(venv / "bin" / "python")
    command = ["uv", "pip", "install", "-q", "-p", python, "-c", "constraints.txt", "."]
    subprocess.run(command, cwd=ROOT, env=env, check=True)


def install() -> None:
    install_weft()
    for name, (packages, _) in PYPI.items():
        venv = EXTRA / name / "venv"
        if (venv / "bin" / PYPI[name][1]).exists():
            continue
        python = "3.12" if name in ("vibe", "openhands") else f"{sys.version_info[0]}.{sys.version_info[1]}"
        for command in (
            ["uv", "venv", "-q", "--clear", "-p", python, str(venv)],
            ["uv", "pip", "install", "-q", "-p", str(venv / "bin" / "python"), *packages],
        ):
            if subprocess.run(command, env={**os.environ, "UV_SYSTEM_CERTS": "1"}).returncode:
                print(f"{name}: cannot be installed here", file=sys.stderr)
                break


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--only", help="names, with commas between")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    if given.install:
        install()
    names = given.only.split(",") if given.only else None
    chosen = [a for a in agents() if a.binary.exists() and (names is None or a.name in names)]
    if not chosen:
        return 0
    rows = measure(chosen, given.runs, given.steps)
    print(table(rows))
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"\n{given.runs} interleaved rounds; load average at the end {load}")
    met = targets(rows) if len(rows) > 1 else []
    print("\n".join(met))
    if given.json:
        result = {"rows": [asdict(r) for r in rows], "runs": given.runs, "steps": given.steps, "load": load, "met": met}
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
