"""Grep: what files contain, by regular expression."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.schema.display import LinksView, TableView, TextView
from weft.tools.files import locate
from weft.tools.port import Result, Tool, ToolContext
from weft.tools.ripgrep import BASE, Shown, find_ripgrep, newest_first, run_lines

DEFAULT_LIMIT = 250
MAX_CHARS = 60_000
MAX_COLUMNS = 500
GAP = "--"


class GrepArgs(msgspec.Struct, frozen=True):
    pattern: Annotated[str, Meta(description="A regular expression (Rust's dialect).")]
    path: Annotated[str | None, Meta(description="A file or folder; the working directory if not given.")] = None
    glob: Annotated[str | None, Meta(description='Only these files, such as "*.ts" or "src/**".')] = None
    type: Annotated[str | None, Meta(description="Only files of this kind: py, js, rust, go, java, ...")] = None
    output_mode: Annotated[
        Literal["content", "files_with_matches", "count"],
        Meta(description="Matching lines, the files that have some, or how many each has."),
    ] = "files_with_matches"
    ignore_case: Annotated[bool, Meta(description="Capitals and small letters are the same.")] = msgspec.field(
        default=False, name="-i"
    )
    numbers: Annotated[bool, Meta(description="Line numbers before the lines.")] = msgspec.field(
        default=True, name="-n"
    )
    after: Annotated[int, Meta(description="Lines to show after each match.", ge=0)] = msgspec.field(
        default=0, name="-A"
    )
    before: Annotated[int, Meta(description="Lines to show before each match.", ge=0)] = msgspec.field(
        default=0, name="-B"
    )
    around: Annotated[int, Meta(description="Lines to show before and after.", ge=0)] = msgspec.field(
        default=0, name="-C"
    )
    multiline: Annotated[bool, Meta(description="A match may span lines, and `.` matches a newline.")] = False
    head_limit: Annotated[int, Meta(description="At most this many lines or files; 0 for all.", ge=0)] = DEFAULT_LIMIT
    offset: Annotated[int, Meta(description="Leave out this many lines or files first.", ge=0)] = 0


class Grep(Tool[GrepArgs]):
    name = "Grep"
    args = GrepArgs
    aliases = ("SearchText",)
    arg_aliases = (("context", "-C"), ("case_insensitive", "-i"))
    kind = "search"
    group = "readonly"
    read_only = True

    def title(self, args: GrepArgs) -> str:
        return f"Search for {args.pattern}" + (f" in {args.path}" if args.path else "")

    def paths(self, args: GrepArgs) -> tuple[str, ...]:
        return (args.path or ".",)

    async def run(self, args: GrepArgs, context: ToolContext) -> Result:
        cwd = context.session.cwd
        target = locate(context, args.path) if args.path else cwd
        if await context.workspace.stat(target) is None:
            raise ToolError(f"{target} does not exist. The working directory is {cwd}.")
        rg = find_ripgrep()
        if rg is None:
            from weft.tools.search_fallback import grep_without_ripgrep

            hits = Hits(args, Shown(context, cwd))
            await grep_without_ripgrep(args, context, target, hits)
        else:
            hits = await _ripgrep(rg, args, context, target)
        return to_result(args, hits, cwd)


class Hits:
    """Records `path NUL rest` as they come, as far as they are wanted and may be shown."""

    def __init__(self, args: GrepArgs, shown: Shown) -> None:
        self.records: list[tuple[str, str]] = []
        self.more = False
        self._shown = shown
        # Files are put in order before they are cut, so all of them are needed.
        whole = args.output_mode == "files_with_matches" or not args.head_limit
        self._most = None if whole else args.offset + args.head_limit

    def take(self, record: bytes) -> bool:
        path, mark, rest = record.partition(b"\0")
        if not mark:  # "--" between groups of lines.
            if self.records and self.records[-1][1] != GAP:
                self.records.append((self.records[-1][0], GAP))
            return True
        name = os.fsdecode(path.removeprefix(b"./"))
        if not self._shown(name):
            return True
        if self._most is not None and len(self.records) >= self._most:
            self.more = True
            return False
        self.records.append((name, rest.decode("utf-8", "replace").rstrip("\r")))
        return True

    def take_name(self, name: bytes) -> bool:
        return not name or self.take(name + b"\0")


def _options(args: GrepArgs) -> list[str]:
    options = [*BASE, "--null", "--no-heading", "--with-filename", f"--max-columns={MAX_COLUMNS}"]
    options.append("--max-columns-preview")
    if args.output_mode == "files_with_matches":
        options.append("--files-with-matches")
    elif args.output_mode == "count":
        options.append("--count")
    else:
        options.append("--line-number" if args.numbers else "--no-line-number")
        for flag, value in (("-A", args.after), ("-B", args.before), ("-C", args.around)):
            options += [flag, str(value)] if value else []
    options += ["--ignore-case"] if args.ignore_case else []
    options += ["--multiline", "--multiline-dotall"] if args.multiline else []
    options += [f"--glob={each}" for each in _globs(args.glob)]
    options += [f"--type={args.type}"] if args.type else []
    return options


def _globs(glob: str | None) -> list[str]:
    """Several may be given, apart by white space, or by commas outside of braces."""
    return re.split(r"\s+|,(?![^{]*\})", glob.strip()) if glob and glob.strip() else []


async def _ripgrep(rg: str, args: GrepArgs, context: ToolContext, target: Path) -> Hits:
    cwd = context.session.cwd
    found = await context.workspace.stat(cwd)
    base = cwd if found else Path("/")
    inside = target.is_relative_to(base) and ".." not in target.parts
    where = "./" if target == base else f"./{target.relative_to(base)}" if inside else str(target)
    hits = Hits(args, Shown(context, base))
    argv = (rg, *_options(args), "-e", args.pattern, "--", where)
    if args.output_mode == "files_with_matches":
        code, first = await run_lines(context, argv, base, hits.take_name, b"\0")
    else:
        code, first = await run_lines(context, argv, base, hits.take)
    if code > 1 and (not hits.records or first.startswith(b"rg:")):
        raise ToolError(_refusal(first.decode("utf-8", "replace")))
    return hits


def _refusal(text: str) -> str:
    text = text.strip() or "ripgrep gave no reason"
    if "regex parse error" in text:
        return f"the pattern is not a regular expression:\n{text}\nEscape marks that are meant as they are."
    return f"the search failed: {text.removeprefix('rg: ')}"


def to_result(args: GrepArgs, hits: Hits, cwd: Path) -> Result:
    if args.output_mode == "files_with_matches":
        return _files(args, hits, cwd)
    if args.output_mode == "count":
        return _counts(args, hits)
    # Ripgrep's own sorting would keep it to one core.
    records = sorted(hits.records, key=lambda record: record[0])[args.offset :]
    while records and records[-1][1] == GAP:
        records.pop()
    lines: list[str] = []
    room = MAX_CHARS
    for path, rest in records:
        line = _line(path, rest, numbered=args.numbers)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    cut = hits.more or len(lines) < len(records)
    text = "\n".join(lines) or "No matches found"
    if cut:
        text += f"\n(There is more. Go on with offset={args.offset + len(lines)}, or narrow the search.)"
    files = list(dict.fromkeys(path for path, _ in records))
    data = {"mode": "content", "numFiles": len(files), "filenames": files, "content": "\n".join(lines)}
    return Result(content=text, display=(TextView(text),), data={**data, "numLines": len(lines), **_applied(args, cut)})


def _line(path: str, rest: str, *, numbered: bool) -> str:
    if rest == GAP:
        return rest
    mark = re.match(r"\d+([:-])", rest) if numbered else None
    return f"{path}{mark[1] if mark else ':'}{rest}"


def _applied(args: GrepArgs, cut: bool) -> dict[str, object]:
    found: dict[str, object] = {"appliedLimit": args.head_limit} if cut else {}
    return {**found, "appliedOffset": args.offset} if args.offset else found


def _files(args: GrepArgs, hits: Hits, cwd: Path) -> Result:
    every = newest_first([path for path, _ in hits.records], cwd)
    end = args.offset + args.head_limit if args.head_limit else None
    files = every[args.offset : end]
    cut = len(files) + args.offset < len(every)
    head = f"Found {len(every)} {'file' if len(every) == 1 else 'files'}"
    text = "\n".join([head, *files]) if files else "No files found"
    if cut:
        text += f"\n(These are {len(files)} of them. Go on with offset={args.offset + len(files)}.)"
    return Result(
        content=text,
        display=(LinksView(tuple((name, name) for name in files)),),
        data={"mode": "files_with_matches", "filenames": files, "numFiles": len(files), **_applied(args, cut)},
    )


def _counts(args: GrepArgs, hits: Hits) -> Result:
    rows = sorted(hits.records)[args.offset :]
    total = sum(int(count) for _, count in rows)
    lines = [f"{path}:{count}" for path, count in rows]
    text = "\n".join(lines) or "No matches found"
    if rows:
        text += f"\n\n{total} matching {'line' if total == 1 else 'lines'} in {len(rows)} files"
    if hits.more:
        text += f"\n(There is more. Go on with offset={args.offset + len(rows)}.)"
    return Result(
        content=text,
        display=(TableView(("file", "lines"), tuple(rows)),),
        data={
            "mode": "count",
            "numFiles": len(rows),
            "filenames": [],
            "content": "\n".join(lines),
            "numMatches": total,
            **_applied(args, hits.more),
        },
    )
