"""Searching without ripgrep: git's lists and its grep in a repository, Python elsewhere. Slower, same answers."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread

from weft.errors import ToolError
from weft.tools.globs import alternatives, compile_glob
from weft.tools.grep import GrepArgs, Hits
from weft.tools.port import ToolContext
from weft.tools.ripgrep import run_lines

MAX_FILE = 16 * 1024 * 1024
_SKIPPED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_TYPES = {
    "py": ("py", "pyi"),
    "js": ("js", "jsx", "mjs", "cjs"),
    "ts": ("ts", "tsx", "mts", "cts"),
    "rust": ("rs",),
    "go": ("go",),
    "java": ("java",),
    "c": ("c", "h"),
    "cpp": ("cpp", "cc", "cxx", "hpp", "hh", "h"),
    "md": ("md", "markdown"),
    "json": ("json",),
    "yaml": ("yaml", "yml"),
    "html": ("html", "htm"),
    "css": ("css", "scss"),
    "sh": ("sh", "bash"),
    "toml": ("toml",),
}


async def list_without_ripgrep(base: Path) -> list[str]:
    return await anyio.to_thread.run_sync(lambda: list(_walk(base)))


def _walk(base: Path) -> Iterator[str]:
    """Files below the folder. Without git there is no reader of ignore files: the usual folders are left out."""
    prefix = len(str(base).rstrip("/")) + 1
    for folder, inside, names in os.walk(base):
        inside[:] = sorted(name for name in inside if name not in _SKIPPED)
        for name in sorted(names):
            yield os.path.join(folder, name)[prefix:]


async def grep_without_ripgrep(args: GrepArgs, context: ToolContext, target: Path, hits: Hits) -> None:
    if args.type is not None and args.type not in _TYPES:
        raise ToolError(f"without ripgrep the known types are {', '.join(_TYPES)}; use `glob` for others")
    git = shutil.which("git")
    if git and not args.multiline and await _in_repository(context, git, target):
        return await _git_grep(git, args, context, target, hits)
    try:
        flags = re.MULTILINE | (re.IGNORECASE if args.ignore_case else 0) | (re.DOTALL if args.multiline else 0)
        wanted = re.compile(args.pattern, flags)
    except re.error as error:
        raise ToolError(f"the pattern is not a regular expression: {error}") from error
    return await anyio.to_thread.run_sync(_python_grep, args, context.session.cwd, target, wanted, hits)


async def _in_repository(context: ToolContext, git: str, target: Path) -> bool:
    found = await context.workspace.stat(target)
    folder = target if found and found.kind == "folder" else target.parent
    argv = (git, "-C", str(folder), "rev-parse", "--is-inside-work-tree")
    code, _ = await run_lines(context, argv, context.session.cwd, lambda _line: True)
    return code == 0


async def _git_grep(git: str, args: GrepArgs, context: ToolContext, target: Path, hits: Hits) -> None:
    argv = [git, "-c", "core.pager=cat", "grep", "--no-color", "-I", "-P", "-z", "--untracked"]
    argv += ["-i"] if args.ignore_case else []
    if args.output_mode == "content":
        argv += ["-n"] if args.numbers else []
        for flag, value in (("-A", args.after), ("-B", args.before), ("-C", args.around)):
            argv += [flag, str(value)] if value else []
    else:
        argv.append("-l" if args.output_mode == "files_with_matches" else "-c")
    argv += ["-e", args.pattern, "--", *_pathspecs(args, target, context.session.cwd)]
    listed = args.output_mode == "files_with_matches"

    def take(record: bytes) -> bool:
        if listed:
            return hits.take_name(record)
        if args.output_mode == "content" and args.numbers:
            # path NUL number NUL text; a line around a match has the same marks.
            path, _, rest = record.partition(b"\0")
            line, mark, text = rest.partition(b"\0")
            return hits.take(path + b"\0" + line + b":" + text if mark else record)
        return hits.take(record)

    code, first = await run_lines(context, tuple(argv), context.session.cwd, take, b"\0" if listed else b"\n")
    if code > 1 and (not hits.records or first.startswith((b"fatal:", b"error:"))):
        raise ToolError(f"the search failed: {first.decode('utf-8', 'replace').strip()}")


def _pathspecs(args: GrepArgs, path: Path, cwd: Path) -> list[str]:
    target = os.path.relpath(path, cwd)
    names = alternatives(args.glob) if args.glob else []
    names += [f"*.{ending}" for ending in _TYPES[args.type]] if args.type else []
    base = "" if target == "." else target.rstrip("/") + "/"
    return [f":(glob){base}{'' if '/' in name else '**/'}{name}" for name in names] or [target]


def _python_grep(args: GrepArgs, cwd: Path, target: Path, wanted: re.Pattern[str], hits: Hits) -> None:
    kinds = tuple("." + ending for ending in _TYPES[args.type]) if args.type else ()
    named = compile_glob(args.glob) if args.glob else None
    paths = [target] if target.is_file() else (target / name for name in _walk(target))
    for path in paths:
        if kinds and not path.name.endswith(kinds):
            continue
        name = os.path.relpath(path, cwd)
        if named and not named.fullmatch(os.path.relpath(path, target) if target.is_dir() else path.name):
            continue
        text = _text(path)
        if text is not None and not _search(args, name, text, wanted, hits):
            return


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


def _search(args: GrepArgs, name: str, text: str, wanted: re.Pattern[str], hits: Hits) -> bool:
    """False when enough was found."""
    found: set[int] = set()
    for match in wanted.finditer(text):
        first = text.count("\n", 0, match.start())
        found.update(range(first, first + match[0].rstrip("\n").count("\n") + 1))
        if args.output_mode == "files_with_matches":
            break
    if not found:
        return True
    path = os.fsencode(name) + b"\0"
    if args.output_mode != "content":
        return hits.take(path + (str(len(found)).encode() if args.output_mode == "count" else b""))
    lines = text.split("\n")
    before, after = args.before or args.around or 0, args.after or args.around or 0
    shown = sorted({n for hit in found for n in range(max(0, hit - before), min(len(lines), hit + after + 1))})
    last = None
    for index in shown:
        if (before or after) and last is not None and index > last + 1 and not hits.take(b"--"):
            return False
        last = index
        mark = f"{index + 1}{':' if index in found else '-'}" if args.numbers else ""
        if not hits.take(path + (mark + lines[index][:500]).encode()):
            return False
    return True
