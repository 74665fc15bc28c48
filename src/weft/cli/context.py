"""`weft context`: what the model is told in this folder, from where, and what each part costs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.context.port import Piece

_EXAMPLES = """\
examples:
  weft context                     every part with its source and its tokens (an estimate)
  weft context --text              the words themselves
  weft context --model qwen3       as that model would be told
  weft context --json
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft context",
        description="What the model is told before the conversation begins.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cwd", type=Path, default=None, help="another folder than this one")
    parser.add_argument("--model", default="", help="as this model would be told")
    parser.add_argument("--text", action="store_true", help="show the words")
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    parser.add_argument("--bare", action="store_true", help="without memory, git and files")
    parser.add_argument("--system-prompt", default=None, help="in the place of Weft's own")
    parser.add_argument("--append-system-prompt", default=None, help="after it")
    parser.add_argument("--setting-sources", default=None, metavar="LIST", help="of user,project,local")
    arguments = parser.parse_args(argv)
    try:
        pieces = _pieces(arguments)
    except WeftError as error:
        sys.stderr.write(f"weft context: {error}\n")
        return 1
    _print(pieces, as_json=arguments.json, with_text=arguments.text)
    return 0


def _pieces(arguments: argparse.Namespace) -> "list[Piece]":
    import anyio

    from weft.agent import definitions, skills
    from weft.agent.folders import Where
    from weft.context.assemble import Assembler, PromptOptions
    from weft.context.port import ALL_SOURCES, Listing, SettingSource, View
    from weft.errors import UsageError

    cwd = (arguments.cwd or Path.cwd()).absolute()
    if not cwd.is_dir():
        raise UsageError(f"{cwd} is not a folder.")
    given: str | None = arguments.setting_sources
    sources: tuple[SettingSource, ...] = ALL_SOURCES
    if given is not None:
        sources = tuple(source for source in ALL_SOURCES if _has(given, source))
    where = Where.of_this_machine(cwd, sources)
    agents = tuple((a.name, a.description) for a in definitions.find(where).values() if a.for_model)
    known = tuple((s.name, s.description) for s in skills.find(where).values() if s.for_model)
    view = View(
        cwd=cwd,
        roots=(cwd,),
        model=arguments.model,
        sources=sources,
        listings=(Listing("Agents", agents), Listing("Skills", known)),
    )
    options = PromptOptions(replace=arguments.system_prompt, append=arguments.append_system_prompt, bare=arguments.bare)
    assembler = Assembler(options)
    return [*assembler.system_pieces(view), *anyio.run(assembler.reminder_pieces, view)]


def _has(listed: str, name: str) -> bool:
    return name in listed.split(",")


def _print(pieces: "list[Piece]", *, as_json: bool, with_text: bool) -> None:
    out = sys.stdout.write
    if as_json:
        import msgspec

        rows = [{"name": p.name, "where": p.where, "tokens": p.tokens, "text": p.text} for p in pieces]
        out(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n")
        return
    for piece in pieces:
        if with_text:
            out(f"=== {piece.name}, from {piece.where}, about {piece.tokens:,} tokens\n{piece.text}\n\n")
        else:
            out(f"{piece.tokens:>8,}  {piece.name:<14}  {piece.where}\n")
    out(f"{sum(piece.tokens for piece in pieces):>8,}  in all (an estimate; tool manuals come on top)\n")
