"""Glob: files by the pattern of their paths, newest first."""

import os
import re
import time
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.schema.display import LinksView
from weft.tools.files import locate
from weft.tools.globs import compile_glob, last_names
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.ripgrep import BASE, Shown, find_ripgrep, newest_first, run_lines

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
        names = [name for name in await list_files(context, base, pattern) if wanted.fullmatch(name)]
        shown = Shown(context, base)
        kept: list[str] = []
        ordered = newest_first(names, base)
        for name in ordered:
            if len(kept) > MAX_FILES:
                break
            if shown(name):
                kept.append(name)
        cut = len(kept) > MAX_FILES
        kept = [_relative(base / name, context.session.cwd) for name in kept[:MAX_FILES]]
        text = "\n".join(kept) or "No files found"
        if cut:
            text += f"\n(These are {MAX_FILES} of {len(names)} files. Narrow the pattern to see the others.)"
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


def _relative(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


async def list_files(context: ToolContext, base: Path, pattern: str) -> list[str]:
    """Paths below `base`, without what the project ignores; at least all that match the pattern."""
    rg = find_ripgrep()
    if rg is None:
        from weft.tools.search_fallback import list_without_ripgrep

        return await list_without_ripgrep(base)
    names = last_names(pattern)
    kinds: tuple[str, ...] = ()
    if names and "\n" not in pattern:
        # A type is looked at after the ignore files, where --glob would override them.
        kinds = (*(f"--type-add=wanted:{name}" for name in names), "--type=wanted")
    files: list[bytes] = []
    argv = (rg, *BASE, "--files", "--null", *kinds, "--", "./")
    code, first = await run_lines(context, argv, base, lambda name: files.append(name) is None, b"\0")
    if code > 1:
        raise ToolError(f"the files could not be listed: {first.decode('utf-8', 'replace').strip()}")
    return [os.fsdecode(name[2:]) for name in files]
