"""Where an agent's program is, on Unix and on Windows. Nothing here raises: what is not found is None.

Editors are started from a desktop, without the person's shell, so a program that nvm, fnm or volta put on the path
is found only by asking a login shell. On Windows npm leaves a wrapper script; the JavaScript that it runs is read
out of it, because a wrapper cannot be given pipes reliably.
"""

import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec

from weft.errors import TransportError
from weft.transports.process import spawn

_log = logging.getLogger(__name__)
SHELL_LIMIT = 5.0
"""Seconds for a login shell; some read half the internet first."""
_SCRIPTS = (".js", ".mjs", ".cjs")
_QUOTED = re.compile(r"""["']?(?:%~?dp0%?|%dp0%|\$basedir)[\\/]([^"'\r\n]+?\.(?:js|mjs|cjs))["']?""", re.IGNORECASE)


class Found(msgspec.Struct, frozen=True):
    """A program. `script` and `node` are set when it is JavaScript: it can then be run without its wrapper."""

    path: str
    script: str | None = None
    node: str | None = None
    how: str = "path"

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.node, self.script) if self.node and self.script else (self.path,)


async def find(
    name: str, *, env: Mapping[str, str] | None = None, windows: bool = sys.platform == "win32"
) -> Found | None:
    """The program `name`, or the one at that path."""
    env = os.environ if env is None else env
    if os.sep in name or (windows and "/" in name):
        given = name if windows else shutil.which(name)
        return _found(given, "given", windows=windows, env=env) if given else None
    if windows:
        path = find_on_windows(name, env)
        return _found(path, "path", windows=True, env=env) if path else None
    path = shutil.which(name, path=env.get("PATH"))
    if path:
        return _found(path, "path", windows=False, env=env)
    path = await ask_login_shell(name, env)
    return _found(path, "login shell", windows=False, env=env) if path else None


async def ask_login_shell(name: str, env: Mapping[str, str]) -> str | None:
    """What the person's own shell would run, its start-up files read."""
    shell = shutil.which(env.get("SHELL") or "")
    if shell is None:
        return None
    try:
        child = await spawn([shell, "-lc", f"command -v {shlex.quote(name)}"], env=env, stderr="null")
    except TransportError as error:
        _log.debug("no login shell: %s", error)
        return None
    said = b""
    with anyio.move_on_after(SHELL_LIMIT):
        while child.stdout is not None and (data := await child.stdout.receive()):
            said += data
        await child.wait()
    await child.kill()
    child.close()
    # Start-up files may print; the path is the last line that is one.
    for line in reversed(said.decode("utf-8", "replace").splitlines()):
        if os.path.isabs(line.strip()) and os.access(line.strip(), os.X_OK):
            return line.strip()
    return None


def find_on_windows(name: str, env: Mapping[str, str]) -> str | None:
    """On the path, then where npm puts global programs; the wrapper kinds in the order in which they can be read."""
    folders = [folder for folder in env.get("PATH", "").split(";") if folder]
    if env.get("APPDATA"):
        folders.append(str(Path(env["APPDATA"]) / "npm"))
    for folder in folders:
        for ending in (".exe", ".ps1", ".cmd", ""):
            path = Path(folder) / f"{name}{ending}"
            if path.is_file():
                return str(path)
    return None


def _found(path: str, how: str, *, windows: bool, env: Mapping[str, str]) -> Found:
    script = find_script(path, windows=windows)
    node = find_node(path, windows=windows, env=env) if script else None
    return Found(path, script if node else None, node, how)


def find_script(path: str, *, windows: bool) -> str | None:
    """The JavaScript behind a program: through links on Unix, out of the wrapper on Windows."""
    if windows:
        if not path.lower().endswith((".ps1", ".cmd")):
            return path if path.lower().endswith(_SCRIPTS) else None
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            _log.debug("cannot read the wrapper %s: %s", path, error)
            return None
        return script_of_wrapper(text, Path(path).parent)
    real = os.path.realpath(path)
    if real.endswith(_SCRIPTS):
        return real
    try:
        with open(real, "rb") as file:
            first = file.readline(200)
    except OSError:
        return None
    return real if first.startswith(b"#!") and b"node" in first else None


def script_of_wrapper(text: str, folder: Path) -> str | None:
    """The script that a `.cmd` or `.ps1` of npm runs: the last one that it names beside itself."""
    names = _QUOTED.findall(text)
    if not names:
        return None
    return str(folder.joinpath(*re.split(r"[\\/]", names[-1])))


def find_node(path: str, *, windows: bool, env: Mapping[str, str]) -> str | None:
    """The Node that belongs to a program: the one beside it, before or behind links, then the one on the path."""
    name = "node.exe" if windows else "node"
    for folder in (Path(path).parent, Path(os.path.realpath(path)).parent):
        if (folder / name).is_file():
            return str(folder / name)
    if windows:
        return find_on_windows("node", env)
    return shutil.which("node", path=env.get("PATH"))
