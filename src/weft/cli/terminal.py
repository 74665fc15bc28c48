"""`weft` in a terminal: the conversation on the whole screen, or as plain lines for a screen reader."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from weft.cli.arguments import Arguments

if TYPE_CHECKING:
    from weft.agent.options import SessionOptions
    from weft.connect.port import Connection
    from weft.sessions.port import SessionStore
    from weft.settings import Settings
    from weft.surfaces.terminal.conversation import Opening
    from weft.surfaces.terminal.ports import Found, Parts

TERMINATED = 143


def main(arguments: Arguments) -> int:
    import anyio

    from weft.surfaces.terminal.words import language_of, use_language

    use_language(language_of(os.environ))
    if arguments.screen_reader or os.environ.get("WEFT_SCREEN_READER") or os.environ.get("TERM") == "dumb":
        return anyio.run(run_plain, arguments)
    return anyio.run(run_screen, arguments)


async def run_screen(arguments: Arguments, when_painted: Callable[[], None] | None = None) -> int:
    import anyio

    # Textual paints at most this often, and only what changed. A key is echoed with the next paint: it waits 1 ms for
    # it at most, where the default would be 16. What streams has a rate of its own.
    os.environ.setdefault("TEXTUAL_FPS", "1000")

    from weft.surfaces.terminal.app import TerminalApp

    code: int | None = None
    async with anyio.create_task_group() as group:
        app = TerminalApp(make_parts(arguments), group)
        app.when_painted = when_painted
        group.start_soon(_end_on_signal, app.exit)
        code = await app.run_async()
        group.cancel_scope.cancel()
    return code or 0


async def _end_on_signal(leave: Callable[[int], None]) -> None:
    """SIGTERM and SIGHUP leave the screen as it was before, and end the agents."""
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            leave(TERMINATED)


def make_parts(arguments: Arguments) -> "Parts":
    from weft.paths import weft_home
    from weft.surfaces.terminal.ports import Parts

    cwd = Path.cwd()
    own = _own_settings()
    return Parts(
        start=lambda opening: open_agent(arguments, opening),
        cwd=cwd,
        env=os.environ,
        prompt=" ".join(arguments.prompt),
        pick=arguments.resume == "",
        theme=str(own.get("theme") or ""),
        vim=own.get("editorMode") == "vim",
        history=weft_home() / "history.jsonl",
        store=open_store,
        settings=lambda: load_settings(cwd, trust=arguments.trust),
        look_around=look_around,
    )


def _own_settings() -> dict[str, object]:
    """The person's own file, read alone: the first paint wants its colours and nothing else."""
    import msgspec

    from weft.paths import weft_home

    try:
        found = cast(object, msgspec.json.decode((weft_home() / "settings.json").read_bytes()))
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


async def open_agent(arguments: Arguments, opening: "Opening") -> "Connection":
    from weft.sdk.compose import open_connection

    return await open_connection(to_session(arguments, opening))


def to_session(arguments: Arguments, opening: "Opening") -> "SessionOptions":
    """The flags are for every tab; which conversation is meant, only for the first one."""
    import msgspec

    from weft.agent.options import ALL_ASKS
    from weft.cli.options import to_options

    options = to_options(arguments, asks=ALL_ASKS)
    changes: dict[str, object] = {"client": "terminal", "shortcuts": True, "replay": True}
    if not opening.first or opening.resume is not None:
        changes |= {"session_id": None, "continue_latest": False, "resume_at": None, "title": None}
        changes |= {"resume": opening.resume, "fork": opening.fork}
    if opening.model is not None:
        changes["model"] = opening.model
    if opening.agent is not None:
        changes["agent"] = opening.agent
    return msgspec.structs.replace(options, **changes)


def open_store() -> "SessionStore":
    from weft.paths import claude_home, weft_home
    from weft.sessions.store import FileStore

    return FileStore(weft_home(), foreign=claude_home())


def load_settings(cwd: Path, *, trust: bool) -> "Settings":
    from weft.permissions.trust import is_trusted
    from weft.settings import load_settings

    return load_settings(cwd, trusted=trust or is_trusted(cwd, os.environ))


async def look_around() -> "list[Found]":
    """What `weft doctor` says of models, and a row for each model of a local server."""
    from weft.providers.discover import discover
    from weft.sdk.examination import KEYS
    from weft.surfaces.terminal.ports import Found

    found = [Found(state="ok", text=f"{name} is set") for name in KEYS if os.environ.get(name)]
    if not found:
        advice = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or choose one below"
        found.append(Found(state="missing", text="no key in the environment", advice=advice))
    servers = await discover(os.environ)
    for server in servers:
        for model in server.models:
            found.append(Found(state="ok", text=f"{model.id}", advice=f"{server.name} at {server.url}", model=model.id))
    for one in local_files():
        found.append(Found(state="ok", text=one, advice="a file that runs here", model=f"gguf:{one}"))
    if not servers:
        found.append(Found(state="missing", text="no local model server answers", advice="Ollama, LM Studio, …"))
    return found


def local_files() -> list[str]:
    """Models that run without a server, where llama.cpp is installed."""
    from weft.paths import weft_home
    from weft.providers.gguf.store import Store
    from weft.transports.llama_child import has_llama

    return list(Store(weft_home(), os.environ).all()) if has_llama() else []


async def run_plain(arguments: Arguments) -> int:
    from weft.surfaces.terminal.conversation import Opening
    from weft.surfaces.terminal.plain import PlainTerminal

    def read() -> str | None:
        line = sys.stdin.readline()
        return line if line else None

    def write(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    connection = await open_agent(arguments, Opening(first=True))
    await PlainTerminal(connection, read, write).run(" ".join(arguments.prompt))
    return 0
