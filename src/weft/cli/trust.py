"""`weft trust`: whether a folder's hooks, servers, variables and allow rules take effect."""

import argparse
import os
import sys


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft trust",
        description="Trusts a folder: its hooks, MCP servers, status commands, variables and allow rules take effect "
        "until one of those files changes.",
        epilog="examples:\n  weft trust            trust this folder as it is now\n"
        "  weft trust --show     show what waits for trust\n  weft trust --forget   take it back\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="?", default=os.getcwd(), help="the folder (default: this one)")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--show", action="store_true", help="only show; exit code 1 when something waits for trust")
    choice.add_argument("--forget", action="store_true", help="no longer trust it")
    options = parser.parse_args(argv)
    folder = os.path.realpath(options.folder)
    if not os.path.isdir(folder):
        sys.stderr.write(f"weft trust: {folder} is not a folder\n")
        return 2
    if options.show:
        return _show(folder)
    return _forget(folder) if options.forget else _accept(folder)


def _show(folder: str) -> int:
    from weft.permissions.trust import state_of

    state = state_of(folder)
    if not state.changed:
        sys.stdout.write(f"{folder}: nothing waits for trust\n")
        return 0
    word = "changed since it was trusted" if state.known else "not trusted"
    sys.stdout.write(f"{folder}: {word}. These would take effect:\n")
    for change in state.changed:
        keys = f": {', '.join(change.keys)}" if change.keys else ""
        sys.stdout.write(f"  {change.path}{keys}\n")
    return 1


def _accept(folder: str) -> int:
    from weft.errors import SettingsError
    from weft.permissions.trust import accept, state_of

    changed = state_of(folder).changed
    try:
        accept(folder)
    except SettingsError as error:
        sys.stderr.write(f"weft trust: {error}\n")
        return 1
    sys.stdout.write(f"{folder} is trusted as it is now\n")
    for change in changed:
        sys.stdout.write(f"  {change.path}{': ' + ', '.join(change.keys) if change.keys else ''}\n")
    return 0


def _forget(folder: str) -> int:
    from weft.permissions.trust import forget

    known = forget(folder)
    sys.stdout.write(f"{folder} is no longer trusted\n" if known else f"{folder} was not trusted\n")
    return 0
