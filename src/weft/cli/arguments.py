"""The flags of `weft`: one table, with the meaning that they have for the programs that already pass them."""

import argparse
import contextlib
import functools
import os
import sys
from typing import Any, NoReturn

from weft.cli.table import SUBCOMMANDS
from weft.errors import UsageError

EXAMPLES = """\
examples:
  weft                                  open a conversation in the terminal
  weft -p "why does test_parse fail?"   ask once, print the answer
  git diff | weft -p "review this"      standard input is read as context
  weft -p --continue "now fix it"       go on with the last conversation here
  weft -p --permission-mode acceptEdits "add a --json flag to report.py"
  weft -p --output-format json "…"      one JSON object with the answer, cost and denials
  weft demo                             see it work, without a key

exit codes of -p:
  0  the turn ended well           3    it ended, but something was refused (not under stream-json)
  1  an error, or a wrong flag     130  interrupted          143  terminated
"""


class Parser(argparse.ArgumentParser):
    """One clear line on standard error, and exit code 1, as callers of such commands expect."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message[0].upper() + message[1:] + ".", hint="See weft --help.")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Knows its width without `shutil`: argparse makes a formatter for every flag that is added."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


@functools.cache
def _columns() -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) or 80
    return 80


def _several(value: str) -> list[str]:
    """`A,B C(x, y)` as a list: commas and spaces separate, but not inside parentheses."""
    found: list[str] = []
    depth, word = 0, ""
    for char in value:
        depth += (char == "(") - (char == ")")
        if char in ", \n" and depth <= 0:
            found.append(word)
            word = ""
        else:
            word += char
    found.append(word)
    return [item for item in found if item]


def _commas(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def make_parser() -> Parser:
    names = "\n".join(f"  {name:<14}{line}" for name, (_module, line) in sorted(SUBCOMMANDS.items()))
    parser = Parser(
        prog="weft",
        usage="weft [flags] [prompt]\n       weft COMMAND [--help]",
        description="An AI coding agent for your terminal, your editor and your programs.",
        epilog=f"commands:\n{names}\n\n{EXAMPLES}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="*", help="what to do")
    add("--version", "-v", action="store_true", help="print the version")
    add(
        "--debug",
        "-d",
        nargs="?",
        const="",
        default=None,
        metavar="FILTER",
        help="log to standard error, with tracebacks",
    )
    add("--verbose", action="store_true", default=None, help="all messages, not only the result")
    add("--screen-reader", action="store_true", help="plain lines that are never repainted (or WEFT_SCREEN_READER=1)")
    _add_output(parser)
    _add_conversation(parser)
    _add_model(parser)
    _add_permission(parser)
    _add_context(parser)
    _add_hidden(parser)
    return parser


def _add_output(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--print", "-p", action="store_true", dest="print", help="print the answer and leave")
    add("--output-format", choices=("text", "json", "stream-json"), default="text")
    add("--input-format", choices=("text", "stream-json"), default="text")
    add("--include-partial-messages", action="store_true", help="deltas as they come (stream-json)")
    add("--replay-user-messages", action="store_true", help="echo what was taken from standard input")
    add("--include-hook-events", action="store_true")
    add("--json-schema", metavar="SCHEMA", help="the answer must match this JSON schema (JSON or a file)")


def _add_conversation(parser: Parser) -> None:
    group = parser.add_argument_group("conversation")
    add = group.add_argument
    add("--continue", "-c", action="store_true", dest="continue_latest", help="the latest one of this folder")
    add("--resume", "-r", nargs="?", const="", metavar="ID|TITLE", help="go on with this one")
    add("--fork-session", action="store_true", help="with --resume: a copy under a new id")
    add("--session-id", metavar="UUID")
    add("--no-session-persistence", action="store_true", help="write nothing to disk")
    add("--name", "-n", metavar="TITLE", help="a title for this conversation")


def _add_model(parser: Parser) -> None:
    group = parser.add_argument_group("model")
    add = group.add_argument
    add("--model", metavar="NAME", help="an alias (opus, sonnet, haiku) or a full id")
    add("--fallback-model", metavar="NAME", help="used when the model is overloaded")
    add("--effort", choices=("low", "medium", "high", "xhigh", "max"))
    add("--thinking", choices=("adaptive", "enabled", "disabled"))
    add("--max-thinking-tokens", type=int, metavar="N")
    add("--betas", type=_commas, default=[], metavar="A,B")
    add("--max-turns", type=_positive, metavar="N", help="at most this many model requests")
    add("--max-budget-usd", type=float, metavar="X", help="stop when this much has been spent")


def _add_permission(parser: Parser) -> None:
    group = parser.add_argument_group("permission")
    add = group.add_argument
    add(
        "--permission-mode",
        metavar="MODE",
        help="default, acceptEdits, plan, dontAsk, smart, bypassPermissions (and auto, manual, autoEdit, yolo)",
    )
    add("--allowedTools", "--allowed-tools", nargs="+", default=[], metavar="RULE", help='like "Bash(git log:*)" Edit')
    add("--disallowedTools", "--disallowed-tools", nargs="+", default=[], metavar="RULE")
    add("--tools", nargs="+", metavar="NAME", help='the tools offered; "" for none, "default" for the usual')
    add("--add-dir", nargs="+", action="extend", default=[], metavar="DIR", help="more folders to work in")
    add("--trust", action="store_true", help="this folder's hooks, servers and allow rules take effect")
    add("--dangerously-skip-permissions", action="store_true", help="the mode bypassPermissions")
    add("--allow-dangerously-skip-permissions", action="store_true", help="that mode may be switched on later")
    add("--permission-prompt-tool", metavar="NAME", help="an MCP tool that is asked, or stdio")


def _add_context(parser: Parser) -> None:
    group = parser.add_argument_group("context")
    add = group.add_argument
    add("--system-prompt", metavar="TEXT")
    add("--system-prompt-file", metavar="FILE")
    add("--append-system-prompt", metavar="TEXT")
    add("--append-system-prompt-file", metavar="FILE")
    add("--agent", metavar="NAME", help="one of your agents as the main one, or another agent to drive")
    add("--agents", metavar="JSON", help="agents for this run (JSON or a file)")
    add("--settings", metavar="FILE|JSON")
    add("--setting-sources", type=_commas, metavar="user,project,local")
    add("--mcp-config", nargs="+", action="extend", default=[], metavar="FILE|JSON")
    add("--strict-mcp-config", action="store_true", help="only the servers of --mcp-config")
    add("--plugin-dir", action="append", default=[], metavar="DIR")
    add("--bare", action="store_true", help="no memory files, hooks, skills or servers")
    add("--init", dest="setup", action="store_const", const="init", default="", help="run the Setup hooks first")
    add("--maintenance", dest="setup", action="store_const", const="maintenance", help="the same, for upkeep")
    add("--ide", action="store_true", help="attach to the editor that has this folder open")


def _add_hidden(parser: Parser) -> None:
    """Flags that programs pass and people do not."""

    def add(*names: str, **options: Any) -> None:
        parser.add_argument(*names, help=argparse.SUPPRESS, **options)

    add("--print-sdk", action="store_true")
    add("--experimental-acp", "--acp", action="store_true", dest="acp")
    add("--port", type=int)
    add("--task-budget", type=_positive)
    add("--thinking-display")
    add("--resume-session-at")
    add("--resume-drops-turn")
    add("--session-mirror", action="store_true")
    add("--debug-to-stderr", action="store_true")
    add("--debug-file")
    add("--mcp-debug", action="store_true")


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


class Arguments(argparse.Namespace):
    """The parsed flags, typed."""

    prompt: list[str]
    version: bool
    debug: str | None
    verbose: bool | None
    screen_reader: bool
    print: bool
    output_format: str
    input_format: str
    include_partial_messages: bool
    replay_user_messages: bool
    include_hook_events: bool
    json_schema: str | None
    continue_latest: bool
    resume: str | None
    fork_session: bool
    session_id: str | None
    no_session_persistence: bool
    name: str | None
    model: str | None
    fallback_model: str | None
    effort: str | None
    thinking: str | None
    max_thinking_tokens: int | None
    betas: list[str]
    max_turns: int | None
    max_budget_usd: float | None
    task_budget: int | None
    permission_mode: str | None
    allowedTools: list[str]
    disallowedTools: list[str]
    tools: list[str] | None
    add_dir: list[str]
    trust: bool
    dangerously_skip_permissions: bool
    allow_dangerously_skip_permissions: bool
    permission_prompt_tool: str | None
    system_prompt: str | None
    system_prompt_file: str | None
    append_system_prompt: str | None
    append_system_prompt_file: str | None
    agent: str | None
    agents: str | None
    settings: str | None
    setting_sources: list[str] | None
    mcp_config: list[str]
    strict_mcp_config: bool
    plugin_dir: list[str]
    bare: bool
    setup: str
    ide: bool
    print_sdk: bool
    acp: bool
    port: int | None
    thinking_display: str | None
    resume_session_at: str | None
    resume_drops_turn: str | None
    session_mirror: bool
    debug_to_stderr: bool


def parse(argv: list[str]) -> Arguments:
    """
    Raises:
        UsageError: an unknown flag or a wrong value.
    """
    found = make_parser().parse_args(argv, Arguments())
    found.allowedTools = [rule for text in found.allowedTools for rule in _several(text)]
    found.disallowedTools = [rule for text in found.disallowedTools for rule in _several(text)]
    if found.tools is not None:
        found.tools = [name for text in found.tools for name in _several(text)]
    if found.print_sdk:
        found.input_format = found.output_format = "stream-json"
    return found


def stdout_is_terminal() -> bool:
    return sys.stdout.isatty()
