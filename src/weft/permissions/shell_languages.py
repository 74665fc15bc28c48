"""Checks of programs whose arguments are a language: sed, awk, git, find, tar, interpreters."""

import re
from collections.abc import Sequence


def names(text: str) -> frozenset[str]:
    """A set written as words."""
    return frozenset(text.split())


_SED_SAFE = re.compile(r"(?:\d+|\$|/[^/;{}\n]*/)?(?:,(?:\+?\d+|\$|/[^/;{}\n]*/))?!?[pdq=]?")
_SED_SUBSTITUTE = re.compile(
    r"s(?P<d>[/|,#@!])(?:(?!(?P=d)|\n)(?:\\.|[^\\]))*(?P=d)(?:(?!(?P=d)|\n)(?:\\.|[^\\]))*(?P=d)[gIip0-9]*"
)
_SED_OPTION = re.compile(r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|posix|null-data|separate|unbuffered)")


def sed_script_is_plain(script: str) -> bool:
    """Whether a sed script only prints, deletes, quits and substitutes without running or writing anything."""
    pieces = [script] if _SED_SUBSTITUTE.fullmatch(script) else script.split(";")
    return all(_SED_SAFE.fullmatch(piece.strip()) or _SED_SUBSTITUTE.fullmatch(piece.strip()) for piece in pieces)


def sed(arguments: Sequence[str]) -> str:
    scripts: list[str] = []
    expected = False
    for word in arguments:
        if expected:
            scripts.append(word)
            expected = False
        elif word in ("-e", "--expression"):
            expected = True
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word.startswith("-") and len(word) > 1:
            if not _SED_OPTION.fullmatch(word):
                return f"sed {word} can write files or run a script from a file"
        elif not scripts:
            scripts.append(word)
    if not all(sed_script_is_plain(script) for script in scripts):
        return "the sed script may write a file or run a program"
    return ""


_AWK_PLAIN = re.compile(r"[A-Za-z0-9_\s$,.;:(){}\"'/\[\]+\-*%<=!&~^?\\]*")
_AWK_WORDS = re.compile(
    r"\b(?:system|getline|close|fflush|load|include|ENVIRON|PROCINFO|function|func|ARGV|ARGC)\b|@|\||>"
)


def awk(arguments: Sequence[str]) -> str:
    rest = iter(arguments)
    for word in rest:
        if word in ("-F", "-v"):
            next(rest, None)
        elif re.fullmatch(r"-F.+|-v\w+=.*", word):
            continue
        elif word.startswith("-") and len(word) > 1:
            return f"awk {word} can run a script from a file or write"
        elif _AWK_WORDS.search(word) or not _AWK_PLAIN.fullmatch(word):
            return "the awk program may run a command or write a file"
        else:
            assigned = [later for later in rest if re.match(r"[A-Za-z_]\w*=", later)]
            return "awk reads a word with = as an assignment" if assigned else ""
    return ""


GIT_RUNNERS = names(
    """bisect filter-branch submodule hook send-email difftool mergetool instaweb daemon shell credential
    credential-cache credential-store upload-pack receive-pack http-backend cvsserver gui citool gitk web--browse
    remote-ext remote-fd fast-import archimport quiltimport p4 svn maintenance help config upload-archive
    update-index interpret-trailers for-each-repo scalar fsmonitor--daemon"""
)
_GIT_LONG = names(
    """exec upload-pack receive-pack output ext-diff textconv open-files-in-pager config template extcmd tool
    separate-git-dir reference output-directory editor exec-path trailer difftool recurse-submodules remote
    export-marks build-fake-ancestor unsafe-paths prefix"""
)
_GIT_SHORT = {
    "grep": "O",
    "archive": "o",
    "format-patch": "o",
    "bugreport": "o",
    "diagnose": "o",
    "rebase": "xi",
    "clone": "uc",
    "fetch": "u",
    "ls-remote": "u",
}
_GIT_GPG = re.compile(r"--show-sig|--verif|.*%G|.*%\(signature", re.IGNORECASE)
_GIT_HARMLESS = names("--no-pager -P --version --no-optional-locks --literal-pathspecs")


def git(arguments: Sequence[str]) -> str:
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return _git_command(word, arguments[index + 1 :])
        if word not in _GIT_HARMLESS:
            return f"git {word} can change which repository or programs git uses"
    return ""


def _git_command(command: str, arguments: Sequence[str]) -> str:
    if command in GIT_RUNNERS:
        return f"git {command} can run other programs"
    for word in arguments:
        if re.match(r"[A-Za-z0-9+.-]+::", word):
            return f"{word.partition('::')[0]}:: runs a transport helper"
        if _GIT_GPG.match(word):
            return f"git {command} {word} runs gpg"
        if word.startswith("--") and len(word) > 2:
            written = word[2:].partition("=")[0]
            if any(name == written or name.startswith(written) for name in _GIT_LONG):
                return f"git {command} --{written} can run a program or write a file"
        elif command in _GIT_SHORT and re.match(rf"-[A-Za-z]*[{_GIT_SHORT[command]}]", word):
            return f"git {command} {word} can run a program or write a file"
    return ""


def find(arguments: Sequence[str]) -> str:
    for word in arguments:
        if re.match(r"-(exec|ok|delete|fprint|fls|files0)", word):
            return f"find {word} runs a program or changes files"
    return ""


_TAR = re.compile(r"-?[A-Za-z]*[xcruAFI][A-Za-z]*")


def tar(arguments: Sequence[str]) -> str:
    bundled = [arguments[0]] if arguments and not arguments[0].startswith("--") else []
    options = [word for word in arguments if re.match(r"-[^-]", word)]
    return "tar writes files or can run a program" if any(_TAR.fullmatch(word) for word in bundled + options) else ""


_INLINE = re.compile(
    r"-[A-Za-z]*[ceEprimM]\S*|--(?:eval|print|execute|require|import|loader|experimental-loader|command|run|test)(?:=.*)?"
)


def interpreter(arguments: Sequence[str]) -> str:
    for word in arguments:
        if _INLINE.fullmatch(word):
            return "the code is in the command itself, or is loaded by an option"
        if word == "-":
            return "the code comes from standard input"
        if not word.startswith("-"):
            return ""
    return "" if arguments else "the code comes from standard input"


_DOCKER_AWAY = re.compile(r"(?:-H|--host|--context|-c|--config|--tls|--url|--connection|--identity|--remote|-l)")
_DOCKER_RUNS = names(
    "run exec build cp create compose buildx load import save export plugin start commit container image"
)


def docker(arguments: Sequence[str]) -> str:
    for word in arguments:
        if _DOCKER_AWAY.match(word):
            return f"{word} can point it at another daemon"
        if word in _DOCKER_RUNS:
            return f"{word} runs programs or moves files"
    return ""
