"""`weft -p`: reads the prompt, opens a session, prints the answer."""

import os
import sys
from typing import TYPE_CHECKING, cast

from weft.cli.arguments import Arguments
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.serve.stream_json.translate import Translator

MAX_STDIN = 10_000_000


def main(arguments: Arguments) -> int:
    import anyio

    text = read_prompt(arguments)
    return anyio.run(_run, arguments, text)


def read_prompt(arguments: Arguments) -> str:
    """The argument, then what was piped in.

    Raises:
        UsageError: neither was given.
    """
    parts = [" ".join(arguments.prompt)]
    if not sys.stdin.isatty():
        piped = sys.stdin.buffer.read(MAX_STDIN + 1)
        if len(piped) > MAX_STDIN:
            raise UsageError(
                f"Standard input has more than {MAX_STDIN:,} bytes.", hint="Name a file in the prompt instead."
            )
        parts.append(piped.decode("utf-8", "replace"))
    text = "\n".join(part for part in parts if part.strip())
    if not text:
        raise UsageError("There is no prompt.", hint='Give one: weft -p "what does this project do?"')
    return text


async def _run(arguments: Arguments, text: str) -> int:
    from weft.cli.main import collecting
    from weft.cli.options import to_options
    from weft.cli.signals import run_interruptible
    from weft.schema.commands import Prompt
    from weft.sdk.compose import open_connection
    from weft.serve import print as printing

    form = cast(printing.Format, arguments.output_format)
    connection = await open_connection(to_options(arguments))
    printer = printing.Printer(
        form,
        translator=_translator(arguments) if form != "text" else None,
        verbose=arguments.verbose,
        write=printing.stdout_writer(),
        note=lambda line: print(line, file=sys.stderr),  # noqa: T201 - notes for people, beside the answer
    )
    async with connection:
        collecting()
        return await run_interruptible(
            lambda: printing.run(connection, Prompt(text), printer, patience=_patience()),
            lambda: printing.interrupt(connection),
        )


def _patience() -> float:
    """How long background work is waited for: `CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS`, where it is set."""
    from weft.serve.print import PATIENCE

    text = os.environ.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
    return int(text) / 1000 if text.isdecimal() else PATIENCE


def _translator(arguments: Arguments) -> "Translator":
    from weft.serve.stream_json.init import translator

    return translator(
        partial=arguments.include_partial_messages,
        replay=arguments.replay_user_messages,
        hook_events=arguments.include_hook_events,
    )
