"""`weft mcp`: the MCP servers of this folder and of this person."""

import argparse
import sys
from collections.abc import Callable, Sequence

from weft.errors import UsageError, WeftError

EXAMPLES = """examples:
  weft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  weft mcp add --transport http docs https://docs.example.com/mcp
  weft mcp add --scope project --env TOKEN='${TOKEN}' tracker -- tracker-mcp
  weft mcp list
  weft mcp approve tracker        look at a server that the project brings, and say yes
  weft mcp test tracker           connect, and list what it offers
  weft mcp login docs             log in with a browser, here or elsewhere
  weft mcp import desktop         take over servers from Claude Desktop
  weft mcp serve                  offer Weft's own tools to another program
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="weft mcp",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subs = top.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = subs.add_parser("add", help="write a server into a configuration file")
    add.add_argument("--scope", "-s", choices=("local", "project", "user"), default="local")
    add.add_argument("--transport", "-t", choices=("stdio", "http", "sse", "ws"))
    add.add_argument("--env", "-e", action="append", default=[], metavar="NAME=VALUE")
    add.add_argument("--header", "-H", action="append", default=[], metavar="NAME: VALUE")
    add.add_argument("--client-id", help="of an OAuth client that is registered already")
    add.add_argument("--callback-port", type=int, help="the port that such a client is registered for")
    add.add_argument("--protocol", choices=("auto", "legacy", "2026-07-28"), help="when a server misjudges its own era")
    add.add_argument("name")
    add.add_argument("target", help="a command, or the address of a remote server")
    add.add_argument("args", nargs=argparse.REMAINDER, help="the command's arguments; -- before them is allowed")
    json_add = subs.add_parser("add-json", help="the same, from the JSON of an entry")
    json_add.add_argument("--scope", "-s", choices=("local", "project", "user"), default="local")
    json_add.add_argument("name")
    json_add.add_argument("json")
    subs.add_parser("list", help="all servers: where each comes from, and whether it may start")
    get = subs.add_parser("get", help="one server: all that its entry says")
    get.add_argument("name")
    remove = subs.add_parser("remove", help="take a server out of a configuration file of ours")
    remove.add_argument("--scope", "-s", choices=("local", "project", "user"))
    remove.add_argument("name")
    approve = subs.add_parser("approve", help="let a server start that the project brings, or take its changed tools")
    approve.add_argument("name")
    approve.add_argument("--yes", action="store_true", help="do not ask; what is approved is printed all the same")
    deny = subs.add_parser("deny", help="never start this server of the project")
    deny.add_argument("name")
    test = subs.add_parser("test", help="connect to a server and list what it offers")
    test.add_argument("name")
    test.add_argument("--timeout", type=float, default=30.0, help="seconds")
    take = subs.add_parser("import", help="copy servers from another program's configuration")
    take.add_argument("source", help="desktop, claude, vscode, cursor, copilot, or a file")
    take.add_argument("--scope", "-s", choices=("local", "project", "user"), default="user")
    take.add_argument("--only", action="append", default=[], metavar="NAME")
    take.add_argument("--dry-run", action="store_true")
    for action, words in (("login", "log in to a remote server"), ("logout", "forget a login")):
        sub = subs.add_parser(action, help=words)
        sub.add_argument("name")
    serve = subs.add_parser("serve", help="offer Weft's own tools to other programs, behind the permission gate")
    serve.add_argument("--http", type=int, metavar="PORT", help="on 127.0.0.1 instead of standard input and output")
    serve.add_argument("--tools", help="only these, separated by commas")
    serve.add_argument("--allow", action="append", default=[], metavar="RULE", help="a permission rule, as in settings")
    return top


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    try:
        return _actions()[args.action](args)
    except UsageError as error:
        return _fail(error, 2)
    except WeftError as error:
        return _fail(error, 1)


def _fail(error: WeftError, code: int) -> int:
    sys.stderr.write(f"weft mcp: {error}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    return code


def _actions() -> dict[str, Callable[[argparse.Namespace], int]]:
    from weft.cli import mcp_entries, mcp_live

    return {
        "add": mcp_entries.add,
        "add-json": mcp_entries.add_json,
        "list": mcp_entries.list_all,
        "get": mcp_entries.get,
        "remove": mcp_entries.remove,
        "approve": mcp_live.approve,
        "deny": mcp_entries.deny,
        "test": mcp_live.test,
        "import": mcp_entries.take_over,
        "login": mcp_live.login,
        "logout": mcp_live.logout,
        "serve": mcp_live.serve,
    }


def say(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
