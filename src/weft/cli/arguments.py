"""The flags of `weft`: one table, with the meaning that they have for the programs that already pass them."""

from typing import Final

from weft.cli.flags import Flag, read_flags, show_flags
from weft.cli.table import SUBCOMMANDS

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


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(value)
    return number


_COUNT: Final = "a whole number of at least 1"
GROUPS: Final[dict[str, tuple[Flag, ...]]] = {
    "flags": (
        Flag("--help", "-h", help="show this"),
        Flag("--version", "-v", help="print the version"),
        Flag("--debug", "-d", takes="maybe", metavar="FILTER", help="log to standard error, with tracebacks"),
        Flag("--verbose", help="all messages, not only the result"),
        Flag("--screen-reader", help="plain lines that are never repainted (or WEFT_SCREEN_READER=1)"),
    ),
    "output": (
        Flag("--print", "-p", help="print the answer and leave"),
        Flag("--output-format", choices=("text", "json", "stream-json"), default="text"),
        Flag("--input-format", choices=("text", "stream-json"), default="text"),
        Flag("--include-partial-messages", help="deltas as they come (stream-json)"),
        Flag("--replay-user-messages", help="echo what was taken from standard input"),
        Flag("--include-hook-events"),
        Flag("--json-schema", metavar="SCHEMA", help="the answer must match this JSON schema (JSON or a file)"),
    ),
    "conversation": (
        Flag("--continue", "-c", dest="continue_latest", help="the latest one of this folder"),
        Flag("--resume", "-r", takes="maybe", metavar="ID|TITLE", help="go on with this one"),
        Flag("--fork-session", help="with --resume: a copy under a new id"),
        Flag("--session-id", metavar="UUID"),
        Flag("--no-session-persistence", help="write nothing to disk"),
        Flag("--name", "-n", metavar="TITLE", help="a title for this conversation"),
    ),
    "model": (
        Flag("--model", metavar="NAME", help="an alias (opus, sonnet, haiku) or a full id"),
        Flag("--fallback-model", metavar="NAME", help="used when the model is overloaded"),
        Flag("--effort", choices=("low", "medium", "high", "xhigh", "max")),
        Flag("--thinking", choices=("adaptive", "enabled", "disabled")),
        Flag("--max-thinking-tokens", metavar="N", to=int, wants="a whole number"),
        Flag("--betas", metavar="A,B", to=_commas, default=[]),
        Flag("--max-turns", metavar="N", to=_positive, wants=_COUNT, help="at most this many model requests"),
        Flag("--max-budget-usd", metavar="X", to=float, wants="a number", help="stop when this much has been spent"),
    ),
    "permission": (
        Flag(
            "--permission-mode",
            metavar="MODE",
            help="default, acceptEdits, plan, dontAsk, smart, bypassPermissions (and auto, manual, autoEdit, yolo)",
        ),
        Flag(
            "--allowedTools",
            "--allowed-tools",
            takes="several",
            default=[],
            metavar="RULE",
            help='like "Bash(git log:*)" Edit',
        ),
        Flag("--disallowedTools", "--disallowed-tools", takes="several", default=[], metavar="RULE"),
        Flag(
            "--tools", takes="several", metavar="NAME", help='the tools offered; "" for none, "default" for the usual'
        ),
        Flag("--add-dir", takes="several", adds=True, default=[], metavar="DIR", help="more folders to work in"),
        Flag("--trust", help="this folder's hooks, servers and allow rules take effect"),
        Flag("--dangerously-skip-permissions", help="the mode bypassPermissions"),
        Flag("--allow-dangerously-skip-permissions", help="that mode may be switched on later"),
        Flag("--permission-prompt-tool", metavar="NAME", help="an MCP tool that is asked, or stdio"),
    ),
    "context": (
        Flag("--system-prompt", metavar="TEXT"),
        Flag("--system-prompt-file", metavar="FILE"),
        Flag("--append-system-prompt", metavar="TEXT"),
        Flag("--append-system-prompt-file", metavar="FILE"),
        Flag("--agent", metavar="NAME", help="one of your agents as the main one, or another agent to drive"),
        Flag("--agents", metavar="JSON", help="agents for this run (JSON or a file)"),
        Flag("--settings", metavar="FILE|JSON"),
        Flag("--setting-sources", metavar="user,project,local", to=_commas),
        Flag("--mcp-config", takes="several", adds=True, default=[], metavar="FILE|JSON"),
        Flag("--strict-mcp-config", help="only the servers of --mcp-config"),
        Flag("--plugin-dir", takes="one", adds=True, default=[], metavar="DIR"),
        Flag("--init", dest="setup", sets="init", default="", help="run the Setup hooks first"),
        Flag("--maintenance", dest="setup", sets="maintenance", default="", help="the same, for upkeep"),
        Flag("--bare", help="no memory files, hooks, skills or servers"),
        Flag("--ide", help="attach to the editor that has this folder open"),
    ),
    "for programs": (
        Flag("--print-sdk", help=None),
        Flag("--experimental-acp", "--acp", dest="acp", help=None),
        Flag("--port", metavar="N", to=int, wants="a whole number", help=None),
        Flag("--task-budget", metavar="N", to=_positive, wants=_COUNT, help=None),
        Flag("--thinking-display", takes="one", help=None),
        Flag("--resume-session-at", takes="one", help=None),
        Flag("--resume-drops-turn", takes="one", help=None),
        Flag("--session-mirror", help=None),
        Flag("--debug-to-stderr", help=None),
        Flag("--debug-file", takes="one", help=None),
        Flag("--mcp-debug", help=None),
    ),
}
FLAGS: Final = tuple(flag for group in GROUPS.values() for flag in group)


class Arguments:
    """What the flags say, typed."""

    help: bool

    prompt: list[str]
    version: bool
    debug: str | None
    verbose: bool
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
    values, words = read_flags(argv, FLAGS)
    found = Arguments()
    vars(found).update(values, prompt=words)
    found.allowedTools = [rule for text in found.allowedTools for rule in _several(text)]
    found.disallowedTools = [rule for text in found.disallowedTools for rule in _several(text)]
    if found.tools is not None:
        found.tools = [name for text in found.tools for name in _several(text)]
    if found.print_sdk:
        found.input_format = found.output_format = "stream-json"
    return found


def show_help() -> str:
    """Everything that can be typed, as wide as the terminal."""
    import shutil

    width = shutil.get_terminal_size().columns - 2
    parts = [
        "usage: weft [flags] [prompt]\n       weft COMMAND [--help]",
        "An AI coding agent for your terminal, your editor and your programs.",
    ]
    for title, group in GROUPS.items():
        if shown := show_flags(group, width):
            parts.append(f"{title}:\n{shown}")
    names = "\n".join(f"  {name:<14}{line}" for name, (_module, line) in sorted(SUBCOMMANDS.items()))
    return "\n\n".join([*parts, f"commands:\n{names}", EXAMPLES])
