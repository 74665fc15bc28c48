"""`weft agents`: what is on this machine, which version, and whether it answers."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.connect.availability import Availability

EPILOG = """examples:
  weft agents                   every agent that Weft knows; each that is here is started once and greeted
  weft agents --quick           only look for them
  weft agents gemini codex      these only
  weft agents --json            for programs

Use one with --agent NAME, --agent "any command" or --agent ws://…; your own go into agents.toml of Weft's home."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft agents",
        description="Lists the agents that Weft can drive.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--quick", action="store_true", help="do not start them")
    parser.add_argument("--json", action="store_true", help="one JSON array")
    arguments = parser.parse_args(argv)

    import anyio

    found = anyio.run(look, tuple(arguments.names), not arguments.quick)
    if arguments.json:
        import msgspec

        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        sys.stdout.write(table(found))
    return 0


async def look(names: tuple[str, ...], ask: bool) -> "list[Availability]":
    import anyio

    from weft.connect.availability import check
    from weft.connect.registry import known_agents
    from weft.errors import UsageError

    known = known_agents()
    for name in names:
        if name not in known:
            raise UsageError(f"There is no agent {name!r}.", hint=f"Weft knows {', '.join(known)}.")
    results: dict[str, Availability] = {}
    limit = anyio.CapacityLimiter(2)

    async def one(name: str) -> None:
        async with limit:
            results[name] = await check(known[name], ask=ask)

    async with anyio.create_task_group() as tasks:
        for name in names or known:
            tasks.start_soon(one, name)
    return [results[name] for name in names or known]


def table(found: "list[Availability]") -> str:
    lines: list[str] = []
    for agent in found:
        if not agent.installed:
            state = "not here"
        elif agent.answers is None:
            state = "here"
        else:
            state = "answers" if agent.answers else "no answer"
        lines.append(f"{agent.name:12} {state:10} {agent.version or '-':28.28} {', '.join(agent.protocols)}")
        if agent.installed:
            lines.append(f"{'':12} {agent.path}" + (f" (by the {agent.how})" if agent.how == "login shell" else ""))
        if agent.problem and agent.installed:
            lines.append(f"{'':12} {agent.problem}")
        if agent.hint:
            lines.append(f"{'':12} {agent.hint}")
    return "\n".join(lines) + "\n"
