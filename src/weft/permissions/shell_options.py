"""Options that make a program run another program, or write a file: no allow rule for the program covers them.

`danger` answers for one simple command. Long options are recognised by any prefix, as GNU programs do; short ones
anywhere in a cluster. When in doubt the answer is that it is dangerous: it is asked, not refused.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from weft.permissions import shell_languages as languages

Check = Callable[[Sequence[str]], str]


class Options(msgspec.Struct, frozen=True):
    """Letters and names of options that run programs or write files; `check` sees all arguments."""

    short: str = ""
    long: tuple[str, ...] = ()
    check: Check | None = None


def danger(words: Sequence[str]) -> str:
    """Why this command is more than its program's name says, or an empty string."""
    name = words[0].rpartition("/")[2]
    options = TABLE.get(name) or TABLE.get(re.sub(r"[\d.]+$", "", name))
    if options is None:
        return ""
    arguments = words[1:]
    for word in arguments:
        if word.startswith("--") and len(word) > 2:
            written = word[2:].partition("=")[0]
            if any(known.startswith(written) for known in options.long):
                return f"{name} --{written} can run a program or write a file"
        elif word.startswith("-") and len(word) > 1:
            letter = next((letter for letter in re.split(r"[=/]", word[1:])[0] if letter in options.short), "")
            if letter:
                return f"{name} -{letter} can run a program or write a file"
    return options.check(arguments) if options.check else ""


def _any(pattern: str, reason: str) -> Check:
    expression = re.compile(pattern)

    def check(arguments: Sequence[str]) -> str:
        found = next((word for word in arguments if expression.match(word)), None)
        return "" if found is None else f"{found}: {reason}"

    return check


def _first_or_any(subcommands: str, options: str) -> Check:
    """Dangerous by its subcommand, which is the first word that is no option, or by an option anywhere."""
    by_option = _any(options, "it can change what is run")

    def check(arguments: Sequence[str]) -> str:
        first = next((word for word in arguments if not word.startswith("-")), "")
        return f"{first} runs other programs" if first in subcommands.split() else by_option(arguments)

    return check


def _always(reason: str) -> Check:
    return lambda arguments: reason


def _second_file(arguments: Sequence[str]) -> str:
    return "its second file is written" if sum(not word.startswith("-") for word in arguments) > 1 else ""


_EDITOR = Options(check=_always("an editor can run programs and write files"))
_INTERPRETER = Options(check=languages.interpreter)
_AWK = Options(check=languages.awk)
_SED = Options(check=languages.sed)
_FD = Options("xX", ("exec", "exec-batch"))
_TEST = Options(check=_any(r"-[vR]$|.*(\$\(|`)", "test evaluates it"))
_PACKAGES = Options(
    check=_first_or_any(
        "exec x dlx explore create init config set edit",
        r"-C$|-c$|--(script-shell|prefix|node-options|userconfig|globalconfig|shell|call|registry|cwd|dir)\b",
    )
)
_MAKE = Options(
    check=_any(r"-f|--(file|makefile|directory|eval|include)|-C|-E|-I|[A-Za-z_]+[+:?!]*=", "it can change what is run")
)

TABLE: dict[str, Options] = {
    "find": Options(check=languages.find),
    "fd": _FD,
    "fdfind": _FD,
    "sort": Options("oT", ("compress-program", "output", "temporary-directory")),
    "rg": Options("z", ("pre", "hostname-bin", "search-zip")),
    "ag": Options("", ("pager",)),
    "sed": _SED,
    "gsed": _SED,
    "awk": _AWK,
    "gawk": _AWK,
    "mawk": _AWK,
    "nawk": _AWK,
    "git": Options(check=languages.git),
    "tar": Options(
        "",
        (
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "rmt-command",
            "rsh-command",
            "info-script",
            "new-volume-script",
            "extract",
            "get",
            "create",
            "append",
            "update",
            "index-file",
            "delete",
            "concatenate",
        ),
        languages.tar,
    ),
    "man": Options("PHBE", ("pager", "html", "preprocessor"), _always("it runs a pager")),
    "less": Options("oOkKt", ("log-file", "LOG-FILE", "lesskey"), _any(r"\+", "a pager can run programs")),
    "more": Options(check=_any(r"\+", "a pager can run programs")),
    "tree": Options("o", ("output",)),
    "uniq": Options(check=_second_file),
    "xxd": Options("r", ("revert",), _second_file),
    "date": Options("s", ("set",)),
    "hostname": Options("F", ("file",), _any(r"[^-]", "it sets the name")),
    "diff": Options("l", ("paginate",)),
    "file": Options("Cz", ("compile", "uncompress")),
    "iconv": Options("o", ("output",)),
    "split": Options("", ("filter",)),
    "curl": Options(
        "oOTKcDEJx",
        (
            "output",
            "remote-name",
            "upload-file",
            "config",
            "dump-header",
            "cookie-jar",
            "trace",
            "stderr",
            "netrc-file",
            "etag-save",
            "hsts",
            "libcurl",
            "engine",
            "proxy",
            "unix-socket",
            "abstract-unix-socket",
        ),
    ),
    "wget": Options(
        "OoaPie",
        (
            "output-document",
            "output-file",
            "append-output",
            "directory-prefix",
            "input-file",
            "save-cookies",
            "warc-file",
            "use-askpass",
            "execute",
            "config",
        ),
    ),
    "rsync": Options("e", ("rsh", "rsync-path", "log-file", "write-batch", "backup-dir", "temp-dir")),
    "scp": Options("SoF"),
    "zip": Options("T", ("unzip-command", "test")),
    "unzip": Options(check=_any(r"(?!-[lvtqZ]+$)-|[^-]", "it writes files unless it only lists")),
    "make": _MAKE,
    "gmake": _MAKE,
    "ninja": Options("fC"),
    "cmake": Options(check=_any(r"-[PEC]$", "it runs a script")),
    "docker": Options(check=languages.docker),
    "podman": Options(check=languages.docker),
    "kubectl": Options(
        check=_any(
            r"(exec|cp|attach|port-forward|proxy|plugin)$|--(kubeconfig|server|context|token)|-s$",
            "it runs programs or points elsewhere",
        )
    ),
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "yarn": _PACKAGES,
    "bun": _PACKAGES,
    "cargo": Options("Z", ("config", "manifest-path"), _any(r"-C$|\+", "it can change what is run")),
    "go": Options(
        check=_any(r"-?-(exec|toolexec|overlay|modfile|vettool|C)\b|(run|generate|tool|env)$", "it can run programs")
    ),
    "pytest": Options(
        "pcW",
        (
            "rootdir",
            "confcutdir",
            "pdbcls",
            "override-ini",
            "basetemp",
            "log-file",
            "junit-xml",
            "junitxml",
            "pastebin",
        ),
    ),
    "pip": Options(
        "iefrtc",
        (
            "index-url",
            "extra-index-url",
            "find-links",
            "editable",
            "target",
            "prefix",
            "root",
            "global-option",
            "config-settings",
            "python",
            "log",
            "requirement",
            "constraint",
        ),
        _any(r"git\+|https?:|file:|\.?/", "it builds and runs a package from elsewhere"),
    ),
    "uv": Options(check=_any(r"(run|tool|x)$", "it runs other programs")),
    "jq": Options(
        "fL", ("from-file", "library-path"), _any(r".*(\benv\b|\$ENV|import|include)", "it can show secrets")
    ),
    "dd": Options(check=_any(r"of=", "it writes a file")),
    "tee": Options(check=_any(r"[^-]", "it writes a file")),
    "install": Options("", ("strip-program",)),
    "openssl": Options(check=_any(r"-(out|engine|provider|config|writerand|keyout)", "it writes files or loads code")),
    "printf": Options(check=_any(r"-v", "it sets a variable")),
    "test": _TEST,
    "[": _TEST,
    "vi": _EDITOR,
    "vim": _EDITOR,
    "nvim": _EDITOR,
    "emacs": _EDITOR,
    "nano": _EDITOR,
    "ed": _EDITOR,
    "ex": _EDITOR,
    "python": _INTERPRETER,
    "pypy": _INTERPRETER,
    "node": _INTERPRETER,
    "nodejs": _INTERPRETER,
    "deno": _INTERPRETER,
    "ruby": _INTERPRETER,
    "perl": _INTERPRETER,
    "php": _INTERPRETER,
    "lua": _INTERPRETER,
    "tclsh": _INTERPRETER,
    "Rscript": _INTERPRETER,
    "osascript": _INTERPRETER,
}
