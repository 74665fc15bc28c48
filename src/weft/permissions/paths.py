"""Paths as the gate sees them: resolved before they are matched.

A path has several names: as it was written, after each symlink on the way, and in the end. A deny or ask rule that
matches any of them matches; an allow rule must match the last.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec

MAX_LINKS = 40
_PROCESS = re.compile(r"/proc/\d+(?:/task/\d+)?")


class Trail(msgspec.Struct, frozen=True):
    """`names` are all names met while resolving, the written one first; `real` is the last."""

    names: tuple[str, ...]
    real: str

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(fold(name) for name in self.names)


def fold(text: str) -> str:
    """A form in which spellings that some file systems take for the same name are equal."""
    if text.isascii():
        return text.lower()
    from unicodedata import category, normalize

    visible = "".join(character for character in text if category(character) != "Cf")
    return normalize("NFC", normalize("NFKC", visible).casefold())


def expand(path: str, cwd: str, home: str) -> str:
    """An absolute path, without resolving: `~` and relative forms are taken care of."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return path if path.startswith("/") else f"{cwd}/{path}"


def resolve(path: str, cwd: str = "/", home: str = "/") -> Trail:
    """Follows every symlink by hand, `..` after the links as the kernel does. What does not exist resolves to where
    it would be created. Too many links end where they are: such a path cannot be opened either."""
    absolute = expand(path, cwd, home)
    names = [os.path.normpath(absolute)]
    if names[0].startswith("//"):
        names[0] = names[0][1:]
    rest = [part for part in absolute.split("/") if part not in ("", ".")][::-1]
    current = ""
    links = 0
    while rest:
        part = rest.pop()
        if part == "..":
            current = current.rpartition("/")[0]
            continue
        step = f"{current}/{part}"
        target = _link(step) if links < MAX_LINKS else None
        if part == "cwd" and _PROCESS.fullmatch(current):
            # Whoever opens it has a working folder of its own: it may be this one or ours, and counts as neither.
            for folder in (cwd, target or cwd):
                names += resolve("/".join([folder, *reversed(rest)]), "/", home).names
            current = "/".join([step, *reversed(rest)])
            break
        if target is None:
            current = step
            continue
        links += 1
        names.append(os.path.normpath("/".join([step, *reversed(rest)])))
        rest += [piece for piece in target.split("/") if piece not in ("", ".")][::-1]
        if target.startswith("/"):
            current = ""
    real = current or "/"
    if real != names[-1]:
        names.append(real)
    return Trail(tuple(dict.fromkeys(names)), real)


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG):
            return None
        raise
    except ValueError:
        return None


def is_within(path: str, folder: str) -> bool:
    """By components: `/proj-evil` is not within `/proj`."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def within_any(path: str, folders: Iterable[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)


def special_file(path: str) -> str:
    """What an existing path is when it is neither a file nor a folder: reading or writing it has other effects."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "")


def link_count(path: str) -> int:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return 0
    return found.st_nlink if stat.S_ISREG(found.st_mode) else 1


def same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


_RESERVED = r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?"


def odd_spelling(path: str, *, windows: bool = os.name == "nt") -> str:
    """Why a path must not be judged by its text: spellings that name something else than they seem to."""
    if "\0" in path:
        return "it has a NUL character"
    from unicodedata import category

    if any(category(character) in ("Cc", "Cf") for character in path):
        return "it has control or invisible characters"
    if path.startswith(("\\\\", "\\??\\", "//?/", "//./")):
        return "it is a Windows network or device path"
    if not windows:
        return ""
    parts = re.split(r"[\\/]", re.sub(r"^[A-Za-z]:(?=[\\/]|$)", "", path))
    for part in parts:
        if ":" in part:
            return "it names an alternate data stream"
        if re.fullmatch(_RESERVED, part):
            return f"{part} is a reserved device name"
        if part not in ("", ".", "..") and part != part.rstrip(". "):
            return "a part of it ends in a dot or a blank"
        if re.search(r"~\d", part):
            return "it may be a short name of another file"
    return "it is a network path" if path.startswith("//") else ""


_PROTECTED_FOLDERS = {
    ".git": "git's own folder can run hooks and programs",
    ".claude": "it configures agents",
    ".weft": "it configures agents",
    ".iflow": "it configures agents",
    ".gemini": "it configures agents",
    ".codex": "it configures agents",
    ".cursor": "it configures agents",
    ".vscode": "it configures the editor, which can run tasks",
    ".idea": "it configures the editor, which can run tasks",
    ".devcontainer": "it configures the editor's container",
    ".husky": "it has git hooks",
    ".ssh": "it has keys and commands of ssh",
    ".gnupg": "it has keys",
}
_PROTECTED_FILES = {
    ".mcp.json": "it starts MCP servers",
    ".claude.json": "it configures agents",
    ".envrc": "direnv runs it",
    ".gitmodules": "it names repositories that git fetches",
    ".netrc": "it has passwords",
    ".pypirc": "it has passwords",
    ".npmrc": "it can redirect where packages come from",
    ".gitconfig": "it can make git run programs",
    ".ripgreprc": "it can make rg run programs",
}
_START_FILES = frozenset(
    {
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".cshrc",
        ".exrc",
        ".inputrc",
        ".kshrc",
        ".login",
        ".pam_environment",
        ".profile",
        ".tcshrc",
        ".vimrc",
        ".xinitrc",
        ".xprofile",
        ".xsession",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
    }
)
_PROTECTED_PAIRS = {
    (".config", "fish"),
    (".config", "git"),
    (".config", "systemd"),
    (".config", "autostart"),
    (".config", "environment.d"),
    (".config", "nvim"),
    (".local", "bin"),
}


def protected(trail: Trail, *, roots: Iterable[str] = (), own: Iterable[str] = ()) -> str:
    """Why writing here needs a person: the file steers agents, editors, shells or git. `own` are Weft's folders.

    Folders above a root of the workspace do not count: a worktree may lie inside of `.weft`.
    """
    bases = [fold(root) for root in roots]
    for name in trail.folded:
        base = next((base for base in bases if is_within(name, base)), "")
        reason = _steers(PurePosixPath(name[len(base) :]).parts)
        if reason:
            return reason
    if any(within_any(name, own) and not within_any(name, roots) for name in trail.names):
        return "it is Weft's own folder"
    return ""


def _steers(parts: tuple[str, ...]) -> str:
    for index, part in enumerate(parts):
        if part in _PROTECTED_FOLDERS:
            return _PROTECTED_FOLDERS[part]
        if index and (parts[index - 1], part) in _PROTECTED_PAIRS:
            return "programs are started from it"
    last = parts[-1] if parts else ""
    if last in _PROTECTED_FILES:
        return _PROTECTED_FILES[last]
    if last in _START_FILES:
        return "a shell or program runs it at its start"
    return "it configures the editor, which can run tasks" if last.endswith(".code-workspace") else ""
