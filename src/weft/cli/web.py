"""`weft web`: the chat page, on 127.0.0.1."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.connect.port import Connection
    from weft.protocols.ide.values import Selection
    from weft.settings import Settings
    from weft.surfaces.web.app import WebHost
    from weft.surfaces.web.ports import EditorSight, Opening

EPILOG = """examples:
  weft web                              work on this folder; opens a browser when there is one
  weft web ../api ../site               work on several folders
  weft web --agent gemini               talk to another agent (weft agents lists them)
  weft web --port 8123 --no-open        a port of your own; only print the link
  weft web --no-open --embed vscode     an extension of VS Code may show the page in a webview

The link works once and only on this machine: it gives the browser a cookie that ends with this command. For a machine
that you reach over SSH, forward the port: ssh -L 8123:127.0.0.1:8123 host, then weft web --port 8123 there."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft web",
        description="Opens a page in the browser to work with an agent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="the folders to work on; this one unless given")
    parser.add_argument("--port", type=int, default=0, help="the port; a free one unless given")
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument("--agent", default="weft", metavar="NAME", help="the agent of new conversations")
    parser.add_argument("--model", default=None, help="the model of new conversations")
    parser.add_argument(
        "--embed",
        action="append",
        default=[],
        metavar="WHO",
        help="may show the page in a frame: vscode, a scheme (vscode-webview:) or an origin (http://localhost:3000)",
    )
    parser.add_argument(
        "--trust", action="store_true", help="these folders' hooks, servers and allow rules take effect"
    )
    arguments = parser.parse_args(argv)

    import anyio

    return anyio.run(_run, arguments)


async def _run(arguments: argparse.Namespace) -> int:
    import anyio

    from weft.cli.signals import run_interruptible

    host = make_host(arguments)
    scope = anyio.CancelScope()

    async def serve() -> int:
        link = host.link()
        sys.stdout.write(f"Weft is at {link}\nThe link works once, on this machine. Ctrl+C ends it.\n")
        sys.stdout.flush()
        if not arguments.no_open:
            open_browser(link)
        with scope:
            await host.serve()
        return 0

    async def stop() -> None:
        scope.cancel()

    return await run_interruptible(serve, stop)


def make_host(arguments: argparse.Namespace) -> "WebHost":
    """
    Raises:
        UsageError: a folder is not there, or somebody cannot be allowed to show the page.
        TransportError: the port is taken.
    """
    from weft.errors import UsageError
    from weft.paths import claude_home, weft_home
    from weft.sessions.store import FileStore
    from weft.surfaces.files import Folders
    from weft.surfaces.web.agents import KnownAgents
    from weft.surfaces.web.app import WebHost
    from weft.surfaces.web.hub import Hub
    from weft.surfaces.web.panels import HostPanels
    from weft.surfaces.web.shelf import SessionShelf
    from weft.surfaces.web.talks import TalkFiles

    folders = [Path(folder).expanduser() for folder in arguments.folders or ["."]]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.")
    store = FileStore(weft_home(), foreign=claude_home())
    hub = Hub(
        Folders(
            folders,
            shows_ignored=lambda folder: (
                settings_of(folder, trust=arguments.trust).values.get("respectGitignore") is False
            ),
        ),
        lambda opening: open_connection(opening, model=arguments.model, trust=arguments.trust),
        shelf=SessionShelf(store),
        keeper=TalkFiles(weft_home()),
        agents=KnownAgents((arguments.agent,), cwd=folders[0]),
        panels=HostPanels(lambda folder: settings_of(folder, trust=arguments.trust), store),
        watch_editor=lambda told: watch_editor(folders[0].resolve(), told, trust=arguments.trust),
        default_agent=arguments.agent,
    )
    return WebHost(hub, port=arguments.port, ancestors=[*arguments.embed, *embedders(folders[0])])


def embedders(folder: Path) -> list[str]:
    """Who may show the page by the person's own settings. A project has no say in it."""
    from weft.settings import load_settings
    from weft.settings.layers import as_list

    named = as_list(load_settings(folder, sources=["user"]).values.get("webEmbedders"))
    return [name for name in named if isinstance(name, str)]


def open_connection(opening: "Opening", *, model: str | None = None, trust: bool = False) -> "Connection":
    """Our own agent in this process, or any other by its name."""
    if opening.agent != "weft":
        from weft.surfaces.web.agents import NamedAgent

        return NamedAgent(opening)
    from weft.agent.options import ALL_ASKS, SessionOptions
    from weft.sdk.compose import connect

    return connect(
        SessionOptions(
            cwd=Path(opening.folder),
            directories=tuple(Path(folder) for folder in opening.directories),
            session_id=None if opening.resume else opening.session_id,
            resume=opening.agent_session or opening.session_id if opening.resume else None,
            model=opening.model or model,
            mode=opening.mode,
            thinking=opening.thinking,
            asks=ALL_ASKS,
            trust=trust,
            client="web",
            shortcuts=True,
        )
    )


async def watch_editor(folder: Path, told: "Callable[[EditorSight | None], None]", *, trust: bool = False) -> None:
    """What an editor shows that has the folder open; nothing of files that a rule keeps from the model."""
    from weft.permissions.gate import open_gate
    from weft.surfaces.web.ports import EditorSight
    from weft.workspace.ide.watch import watch_selections

    gate, _ = open_gate(settings_of(str(folder), trust=trust), cwd=str(folder))

    def saw(selection: "Selection | None") -> None:
        if selection is None:
            told(None)
            return
        last = selection.end.line if selection.end.character or selection.is_empty else selection.end.line - 1
        told(EditorSight(selection.path, selection.text, selection.start.line + 1, last + 1))

    await watch_selections(folder, saw, hidden=lambda path: gate.hides("Read", {"file_path": path}))


def settings_of(folder: str, *, trust: bool = False) -> "Settings":
    """The settings as a session in this folder would see them."""
    from weft.permissions.trust import is_trusted
    from weft.settings import load_settings

    return load_settings(folder, trusted=trust or is_trusted(Path(folder), os.environ))


def open_browser(link: str) -> None:
    """Opens the person's browser where there is a screen; says nothing where there is none."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser

    webbrowser.open(link)
