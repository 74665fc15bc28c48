"""`weft usage`: what was asked through the proxy, added up."""

import argparse
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.proxy.calls import Call

EPILOG = """\
examples:
  weft usage                       by day and model
  weft usage --by who              by program
  weft usage --by day,who,model    any of them together
  weft usage --since 2026-11-01    from that day on
  weft usage --json                for programs
  weft usage --calls --json        every call, one line of JSON each"""
KEYS = ("day", "model", "who")


class Row(msgspec.Struct, kw_only=True):
    """`unknown` are calls whose price is not known; their dollars are not in the sum. `estimated` are calls that the
    server did not count."""

    day: str = ""
    model: str = ""
    who: str = ""
    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    dollars: float = 0.0
    unknown: int = 0
    estimated: int = 0
    seconds: float = 0.0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft usage",
        description="Adds up the calls that went through the proxy.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--by", default="day,model", help="day, model, who, or several with commas")
    parser.add_argument("--since", default="", metavar="DATE", help="only calls from this day on (2026-11-01)")
    parser.add_argument("--calls", action="store_true", help="every call instead of sums")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    arguments = parser.parse_args(argv)
    keys = tuple(key.strip() for key in str(arguments.by).split(",") if key.strip())
    if not keys or any(key not in KEYS for key in keys):
        raise UsageError(f"--by takes {', '.join(KEYS)}, alone or with commas.", hint="weft usage --by who")
    if arguments.since and re.fullmatch(r"\d{4}-\d{2}(-\d{2}.*)?", arguments.since) is None:
        raise UsageError("--since takes a date.", hint="weft usage --since 2026-11-01")
    from weft.proxy.calls import CallLog

    calls = CallLog().read(arguments.since)
    if arguments.calls:
        _write_calls(calls, json=arguments.json)
        return 0
    rows = add_up(calls, keys)
    if arguments.json:
        total = add_up(CallLog().read(arguments.since), ())
        body = {"rows": rows, "total": total[0] if total else Row()}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(body), indent=2).decode() + "\n")
    else:
        sys.stdout.write(table(rows, keys))
    return 0


def add_up(calls: "Iterable[Call]", keys: tuple[str, ...]) -> list[Row]:
    rows: dict[tuple[str, ...], Row] = {}
    for call in calls:
        values = {"day": call.time[:10], "model": call.model, "who": call.who}
        place = tuple(values[key] for key in keys)
        shown = {key: value if key in keys else "" for key, value in values.items()}
        row = rows.setdefault(place, Row(day=shown["day"], model=shown["model"], who=shown["who"]))
        row.calls += 1
        row.failed += bool(call.error) or call.status >= 400
        row.input_tokens += call.input_tokens
        row.output_tokens += call.output_tokens
        row.cache_read_tokens += call.cache_read_tokens
        row.cache_write_tokens += call.cache_write_tokens
        row.dollars += call.dollars or 0.0
        row.unknown += call.dollars is None
        row.estimated += call.estimated
        row.seconds += call.duration
    return [rows[place] for place in sorted(rows)]


def table(rows: list[Row], keys: tuple[str, ...]) -> str:
    if not rows:
        return "No calls yet. `weft proxy --run COMMAND` makes some.\n"
    head = (*keys, "calls", "failed", "input", "output", "cached", "dollars")
    lines = [head, *(_cells(row, keys) for row in rows)]
    if len(rows) > 1:
        lines.append(("total", *("" for _ in keys[1:]), *_cells(_sum(rows), ())))
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    aligns: list[Literal["<", ">"]] = ["<" if at < len(keys) else ">" for at in range(len(head))]
    text = "".join(
        "  ".join(f"{cell:{align}{width}}" for cell, align, width in zip(line, aligns, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
    if any(row.unknown for row in rows):
        text += "+ the price of some calls is not known; they are not in the sum\n"
    if any(row.estimated for row in rows):
        text += "~ the server did not count some calls; their tokens are estimates\n"
    return text


def _cells(row: Row, keys: tuple[str, ...]) -> tuple[str, ...]:
    names = {"day": row.day, "model": row.model, "who": row.who}
    guess = "~" if row.estimated else ""
    return (
        *(names[key] for key in keys),
        str(row.calls),
        str(row.failed),
        f"{guess}{row.input_tokens:,}",
        f"{guess}{row.output_tokens:,}",
        f"{row.cache_read_tokens:,}",
        f"${row.dollars:.4f}{'+' if row.unknown else ''}",
    )


def _sum(rows: list[Row]) -> Row:
    total = Row()
    for row in rows:
        for name in ("calls", "failed", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
        total.dollars += row.dollars
        total.unknown += row.unknown
        total.estimated += row.estimated
        total.seconds += row.seconds
    return total


def _write_calls(calls: "Iterable[Call]", *, json: bool) -> None:
    for call in calls:
        if json:
            sys.stdout.write(msgspec.json.encode(call).decode() + "\n")
            continue
        cost = "?" if call.dollars is None else f"${call.dollars:.4f}"
        tokens = f"{call.input_tokens}+{call.output_tokens}"
        error = f" {call.error}" if call.error else ""
        row = f"{call.time} {call.who:12} {call.model:28} {call.status}{error} {tokens} {cost} {call.duration:.2f}s"
        sys.stdout.write(row + "\n")
