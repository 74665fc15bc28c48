"""Programs that run other programs.

Some are looked through (`timeout 5 git log` is judged as `git log`); the others are asked about, and every word
that could begin the program they run is still held against the deny rules.
"""

import re
from collections.abc import Sequence

from weft.permissions.shell_languages import names
from weft.permissions.shell_words import Word

_SEE_THROUGH: dict[str, tuple[str, int]] = {
    # name: (the options that may stand before the program, how many words come before it)
    "timeout": (r"--foreground|--preserve-status|-v|--verbose|-[ks]\S+|--(signal|kill-after)=\S+", 1),
    "nice": (r"-n\d+|-\d+|--adjustment=-?\d+", 0),
    "nohup": (r"(?!)", 0),
    "time": (r"-p", 0),
    "stdbuf": (r"-[ioe](L|\d+[kKMG]?)|--(input|output|error)=(L|\d+)", 0),
    "command": (r"(?!)", 0),
    "builtin": (r"(?!)", 0),
}
_OPTION_WITH_VALUE = {"nice": ("-n",), "timeout": ("-k", "-s")}

OPAQUE = names(
    """env sudo doas su runuser pkexec xargs watch ionice chrt taskset setsid exec eval busybox toybox parallel
    strace ltrace gdb lldb valgrind perf script unshare nsenter chroot flock systemd-run at batch nc ncat socat
    ssh npx bunx pnpx uvx pipx bash sh dash zsh ksh fish csh tcsh rbash pwsh powershell cmd source . trap
    expect screen tmux dbus-run-session fakeroot proot firejail bwrap chpst setpriv capsh prlimit numactl entr
    inotifywait rlwrap unbuffer start-stop-daemon daemonize direnv poetry pipenv rye hatch tox nox mise asdf
    conda mamba nix nix-shell docker podman kubectl make find fd git rg tar awk gawk sed perl python python3 ruby
    node php lua deno bun npm pnpm yarn cargo go dotnet java coproc ld.so ld-linux-x86-64.so.2 enable hash alias
    mapfile readarray complete compgen bind let printf test timeout nice nohup time stdbuf command builtin"""
)
"""Programs in whose words a deny rule's program is looked for, beside the first word."""

ASKED = OPAQUE - names(
    """docker podman kubectl make find fd git rg tar awk gawk sed perl python python3 ruby node php lua deno bun npm
    pnpm yarn cargo go dotnet java printf test poetry pipenv rye hatch tox nox conda mamba
    timeout nice nohup time stdbuf command builtin"""
)
"""Wrappers that a rule for their name alone does not cover."""


def program(word: str) -> str:
    """The program's name without its folder."""
    return word.rpartition("/")[2]


def look_through(words: Sequence[Word]) -> tuple[Word, ...]:
    """The command that really runs, when only harmless wrappers stand before it; else the words as they are."""
    current = tuple(words)
    for _ in range(8):
        inner = _peel(current)
        if inner is None:
            break
        current = inner
    return current


def _peel(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    entry = _SEE_THROUGH.get(words[0].text) if words else None
    if entry is None or not words[0].fixed:
        return None
    options, operands = entry
    index = 1
    while index < len(words) and words[index].text.startswith("-"):
        word = words[index]
        if not word.fixed:
            return None
        if word.text in _OPTION_WITH_VALUE.get(words[0].text, ()):
            if not (index + 1 < len(words) and re.fullmatch(r"-?[A-Za-z0-9.]+", words[index + 1].text)):
                return None
            index += 2
        elif re.fullmatch(options, word.text):
            index += 1
        else:
            return None
    if operands and not (index < len(words) and re.fullmatch(r"\d+(\.\d+)?[smhd]?", words[index].text)):
        return None
    inner = words[index + operands :]
    return inner or None


def inner_candidates(words: Sequence[str]) -> list[Sequence[str]]:
    """Every tail of the words that a wrapper might run."""
    if program(words[0]) not in OPAQUE:
        return []
    return [words[index:] for index in range(1, len(words)) if not words[index].startswith("-")]


def inner_scripts(words: Sequence[str]) -> list[str]:
    """Words of a wrapper that may be shell text of their own: `bash -c '…'`, `eval …`, `xargs sh -c '…'`."""
    if program(words[0]) not in OPAQUE:
        return []
    scripts = [word for word in words[1:] if re.search(r"[\s;&|<>()$`]", word)]
    if program(words[0]) in ("eval", "watch", "ssh", "parallel"):
        scripts.append(" ".join(word for word in words[1:] if not word.startswith("-")))
    return scripts
