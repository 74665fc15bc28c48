"""`weft doctor`: what was found, what is missing, what to do."""

import argparse
import sys
from functools import partial

import msgspec

EXAMPLES = """\
examples:
  weft doctor            look at this machine and this folder
  weft doctor --json     the same, for programs
  weft doctor --repair   mend damaged session logs; nothing that can be read is lost
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft doctor",
        description="Says what was found, what is missing and what to do. Exit code 1 when something is wrong.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    parser.add_argument("--repair", action="store_true", help="mend damaged session logs")
    arguments = parser.parse_args(argv)
    import anyio

    from weft.sdk.examination import examine, report

    findings = anyio.run(partial(examine, repair=arguments.repair))
    if arguments.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode() + "\n")
    else:
        sys.stdout.write("\n".join(report(findings)) + "\n")
    return 1 if any(finding.state == "problem" for finding in findings) else 0
