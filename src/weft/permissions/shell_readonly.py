"""Commands that pass without a rule because they only read, and the options with which they still do.

Options are listed as what is allowed, wherever a program has any that write or run something. A file that a command
reads is held against the same rules and roots as the Read tool.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from weft.permissions import shell_languages as languages
from weft.permissions.shell_languages import names
from weft.permissions.shell_options import danger

Files = Literal["all", "none", "pattern"]


class Reader(msgspec.Struct, frozen=True):
    """`options` are those allowed (empty: all that `danger` does not know); `values` take the next word. Of the other
    words, `files` says which are read: all, none, or all but the first, which is a pattern."""

    files: Files = "all"
    options: str = ""
    values: str = ""
    positional: str = ""
    most: int = 1000
    recursive: str = ""
    """Options with which it reads whole folders; `*` means always."""


class Reading(msgspec.Struct, frozen=True):
    """`refusal` says why the command is not known to be read-only."""

    refusal: str = ""
    files: tuple[str, ...] = ()
    recursive: bool = False
    doubtful: tuple[str, ...] = ()
    """Words that are no files as far as we can tell. Where one is there all the same, it counts as read."""


_ANY = Reader()
_SILENT = Reader("none")
_SUM = Reader(options=r"-[btwzs]+|--(tag|text|binary|zero)")

READERS: dict[str, Reader] = {
    **dict.fromkeys(
        names("cat tac nl rev head tail wc cut paste join comm fold fmt expand unexpand od cmp base64"), _ANY
    ),
    **dict.fromkeys(names("stat df strings hexdump"), _ANY),
    # Not with options that follow links to wherever they lead.
    "ls": Reader(options=r"(?!-[A-Za-z]*[LH])(?!--deref)-.*"),
    "du": Reader(options=r"(?!-[A-Za-z]*[LHDX])(?!--(deref|files|exclude-))-.*"),
    **dict.fromkeys(names("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum"), _SUM),
    **dict.fromkeys(
        names("echo true false : pwd whoami id uname arch nproc uptime tty groups logname seq sleep"), _SILENT
    ),
    **dict.fromkeys(names("expr basename dirname realpath readlink tr factor printf test ["), _SILENT),
    "which": Reader("none", r"-a"),
    "type": Reader("none", r"-[aptP]+"),
    "diff": Reader(values=r"-[UCWFIxL]|--(exclude|label)", recursive=r"-[A-Za-z]*r[A-Za-z]*|--recursive"),
    "file": Reader(options=r"-[biLhk]+|--(mime|mime-type|mime-encoding|brief|dereference|no-dereference|keep-going)"),
    "sort": Reader(
        options=r"-[bdfghiMnRrVucCmsz]+|-[bdfghiMnRrVucCmsz]*k[0-9.,bdfghiMnRrV]*|-[bdfghiMnRrVucCmsz]*t[^o]?"
        r"|--(reverse|numeric-sort|unique|human-numeric-sort|version-sort|ignore-case|stable|check"
        r"|zero-terminated|general-numeric-sort|month-sort|dictionary-order)|--(key|field-separator)=.*",
        values=r"-[bdfghiMnRrVucCmsz]*[kt]",
    ),
    "uniq": Reader(
        options=r"-[cdDuiz]+|-[fsw]\d*|--(count|repeated|unique|ignore-case|zero-terminated)", values="-[fsw]", most=1
    ),
    "column": Reader(options=r"-[tnex]+|-[sco]\S*|--table", values="-[sco]"),
    "grep": Reader(
        "pattern",
        options=r"(?!-[A-Za-z]*R)(?!--deref)-.*",
        values=r"-[A-Za-z]*[mABCDd]|--(include|exclude|color)",
        recursive=r"-[A-Za-z]*r[A-Za-z]*|--rec.*|-[A-Za-z]*d.*|--dir.*",
    ),
    "rg": Reader(
        "pattern",
        options=r"(?!-[A-Za-z]*L)(?!--follow)-.*",
        values=r"-[A-Za-z]*[gtTmABCMjdE]|--(glob|type|max-count|max-depth|sort|iglob|replace)|-r",
        recursive="*",
    ),
    "tree": Reader(
        options=r"-[adfhsDFpugtrnCiNqxJ]+|-[LPI]\d*|--(dirsfirst|noreport|gitignore|prune|du)", values=r"-[LPI]"
    ),
    "xxd": Reader(options=r"-[bipuE]+|-[lcgs]\d*", values="-[lcgs]", most=1),
    "date": Reader(
        "none",
        r"-[uR]+|-I\w*|--(utc|universal|rfc-email|iso-8601(=\w+)?|rfc-3339=\w+|date=.*)|-d.*",
        values="-d|--date",
        positional=r"\+.*",
    ),
    "hostname": Reader("none", r"-[fsiIdA]+", most=0),
    "ps": Reader(
        "none", r"-[efAalFHj]+|-[pouC]|--(forest|no-headers|sort=[\w,+-]+)", values=r"-[pouC]", positional="aux|ax|au"
    ),
    "jq": Reader(
        "pattern",
        r"-[rcseMnSajCe]+|--(raw-output|compact-output|slurp|null-input|tab|sort-keys|exit-status|arg|argjson|indent)",
        values=r"--(indent)",
    ),
    "sed": Reader("pattern", r"-[nErsuz]+|--(quiet|silent|regexp-extended|posix|null-data)"),
    "awk": Reader("pattern", r"-F.+|-F", values="-F"),
}

_FIND_TESTS = names(
    """-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -mtime -mmin -ctime -cmin -atime
    -amin -newer -newermt -size -empty -not ! ( ) -o -a -and -or -print -print0 -prune -perm -user -group -xdev -mount
    -P -printf -ls -links -inum -executable -readable -writable -daystart -depth -quit -true -false
    -regextype -lname -samefile -nouser -nogroup"""
)
_VERSIONS = names("python python3 node git gcc g++ clang make cmake java perl ruby bash rg jq")

_GIT_ANY = names(
    """status log diff show blame shortlog rev-parse rev-list ls-files ls-tree describe merge-base name-rev grep
    diff-tree diff-index diff-files whatchanged check-ignore check-attr cherry range-diff show-ref for-each-ref
    count-objects version"""
)
_NO_OPTION = r"(?!)"
_GIT_LISTS: dict[str, tuple[str, str]] = {
    # subcommand: (all words that may follow, with their order open)
    "branch": (r"-[arvi]+|--(all|remotes|verbose|show-current|list|sort=\S+|column|no-column|color|no-color)", ""),
    "tag": (r"-[il]+|-n\d*|--(list|sort=\S+|column)", ""),
    "remote": (r"-v|--verbose", r"get-url [\w./-]+"),
    "stash": (_NO_OPTION, r"list|show( -p| --stat)?( stash@\{\d+\})?"),
    "worktree": (_NO_OPTION, r"list( --porcelain)?"),
    "reflog": (r"-\d+|-n\d+|--oneline", r"show( \S+)?"),
    "symbolic-ref": (r"--short|-q|HEAD", ""),
    "cat-file": (r"-[tspe]|(?!-)\S+", ""),
    "config": (_NO_OPTION, r"--get (user\.(name|email)|init\.defaultBranch|remote\.[\w-]+\.url|branch\.\S+)"),
}


def judge(words: Sequence[str]) -> Reading:
    """Whether a command with these fixed words only reads, and what."""
    return _judge(tuple(words))


@lru_cache(maxsize=256)
def _judge(words: tuple[str, ...]) -> Reading:
    """Each command of a line is looked at several times, by rules that deny, that ask and that allow."""
    name = words[0]
    if name == "git":
        return _git(words)
    if name == "find":
        return _find(words)
    if name == "command" and len(words) == 3 and words[1] in ("-v", "-V"):
        return Reading()
    if name in _VERSIONS and list(words[1:]) in (["--version"], ["-V"]):
        return Reading()
    reader = READERS.get(name)
    if reader is None:
        return Reading(f"{name} is not known to be read-only")
    reason = danger(words)
    return Reading(reason) if reason else _read(name, reader, words[1:])


def _read(name: str, reader: Reader, arguments: Sequence[str]) -> Reading:
    plain_words: list[str] = []
    attached: list[str] = []
    values: list[str] = []
    recursive = reader.recursive == "*"
    pattern_given = reader.files != "pattern"
    plain = False
    rest = iter(arguments)
    for word in rest:
        if plain or not word.startswith("-") or word == "-":
            if reader.positional and not re.fullmatch(reader.positional, word):
                return Reading(f"{name} {word} is not known to be read-only")
            plain_words.append(word)
        elif word == "--":
            plain = True
        elif reader.options and not re.fullmatch(reader.options, word):
            return Reading(f"{name} {word} is not known to be read-only")
        else:
            recursive = recursive or bool(reader.recursive and re.fullmatch(reader.recursive, word))
            attached += _attached(word)
            if name in ("grep", "rg") and _PATTERN_OPTION.match(word):
                pattern_given = True
                values += [next(rest, "")] if _PATTERN_ALONE.fullmatch(word) else []
            elif reader.values and re.fullmatch(reader.values, word):
                values.append(next(rest, ""))
    if len(plain_words) > reader.most:
        return Reading(f"{name} writes its second file")
    if reader.files == "none":
        return Reading()
    files = plain_words if pattern_given else plain_words[1:]
    doubtful = [*values, *([] if pattern_given else plain_words[:1])]
    return Reading("", (*attached, *files), recursive, tuple(word for word in doubtful if word))


_PATTERN_OPTION = re.compile(r"-(?!-)[^-]*[ef]|--(?:r|re|reg|rege|regex|regexp|f|fi|fil|file|files|type-list)(?:=|$)")
"""With these of grep and rg no other word is the pattern. Short options may stand together, long ones be cut short."""
_PATTERN_ALONE = re.compile(r"-(?!-)[^-]*[ef]|--(?:r|re|reg|rege|regex|regexp|f|fi|fil|file)")


def _attached(option: str) -> list[str]:
    """A path that is glued to an option: `--file=/x`, `-f/x`, also after other short ones."""
    if option.startswith("--"):
        found = [option.partition("=")[2]]
    else:
        found = [option[index:] for index in range(2, len(option))]
    return [value for value in found[:20] if "/" in value or value.startswith(("~", ".."))]


def _find(words: Sequence[str]) -> Reading:
    folders: list[str] = []
    doubtful: list[str] = []
    tests = False
    for word in words[1:]:
        if word.startswith("-") or word in ("(", ")", "!"):
            tests = True
            if word not in _FIND_TESTS and not re.fullmatch(r"-\d+", word):
                return Reading(f"find {word} is not known to be read-only")
        elif tests and "/" not in word and not word.startswith((".", "~")):
            doubtful.append(word)
        else:
            folders.append(word)
    return Reading("", tuple(folders), doubtful=tuple(doubtful))


def _git(words: Sequence[str]) -> Reading:
    arguments = list(words[1:])
    while arguments and arguments[0] in ("--no-pager", "-P", "--no-optional-locks"):
        arguments.pop(0)
    if not arguments:
        return Reading()
    command, rest = arguments[0], arguments[1:]
    if command in _GIT_LISTS:
        options, phrase = _GIT_LISTS[command]
        # A bare `git stash` changes the files: where no option is known to read, the phrase has to be there.
        listed = all(re.fullmatch(options, word) for word in rest) and options != _NO_OPTION
        if listed or (phrase and re.fullmatch(phrase, " ".join(rest))):
            return Reading()
        return Reading(f"git {command} with these words is not known to be read-only")
    if command not in _GIT_ANY:
        return Reading(f"git {command} is not known to be read-only")
    reason = languages.git([command, *rest])
    if reason:
        return Reading(reason)
    files = [part for word in rest if not word.startswith("-") for part in (word, *word.split(":")[1:])]
    files += [value for word in rest if word.startswith("-") for value in _attached(word)]
    return Reading("", tuple(files), command == "grep")
