"""`weft demo`: the whole loop on a small project with a bug, without a key and without a network.

Everything is real but the model: the loop, the tools, the permissions, the session log, the tests that are run.
With a key in the environment, or a local model server on this machine, that model does the work instead.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from weft.providers.port import Provider
from weft.schema.events import TurnEnded

PROMPT = "The tests of this project fail. Find out why, mend it, and show me that they pass."

EXAMPLES = """\
examples:
  weft demo              a real model when one is found, a scripted one otherwise
  weft demo --scripted   the scripted one in any case
  weft demo --keep       leave the project there afterwards
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft demo",
        description="See the agent find and mend a bug in a small bundled project.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scripted", action="store_true", help="use the scripted model even if a real one is found")
    parser.add_argument("--model", help="the model to use")
    parser.add_argument("--keep", action="store_true", help="do not remove the project at the end")
    arguments = parser.parse_args(argv)
    import anyio

    folder = Path(tempfile.mkdtemp(prefix="weft-demo-")) / "tally"
    shutil.copytree(Path(__file__).parent / "demo_project", folder, ignore=shutil.ignore_patterns("__pycache__"))
    try:
        return anyio.run(_run, folder, arguments.scripted, arguments.model)
    finally:
        if arguments.keep:
            sys.stdout.write(f"\nThe project is in {folder}\n")
        else:
            shutil.rmtree(folder.parent, ignore_errors=True)


async def _run(folder: Path, scripted: bool, model: str | None) -> int:
    from weft.agent.options import SessionOptions
    from weft.cli.signals import run_interruptible
    from weft.errors import WeftError
    from weft.schema.commands import Cancel, Prompt
    from weft.sdk.compose import Overrides, connect
    from weft.surfaces.lines import BOLD, DIM, Lines

    lines = Lines(colour=sys.stdout.isatty(), shorten=lambda text: text.replace(f"{folder}/", ""))
    options = SessionOptions(
        cwd=folder, model=model, mode="acceptEdits", allowed_tools=("Bash(python3 -m unittest *)",), max_turns=20
    )
    overrides = Overrides()
    if scripted or not (found := await _find_model(model)):
        overrides.provider = _script(folder)
        _say(lines.paint("No model was found, so a script plays the model's part.", BOLD))
        _say(lines.paint("Its lines are written beforehand; everything that they cause here is real.", DIM))
    else:
        _say(lines.paint(f"The model is {found}.", BOLD))
    _say(lines.paint(f"The project is a copy in {folder}", DIM) + "\n")
    connection = connect(options, overrides)

    async def play() -> int:
        await connection.send(Prompt(PROMPT))
        async for event in connection.events():
            for line in lines.feed(event):
                _say(line)
            if isinstance(event, TurnEnded):
                return await _verdict(folder, event)
        return 1

    try:
        async with connection:
            return await run_interruptible(play, lambda: connection.send(Cancel(drop_queue=True)))
    except WeftError as error:
        _say(str(error))
        return 1


async def _find_model(model: str | None) -> str | None:
    """The name of a model that would answer, or None."""
    import os

    from weft.errors import WeftError
    from weft.providers.resolve import resolve

    try:
        found = await resolve(model, settings={}, env=dict(os.environ))
    except WeftError:
        return None
    await found.provider.aclose()
    return found.model


async def _verdict(folder: Path, event: TurnEnded) -> int:
    """Our own look at the project, whatever the model said."""
    from weft.transports.capture import capture

    done = await capture((sys.executable, "-m", "unittest", "-q"), cwd=folder, limit=60)
    passed = done.code == 0
    _say("")
    _say("Checked from outside: the project's tests " + ("pass." if passed else "still fail."))
    _say(f"{event.steps} model requests, {event.duration:.1f} s. The session's log is kept: weft sessions list")
    return 0 if passed and event.reason == "completed" else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _script(folder: Path) -> Provider:
    from weft.cli.demo_script import script
    from weft.testing.scripted import ScriptedProvider

    return ScriptedProvider(script(folder), chunk=12)
