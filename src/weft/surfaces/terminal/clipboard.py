"""What the terminal cannot do itself: pictures from the desktop's clipboard, and the person's own editor."""

import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from weft.errors import TransportError
from weft.surfaces.terminal.words import t

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

READERS = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
)


async def read_image(env: Mapping[str, str]) -> bytes:
    """The picture on the clipboard; nothing when there is none, or one that does not come whole."""
    from weft.transports.capture import MAX_OUTPUT, capture

    for needed, command in READERS:
        if not env.get(needed) or not shutil.which(command[0]):
            continue
        try:
            done = await capture(command, cwd=Path.cwd(), limit=5)
        except TransportError:
            continue
        if done.code == 0 and 0 < len(done.output) < MAX_OUTPUT:
            return done.output
    return b""


def editor_of(env: Mapping[str, str]) -> list[str]:
    """`$VISUAL`, `$EDITOR`, or the first of a few that is there."""
    named = env.get("VISUAL") or env.get("EDITOR")
    if named:
        return shlex.split(named)
    return [next((name for name in ("nvim", "vim", "nano", "vi") if shutil.which(name)), "vi")]


async def edit_text(app: "TerminalApp") -> None:
    """The composer's text in the person's editor, and back. The conversation goes on meanwhile."""
    from weft.transports.foreground import run_foreground

    command = editor_of(app.parts.env)
    folder = Path(await to_thread.run_sync(tempfile.mkdtemp, None, "weft-"))
    path = folder / "prompt.md"
    try:
        await to_thread.run_sync(lambda: path.write_text(app.composer.text, encoding="utf-8"))
        with app.suspend():
            code = await run_foreground([*command, str(path)], env=dict(app.parts.env), cwd=app.parts.cwd)
        if code == 0:
            text = await to_thread.run_sync(lambda: path.read_text(encoding="utf-8", errors="replace"))
            app.composer.put(text.rstrip("\n"))
    except (OSError, TransportError) as error:
        app.say(t("The editor could not be used: {error}", error=error), "warning")
    finally:
        await to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
    app.refresh(repaint=True, layout=True)
    app.composer.focus()
