"""Glob: files by the pattern of their paths, newest first."""

import heapq
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.schema.display import LinksView
from weft.tools.files import locate
from weft.tools.globs import compile_glob, last_names
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.ripgrep import BASE, MANY, Shown, find_ripgrep, newest_first, run_whole

MAX_FILES = 100


class GlobArgs(msgspec.Struct, frozen=True):
    pattern: Annotated[str, Meta(description='For example "**/*.py" or "src/*.{ts,tsx}".')]
    path: Annotated[str | None, Meta(description="The folder to look in; the working directory if not given.")] = None


class Glob(Tool[GlobArgs]):
    name = "Glob"
    args = GlobArgs
    aliases = ("FindFiles",)
    kind = "search"
    group = "readonly"
    read_only = True

    def title(self, args: GlobArgs) -> str:
        return f"Find {args.pattern}" + (f" in {args.path}" if args.path else "")

    def paths(self, args: GlobArgs) -> tuple[str, ...]:
        return (args.path or ".", *_absolute(args.pattern))

    async def run(self, args: GlobArgs, context: ToolContext) -> Result:
        started = time.perf_counter()
        base, pattern = _split(context, args)
        try:
            wanted = compile_glob(pattern)
        except re.error as error:
            raise ToolError(f"the pattern {args.pattern!r} is not usable: {error}") from error
        found = await context.workspace.stat(base)
        if found is None or found.kind != "folder":
            raise ToolError(f"{base} is not a folder")
        names = await list_files(context, base, pattern, wanted)
        total = len(names)
        shown = Shown(context, base)
        kept: list[str] = []
        for name in _in_order(names, base):
            if len(kept) > MAX_FILES:
                break
            if shown(name):
                kept.append(name)
        cut = len(kept) > MAX_FILES
        inside = _relative(base, context.session.cwd)
        kept = [inside + name for name in kept[:MAX_FILES]]
        text = "\n".join(kept) or "No files found"
        if cut:
            text += f"\n(These are {MAX_FILES} of {total} files. Narrow the pattern to see the others.)"
        spent = round((time.perf_counter() - started) * 1000)
        return Result(
            content=text,
            display=(LinksView(tuple((name, name) for name in kept)),),
            data={"filenames": kept, "durationMs": spent, "numFiles": len(kept), "truncated": cut},
        )


def _absolute(pattern: str) -> tuple[str, ...]:
    """The fixed folder at the front of an absolute pattern: the gate must see it."""
    if not pattern.startswith(("/", "~")):
        return ()
    return (re.split(r"[*?\[{]", pattern)[0].rpartition("/")[0] or "/",)


def _split(context: ToolContext, args: GlobArgs) -> tuple[Path, str]:
    """The folder to walk and the pattern below it. An absolute pattern names its own folder."""
    base = locate(context, args.path or ".") if args.path else context.session.cwd
    if args.pattern.startswith(("/", "~")):
        folder = _absolute(args.pattern)[0]
        return Path(os.path.expanduser(folder)), args.pattern[len(folder) :].lstrip("/")
    if ".." in args.pattern.split("/"):
        raise ToolError("'..' is not possible in a pattern: name the folder with `path`")
    return base, args.pattern


def _relative(base: Path, cwd: Path) -> str:
    """What stands before the names of files below `base`."""
    if base == cwd:
        return ""
    return f"{base.relative_to(cwd) if base.is_relative_to(cwd) else base}/".replace("//", "/")


def _in_order(names: list[str], base: Path) -> Iterator[str]:
    """Newest first; very many by name, of which only the first few are ever taken."""
    if len(names) <= MANY:
        yield from newest_first(names, base)
        return
    heapq.heapify(names)
    while names:
        yield heapq.heappop(names)


async def list_files(context: ToolContext, base: Path, pattern: str, wanted: re.Pattern[str]) -> list[str]:
    """Paths below `base` that match, without what the project ignores."""
    rg = find_ripgrep()
    if rg is None:
        from weft.tools.search_fallback import list_without_ripgrep

        return [name for name in await list_without_ripgrep(base) if wanted.fullmatch(name)]
    names = last_names(pattern)
    kinds: tuple[str, ...] = ()
    if names and "\n" not in pattern:
        # A type is looked at after the ignore files, where --glob would override them.
        kinds = (*(f"--type-add=wanted:{name}" for name in names), "--type=wanted")
    argv = (rg, *BASE, "--files", "--null", *kinds, "--", "./")
    code, output = await run_whole(context, argv, base)
    if code > 1:
        raise ToolError(f"the files could not be listed: {output[:2000].decode('utf-8', 'replace').strip()}")
    found = os.fsdecode(output).split("\0./")
    found[0] = found[0].removeprefix("./")
    found[-1] = found[-1].removesuffix("\0")
    if not found[-1]:
        return []
    # Where the pattern speaks of the name alone, ripgrep has looked at all of it.
    if kinds and "/" not in pattern.removeprefix("**/"):
        return found
    return list(filter(wanted.fullmatch, found))
