"""`weft context`: what the model is told in this folder, from where, and what each part costs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from weft.context.port import Piece
    from weft.schema.messages import Request
    from weft.schema.stream import StreamEvent

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
    parser.add_argument("--agent", default=None, metavar="NAME", help="with this one of your agents as the main one")
    parser.add_argument("--text", action="store_true", help="show the words")
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    parser.add_argument("--bare", action="store_true", help="without memory, git and files")
    parser.add_argument("--system-prompt", default=None, help="in the place of Weft's own")
    parser.add_argument("--append-system-prompt", default=None, help="after it")
    parser.add_argument("--setting-sources", default=None, metavar="LIST", help="of user,project,local")
    arguments = parser.parse_args(argv)
    try:
        import anyio

        pieces = anyio.run(_pieces, arguments)
    except WeftError as error:
        sys.stderr.write(f"weft context: {error}\n")
        return 1
    _print(pieces, as_json=arguments.json, with_text=arguments.text)
    return 0


async def _pieces(arguments: argparse.Namespace) -> "Sequence[Piece]":
    """From a session that is put together as any other and never begun, so that what is shown is what is sent."""
    from weft.agent.control import SessionControl
    from weft.agent.options import ALL_ASKS, SessionOptions
    from weft.errors import LocalProtocolError, ProviderError, UsageError
    from weft.sdk.compose import Overrides, build

    cwd = (arguments.cwd or Path.cwd()).absolute()
    if not cwd.is_dir():
        raise UsageError(f"{cwd} is not a folder.")
    given: str | None = arguments.setting_sources
    options = SessionOptions(
        cwd=cwd,
        model=arguments.model or None,
        agent=arguments.agent,
        system_prompt=arguments.system_prompt,
        append_system_prompt=arguments.append_system_prompt,
        bare=arguments.bare,
        setting_sources=None if given is None else tuple(name for name in given.split(",") if name),
        persist=False,
        asks=ALL_ASKS,
    )
    try:
        session = await build(options, Overrides())
    except ProviderError:
        # What is told hardly depends on who is asked; without a key it can be shown all the same.
        session = await build(options, Overrides(provider=_Nobody()))
    if not isinstance(session.control, SessionControl):
        raise LocalProtocolError("a session without its own control")
    return await session.control.pieces()


class _Nobody:
    """The provider of a session that asks no model."""

    name = ""

    async def stream(self, request: "Request") -> "AsyncIterator[StreamEvent]":
        from weft.schema.stream import StreamFailed

        yield StreamFailed("unknown", "Nobody is asked here.")

    async def count_tokens(self, request: "Request") -> int | None:
        return None

    async def aclose(self) -> None:
        return


def _print(pieces: "Sequence[Piece]", *, as_json: bool, with_text: bool) -> None:
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
            out(f"{piece.tokens:>8,}  {piece.name:<16}  {piece.where}\n")
    out(f"{sum(piece.tokens for piece in pieces):>8,}  in all (an estimate)\n")
