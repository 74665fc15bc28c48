"""What `weft` without a subcommand does: prints an answer, serves a stream, or opens the terminal."""

import os
import sys
from importlib import import_module
from pathlib import Path

from weft.cli.arguments import Arguments, parse
from weft.cli.table import SUBCOMMANDS
from weft.errors import UsageError


def start(argv: list[str]) -> int:
    from weft.cli.main import __version__, collecting

    arguments = parse(argv)
    if arguments.help:
        from weft.cli.arguments import show_help

        sys.stdout.write(show_help())
        return 0
    if arguments.version:
        sys.stdout.write(f"{__version__} (Weft)\n")
        return 0
    set_up_logging(arguments)
    check(arguments)
    check_spelling(argv)
    if not arguments.print:
        collecting()
    if arguments.acp:
        port = [] if arguments.port is None else ["--port", str(arguments.port)]
        return import_module("weft.cli.acp").main(port)
    if arguments.input_format == "stream-json":
        return import_module("weft.cli.stream_json").main(arguments)
    if arguments.print or not sys.stdout.isatty():
        from weft.cli.print import main

        return main(arguments)
    return import_module("weft.cli.terminal").main(arguments)


def check(arguments: Arguments) -> None:
    """Flags that cannot go together.

    Raises:
        UsageError: one sentence.
    """
    if arguments.input_format == "stream-json" and arguments.output_format != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json.")
    streaming = arguments.output_format == "stream-json" and arguments.input_format == "text"
    if streaming and arguments.print and not arguments.verbose:
        raise UsageError("--output-format stream-json with -p needs --verbose.")
    if arguments.resume == "" and (arguments.print or not sys.stdout.isatty()):
        raise UsageError("--resume needs an id or a title here.", hint="weft sessions list shows them.")
    for folder in arguments.add_dir:
        if not Path(folder).expanduser().is_dir():
            raise UsageError(f"--add-dir: there is no folder {folder}.")
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UsageError("The current folder no longer exists.", hint="Change to one that does.") from None


def check_spelling(argv: list[str]) -> None:
    """A single word in front that is nearly a subcommand was probably meant as one.

    Raises:
        UsageError: it asks back; with -p the word is a prompt in any case.
    """
    word = argv[0] if argv else ""
    if not (word.isascii() and word.isalpha() and word.islower()) or "-p" in argv or "--print" in argv:
        return
    from difflib import get_close_matches

    near = get_close_matches(word, SUBCOMMANDS, n=1, cutoff=0.82)
    if near:
        raise UsageError(
            f"There is no command {word!r}. Did you mean weft {near[0]}?",
            hint=f'As a prompt: weft -p "{" ".join(argv)}"',
        )


def set_up_logging(arguments: Arguments) -> None:
    """Standard output belongs to the protocol: logs go to standard error, or to a folder that was asked for."""
    folder = os.environ.get("CLAUDE_CODE_DEBUG_LOGS_DIR") or os.environ.get("WEFT_LOG_DIR")
    if arguments.debug is None and not arguments.debug_to_stderr and not folder:
        return
    import logging

    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if folder and arguments.debug is None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(Path(folder) / f"weft-{os.getpid()}.log", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG, handlers=[handler])
