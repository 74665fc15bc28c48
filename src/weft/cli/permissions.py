"""`weft permissions`: what would be decided, and why. Nothing is run and nobody is asked."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from weft.schema.content import Json

if TYPE_CHECKING:
    from weft.permissions.gate import RuleGate
    from weft.settings import Settings

EXAMPLES = """examples:
  weft permissions check "git log --grep=$(x) | sh"     what happens to this command, part by part
  weft permissions check --tool Edit .git/config        what happens to an edit of this file
  weft permissions check --allow "Bash(npm test:*)" "npm test && rm -rf x"
  weft permissions list                                 every rule, and the file it comes from
  weft permissions lint                                 rules that never match, or allow more than they seem to
"""


def main(argv: list[str]) -> int:
    options = _parser().parse_args(argv)
    if options.action == "check":
        return _check(options)
    if options.action == "list":
        return _list(options)
    return _lint(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weft permissions",
        description="Shows what the permission rules decide, without running anything.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|list|lint")
    check = actions.add_parser("check", help="decide one call and show every step", epilog=EXAMPLES)
    check.formatter_class = argparse.RawDescriptionHelpFormatter
    check.add_argument("subject", help="a command line; with --tool a file, an address or a name")
    check.add_argument("--tool", default="Bash", help="the tool that is called (default: Bash)")
    check.add_argument("--mode", help="the permission mode (default: that of the settings)")
    check.add_argument("--allow", action="append", default=[], metavar="RULE", help="as if this rule were set")
    check.add_argument("--deny", action="append", default=[], metavar="RULE", help="as if this rule were set")
    for name, text in (("list", "show every rule with its source"), ("lint", "find rules that mislead")):
        actions.add_parser(name, help=text)
    for sub in actions.choices.values():
        sub.add_argument("--json", action="store_true", help="print JSON")
        sub.add_argument("--settings", help="a settings file, or JSON, on top of the others")
        sub.add_argument("--cwd", default=os.getcwd(), help="the folder (default: this one)")
        sub.add_argument("--trust", action="store_true", help="as if the folder were trusted")
    return parser


def _settings(options: argparse.Namespace) -> "Settings":
    from weft.permissions.trust import is_trusted
    from weft.settings import load_settings

    cwd = os.path.abspath(options.cwd)
    return load_settings(cwd, flag=options.settings, trusted=options.trust or is_trusted(cwd))


def _gate(options: argparse.Namespace, settings: "Settings") -> "tuple[RuleGate, tuple[str, ...]]":
    from weft.permissions.gate import open_gate

    return open_gate(
        settings,
        cwd=os.path.abspath(options.cwd),
        mode=options.mode,
        allowed=options.allow,
        disallowed=options.deny,
        unlocked=True,
    )


def _check(options: argparse.Namespace) -> int:
    """Exit code 0: allowed; 1: asked; 3: denied."""
    from weft.permissions.explain import explain, to_lines

    settings = _settings(options)
    gate, notes = _gate(options, settings)
    found = explain(gate, options.tool, options.subject)
    if options.json:
        _print_json(found)
    else:
        for note in (*map(str, settings.problems), *notes):
            sys.stderr.write(f"note: {note}\n")
        sys.stdout.write("\n".join(to_lines(found)) + "\n")
    return {"allow": 0, "ask": 1}.get(str(found["behavior"]), 3)


def _list(options: argparse.Namespace) -> int:
    from weft.permissions import rules as rulebook

    settings = _settings(options)
    collected = rulebook.from_settings(settings)
    rows: list[Json] = [
        {"behavior": rule.behavior, "rule": rule.text, "scope": rule.scope, "source": rule.source}
        for behavior in rulebook.BEHAVIORS
        for rule in collected.rules
        if rule.behavior == behavior
    ]
    if options.json:
        _print_json(
            {
                "rules": rows,
                "problems": [*map(str, settings.problems), *collected.problems],
                "withheld": settings.withheld,
            }
        )
        return 0
    width = max((len(str(row["rule"])) for row in rows), default=0)
    for row in rows:
        sys.stdout.write(f"{row['behavior']:<6} {row['rule']:<{width}}  {row['scope']}: {row['source']}\n")
    if not rows:
        sys.stdout.write("No rules are set. Reads inside of the folder pass, the rest is asked.\n")
    for problem in (*map(str, settings.problems), *collected.problems):
        sys.stderr.write(f"problem: {problem}\n")
    if settings.withheld:
        sys.stderr.write(
            f"note: the folder is not trusted, so its {', '.join(settings.withheld)} have no effect; see weft trust\n"
        )
    return 0


def _lint(options: argparse.Namespace) -> int:
    """Exit code 1 when something was found."""
    from weft.permissions import rules as rulebook
    from weft.permissions.lint import lint

    settings = _settings(options)
    collected = rulebook.from_settings(settings)
    findings = lint(collected.rules, cwd=os.path.abspath(options.cwd))
    problems = [*map(str, settings.problems), *collected.problems]
    if options.json:
        rows = [
            {"rule": item.rule, "source": item.source, "kind": item.kind, "message": item.message} for item in findings
        ]
        _print_json({"findings": rows, "problems": problems})
    else:
        for item in findings:
            sys.stdout.write(f"{item.source}: {item.rule}: {item.message}\n")
        for problem in problems:
            sys.stdout.write(f"{problem}\n")
        if not findings and not problems:
            sys.stdout.write(f"{len(collected.rules)} rules, nothing to say about them.\n")
    return 1 if findings or problems else 0


def _print_json(value: Json) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
