"""`weft`: the composition root. Nothing is imported here that the chosen command does not use."""

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

from weft import __version__


def entry() -> None:
    """The console script: runs, says what went wrong in one sentence, and leaves with a documented code."""
    # Importing makes many objects and no garbage; the collector would walk them again and again. `collecting` ends it.
    gc.disable()
    argv = sys.argv[1:]
    if argv and argv[0] in ("--version", "-v"):
        sys.stdout.write(f"{__version__} (Weft)\n")
        return
    try:
        code = run(argv)
        sys.stdout.flush()  # A full disk is told here, and not by the interpreter at its end.
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 0
    except Exception as error:
        import logging

        logging.getLogger(__name__).debug("weft failed", exc_info=True)
        code = failed(error, debug=wants_debug(argv))
    leave(code)


def leave(code: int) -> NoReturn:
    """Ends the process, without taking the interpreter apart where nothing else runs: that costs a fifth of a run.

    What was registered with `atexit` still runs, and what was written is flushed.
    """
    alone = "threading" not in sys.modules or sys.modules["threading"].active_count() == 1
    if alone:
        import atexit

        vars(atexit)["_run_exitfuncs"]()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # Nobody can read it. The interpreter would try again, and leave with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not alone:
        sys.exit(code)
    os._exit(code)


def run(argv: list[str]) -> int:
    from weft.cli.table import SUBCOMMANDS

    if argv and argv[0] in SUBCOMMANDS:
        if argv[0] != "acp":  # It begins to collect when its session is open.
            collecting()
        return import_module(SUBCOMMANDS[argv[0]][0]).main(argv[1:])
    from weft.cli.start import start

    return start(argv)


def collecting() -> None:
    """Turns the collector on, for what is made from now on."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


def wants_debug(argv: list[str]) -> bool:
    return any(flag in argv for flag in ("--debug", "-d", "--debug-to-stderr")) or bool(os.environ.get("WEFT_DEBUG"))


def _only(error: Exception) -> Exception:
    """The error inside of groups that hold nothing else."""
    inside: tuple[Exception, ...] = getattr(error, "exceptions", ())
    return _only(inside[0]) if len(inside) == 1 else error


def failed(error: Exception, *, debug: bool) -> int:
    """The outermost boundary: a traceback only for those who asked for one."""
    from weft.errors import WeftError

    if debug:
        import traceback

        traceback.print_exception(error)
    error = _only(error)
    if isinstance(error, OSError) and error.strerror:
        sys.stderr.write(f"weft: {error.strerror}{f': {error.filename}' if error.filename else ''}.\n")
    elif isinstance(error, WeftError):
        sys.stderr.write(f"weft: {error}\n")
        if error.hint:
            sys.stderr.write(f"      {error.hint}\n")
    else:
        sys.stderr.write(f"weft: something went wrong inside Weft: {type(error).__name__}: {error}\n")
        sys.stderr.write("      Run the same command with --debug to see where, and please report it.\n")
    return 1
