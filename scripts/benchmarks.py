"""Makes `docs/benchmarks.md` and its plots from `docs/benchmarks/results.json`, which `bench/run.py` writes.

python scripts/benchmarks.py
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
PAGE = FOLDER.parent / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Measured on {date} with `make bench`: {machine}; the load average was {before:.1f} before and {after:.1f} after.
The machine is shared, so wall times say little; **CPU seconds and the ratios of one interleaved run** are what to look
at.

One scripted model on loopback answers everybody at once and says the same (`bench/model.py`). Each agent runs with a
fresh home, its telemetry off, and permission to run shell commands. CPU is of the process and of every child it waited
for; memory is the largest resident size of any one of its processes. `codex` is the command of its npm package, which
starts a native program through Node; `codex-binary` is that program alone. `weft` is this checkout on the Python that
runs the bench; `weft-installed` is the same as a package of its own on the Python of the system. The least CPU of all
rounds is what is left when other programs are in the way the least.
"""


def bars(title: str, unit: str, rows: list[tuple[str, float]]) -> str:
    """A plain bar chart: Weft in colour, the others grey; the numbers stand beside the bars."""
    top = max(value for _, value in rows)
    height = 34 + 24 * len(rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="640" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-weight="bold" fill="#222">{title}</text>',
    ]
    for number, (name, value) in enumerate(rows):
        y = 34 + 24 * number
        width = max(2.0, value / top * 400)
        colour = "#2f6f8f" if name == "weft" else "#b8bec4"
        out.append(f'<text x="118" y="{y + 13}" text-anchor="end" fill="#222">{name}</text>')
        out.append(f'<rect x="126" y="{y}" width="{width:.1f}" height="17" fill="{colour}"/>')
        out.append(f'<text x="{132 + width:.1f}" y="{y + 13}" fill="#222">{value:.3g} {unit}</text>')
    return "\n".join([*out, "</svg>", ""])


def startup_table(rows: list[dict[str, Any]]) -> list[str]:
    ours = next(row for row in rows if row["agent"] == "weft")
    head = "| agent | CPU s | least CPU s | first request s | wall s | memory MB | one more tool turn, CPU ms |"
    lines = [head + " CPU: Weft / it | memory | turn |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        turn = f"{row['turn']:.1f}" if row["turn"] is not None else "–"
        ratio = f"{ours['turn'] / row['turn']:.2f}" if row["turn"] else "–"
        least = f"{row['least']:.2f}" if row.get("least") else "–"
        figures = f"{row['cpu']:.2f} | {least} | {row['first']:.2f} | {row['wall']:.2f} | {row['memory']:.0f} | {turn}"
        cpu, memory = ours["cpu"] / row["cpu"], ours["memory"] / row["memory"]
        lines.append(f"| {row['agent']} | {figures} | {cpu:.2f} | {memory:.2f} | {ratio} |")
    return lines


def stream_lines(found: Any) -> list[str]:
    """One row for each size of each kind; what whole processes cost comes after, where it was measured."""
    rows: list[dict[str, Any]] = []
    for kind, measured in found.items():
        for row in measured if isinstance(measured, list) else [measured]:
            rows.append({"what": kind, **row} if isinstance(row, dict) else {"what": kind, "value": row})
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
    for row in rows:
        cells = (row.get(key, "–") for key in keys)
        lines.append("| " + " | ".join(f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells) + " |")
    return lines


def main() -> int:
    results = json.loads((FOLDER / "results.json").read_text())
    rows = sorted(results["startup"]["rows"], key=lambda row: row["cpu"])
    plots = {
        "cpu": bars("One prompt, whole process: CPU seconds", "s", [(r["agent"], r["cpu"]) for r in rows]),
        "memory": bars("Peak memory", "MB", sorted(((r["agent"], r["memory"]) for r in rows), key=lambda x: x[1])),
        "turn": bars(
            "One more tool turn: CPU milliseconds",
            "ms",
            sorted(((r["agent"], r["turn"]) for r in rows if r["turn"]), key=lambda x: x[1]),
        ),
    }
    for name, text in plots.items():
        (FOLDER / f"{name}.svg").write_text(text)
    many, kept = results["many"], results["sessions"]
    introduction = INTRODUCTION.format(
        date=results["date"],
        machine=results["machine"],
        before=results["load_before"],
        after=results["load_after"],
    )
    page = [
        introduction,
        "## Start-up, memory, and the cost of a tool turn",
        *startup_table(rows),
        "",
        f"{results['startup']['runs']} rounds, medians, load average {results['startup']['load']} at their end;"
        " a tool turn is a shell command that echoes a word, the mean of"
        f" {results['startup']['steps']}. aider takes no tool calls.",
        *([results["startup"]["others"]] if "others" in results["startup"] else []),
        "",
        *(f"![{name}](benchmarks/{name}.svg)" for name in plots),
        "",
        "What was promised, against the best peer of this run:",
        "",
        *(f"- {line}" for line in results["startup"]["met"]),
        "",
        "## A long answer",
        "5 MB of text and a tool input of 2 MB in pieces of 20 characters, at 1x, 2x and 4x: one rate is linear time."
        " The rate is in MB for a second of CPU; `weft -p` and `claude -p` are whole processes.",
        "",
        *stream_lines(results["stream"]),
        "",
        "## Sessions",
        *(f"- {name}: {value:.2f} s CPU" for name, value in kept.items() if name not in ("ratio", "first")),
        f"- resuming costs {kept['ratio']:.2f} times a new session",
        *([f"- its first request comes {kept['first']:.2f} times later, by the clock"] if "first" in kept else []),
        "",
        f"## {many['sessions']:.0f} sessions in one process",
        f"- {many['open_kb']:.0f} KB each when open, {many['after_turn_kb']:.0f} KB after a turn with a tool call;"
        f" {many['peak_mb']:.0f} MB in all",
        f"- {many['open_ms']:.1f} ms of CPU to open one, {many['turn_ms']:.1f} ms for its turn of two requests",
        f"- {many['idle_cpu_percent']:.2f} % of a core when all of them wait; {many['open_files']:.0f} open files",
        f"- a step (one request, one Read, one record on disk) costs {many['step_ms']:.1f} ms of CPU beside the model",
        "",
    ]
    PAGE.write_text("\n".join(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
