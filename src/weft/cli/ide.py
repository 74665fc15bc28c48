"""`weft ide`: an editor for agents to attach to, without a screen or in a running Neovim."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import UsageError
from weft.exits import ExitStack

if TYPE_CHECKING:
    import anyio

    from weft.ide.server import IdeServer

EPILOG = """\
examples:
  weft ide                          serve the current folder until Ctrl-C
  weft ide --run claude             start claude attached to it, and end when it ends
  weft ide --run weft -- --continue give the agent arguments of its own
  weft ide --nvim /tmp/nvim.sock    offer a running Neovim (start it with nvim --listen /tmp/nvim.sock)
  weft ide --diffs accept           take every proposed change at once
"""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="weft ide",
        description="Offers an editor's tools to agents over the Claude IDE protocol.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("folder", nargs="*", default=[], help="folders to offer (default: the current one)")
    found.add_argument("--run", metavar="COMMAND", help="start this command attached to the editor")
    found.add_argument("--nvim", metavar="SOCKET", help="offer the Neovim that listens on this socket")
    found.add_argument(
        "--diffs",
        choices=("ask", "hold", "accept", "reject"),
        help="who decides proposed changes: you here (ask), the agent's own prompt (hold), or nobody",
    )
    found.add_argument("--name", default="Weft", help="the editor's name, as agents show it")
    found.add_argument("--trust", action="store_true", help="also start language servers that run the project's code")
    return found


def main(argv: list[str]) -> int:
    argv, rest = _split(argv)
    options = parser().parse_args(argv)
    folders = [Path(folder).resolve() for folder in options.folder or ["."]]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.", hint="weft ide FOLDER")
    if rest and not options.run:
        raise UsageError("Arguments after -- need --run COMMAND.", hint="weft ide --run claude -- --continue")
    import anyio

    command = [options.run, *rest] if options.run else []
    return anyio.run(_serve, options, folders, command)


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """What follows `--` is the command's. So is everything after `--run COMMAND`, so that it reads as it is typed."""
    if "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1 :]
    if "--run" in argv and argv.index("--run") + 1 < len(argv):
        at = argv.index("--run") + 2
        return argv[:at], argv[at:]
    return argv, []


async def _serve(options: argparse.Namespace, folders: Sequence[Path], command: Sequence[str]) -> int:
    import anyio

    from weft.ide.port import Editor
    from weft.ide.server import IdeServer
    from weft.paths import claude_home, weft_home

    async with ExitStack() as stack:
        editor: Editor
        servers: Sequence[str] | None = None
        ended = anyio.Event()
        if options.nvim:
            from weft.ide.editors.neovim.editor import NeovimEditor

            neovim = NeovimEditor(options.nvim, folders if options.folder else ())
            editor, ended = await stack.enter_async_context(neovim), neovim.ended
        else:
            from weft.ide.editors.headless.decide import decider
            from weft.ide.editors.headless.editor import HeadlessEditor

            kind = options.diffs or ("hold" if command or not sys.stdin.isatty() else "ask")
            headless = HeadlessEditor(folders, name=options.name, decide=decider(kind), trusted=options.trust)
            editor = await stack.enter_async_context(headless)
            servers = headless.servers
        server = await stack.enter_async_context(IdeServer(editor, home=claude_home(), keep=weft_home()))
        if command:
            return await _run(command, {**os.environ, **server.environment}, editor.folders[0])
        _say(server, servers)
        return await _until(ended)


def _say(server: "IdeServer", servers: Sequence[str] | None) -> None:
    variables = " ".join(f"{name}={value}" for name, value in server.environment.items())
    lines = [
        f"{server.editor.name} listens on 127.0.0.1:{server.port} for {', '.join(map(str, server.editor.folders))}",
        "",
        "Attach an agent from another terminal:",
        f"  {variables} claude",
        f"  {variables} weft",
        "  claude --ide      (in one of these folders, when no other editor has it open)",
        "",
    ]
    if servers is not None:
        lines.append(f"Language servers: {', '.join(servers) or 'none found'}.")
    lines.append("Ctrl-C ends.")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


async def _until(ended: "anyio.Event") -> int:
    """Returns at a signal, or when the editor itself is gone."""
    import anyio

    async def wait() -> None:
        await ended.wait()
        group.cancel_scope.cancel()

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            async for _ in signals:
                break
            group.cancel_scope.cancel()
    return 0


async def _run(command: Sequence[str], env: dict[str, str], cwd: Path) -> int:
    """The child has our terminal; we end with it, and hand our end on to it."""
    from weft.transports.foreground import run_foreground

    return await run_foreground(command, env=env, cwd=cwd)
