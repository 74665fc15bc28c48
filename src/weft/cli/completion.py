"""`weft completion bash|zsh|fish`: a script for the shell, made from the flags and subcommands themselves."""

import argparse
import sys
from collections.abc import Iterator

from weft.cli.arguments import FLAGS
from weft.cli.flags import Flag

EXAMPLES = """\
examples:
  eval "$(weft completion bash)"                                     in ~/.bashrc
  eval "$(weft completion zsh)"                                      in ~/.zshrc, after compinit
  weft completion fish > ~/.config/fish/completions/weft.fish
"""
MODES = ("default", "acceptEdits", "plan", "dontAsk", "smart", "bypassPermissions")
ACTIONS = {
    "completion": ("bash", "zsh", "fish"),
    "mcp": (
        "add", "add-json", "list", "get", "remove", "approve", "deny", "test", "import", "login", "logout", "serve",
    ),
    "model": ("list", "add", "use", "remove", "stop"),
    "permissions": ("check", "list", "lint"),
    "plugin": ("new", "list", "check", "forget"),
    "sessions": ("list", "show", "search", "export", "rename", "fork", "rewind", "delete"),
}  # fmt: skip
"""What follows a subcommand. A test holds it to what the subcommands say of themselves."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft completion",
        description="Prints what a shell needs to complete weft's commands and flags.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    shell = parser.parse_args(argv).shell
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell]())
    return 0


class Choice:
    """A flag that people may type: its spellings, what it is for, and what may follow it."""

    def __init__(self, flag: Flag) -> None:
        self.names = flag.names
        self.help = (flag.help or "").replace("'", "").replace(":", "").replace("[", "(").replace("]", ")")
        self.choices = MODES if "--permission-mode" in flag.names else flag.choices
        self.takes_value = flag.takes != "nothing"


def flags() -> Iterator[Choice]:
    return (Choice(flag) for flag in FLAGS if flag.help is not None)


def commands() -> dict[str, str]:
    from weft.cli.table import SUBCOMMANDS

    return {name: line.replace("'", "") for name, (_, line) in sorted(SUBCOMMANDS.items())}


def bash() -> str:
    words = " ".join(name for flag in flags() for name in flag.names)
    cases = "\n".join(
        f"        {'|'.join(flag.names)}) COMPREPLY=($(compgen -W '{' '.join(flag.choices)}' -- \"$word\")); return ;;"
        for flag in flags()
        if flag.choices
    )
    actions = "\n".join(
        f"            {name}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")); return ;;"
        for name, words in ACTIONS.items()
    )
    return f"""\
_weft() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "$before" in
{cases}
        --add-dir|--plugin-dir) COMPREPLY=($(compgen -d -- "$word")); return ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '{words}' -- "$word"))
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W '{" ".join(commands())}' -- "$word"))
    elif [[ $COMP_CWORD -eq 2 ]]; then
        case "$before" in
{actions}
        esac
        COMPREPLY=($(compgen -f -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -o bashdefault -F _weft weft
"""


def zsh() -> str:
    rows: list[str] = []
    for flag in flags():
        value = f":value:({' '.join(flag.choices)})" if flag.choices else ":value:_files" if flag.takes_value else ""
        rows += [f"        '{name}[{flag.help}]{value}'" for name in flag.names]
    named = "\n".join(f"        '{name}:{line}'" for name, line in commands().items())
    flag_rows = " \\\n".join(rows)
    actions = "\n".join(f"            {name}) compadd {' '.join(words)}; return ;;" for name, words in ACTIONS.items())
    return f"""\
#compdef weft
_weft() {{
    local -a subcommands
    subcommands=(
{named}
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe 'command' subcommands
        return
    fi
    if (( CURRENT == 3 )); then
        case $words[2] in
{actions}
        esac
    fi
    _arguments -s \\
{flag_rows} \\
        '*:file:_files'
}}
compdef _weft weft
"""


def fish() -> str:
    lines = ["complete -c weft -f"]
    lines += [f"complete -c weft -n __fish_use_subcommand -a {name} -d '{line}'" for name, line in commands().items()]
    for name, words in ACTIONS.items():
        first = f"__fish_seen_subcommand_from {name}; and test (count (commandline -opc)) -eq 2"
        lines.append(f"complete -c weft -n '{first}' -a '{' '.join(words)}'")
    for flag in flags():
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r -F" if flag.takes_value else ""
        lines.append(f"complete -c weft {names}{value} -d '{flag.help}'")
    return "\n".join(lines) + "\n"
