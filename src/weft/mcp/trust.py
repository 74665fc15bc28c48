"""Approval of servers that a project brings along: bound to what the entry says, not to its name.

An approval is kept in our home, never in the project. It holds for one folder, one name and one fingerprint: any
edit of the entry, and any change of what its command or address expands to, makes it void.
"""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from weft.mcp.config import ServerConfig, Standing
from weft.mcp.visible import visible
from weft.schema.content import Json


def fingerprint(config: ServerConfig) -> str:
    """The hash of the entry as written and as resolved. Values of variables count where they decide what runs or
    where it connects; in `env` and `headers` the written text counts, so that a rotated token is no change."""
    whole = {
        "raw": config.raw,
        "transport": config.transport,
        "command": config.command,
        "args": list(config.args),
        "cwd": config.cwd,
        "url": config.url,
        "socket": config.socket,
        "headersHelper": config.headers_helper,
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def describe(config: ServerConfig) -> str:
    """Everything a person must see before this server starts for the first time: nothing is cut, nothing hidden."""
    lines = [f"MCP server {visible(config.name)!r} from {visible(config.source)}"]
    if config.transport == "stdio":
        argv = " ".join(_quoted(item) for item in (config.command, *config.args))
        lines.append(f"starts the program: {argv}")
        lines.append(f"in the folder: {visible(config.cwd) or 'the project folder'}")
        if config.env:
            lines.append(f"with the variables: {', '.join(visible(name) for name in config.env)}")
        if config.env_file:
            lines.append(f"and those of the file: {visible(config.env_file)}")
    else:
        lines.append(f"connects to: {visible(config.url)}")
        if config.socket:
            lines.append(f"over the socket: {visible(config.socket)}")
        if config.headers:
            lines.append(f"with the headers: {', '.join(visible(name) for name in config.headers)}")
        if config.headers_helper:
            lines.append(f"and those that this command prints: {visible(config.headers_helper)}")
    if config.variables:
        where = urlsplit(config.url).hostname if config.transport != "stdio" else "the program"
        lines.append(f"your environment's {', '.join(config.variables)} goes to {where}")
    return "\n".join(lines)


def _quoted(item: str) -> str:
    shown = visible(item)
    return shown if shown and not set(shown) & set(" \t\"'\\") else json.dumps(shown, ensure_ascii=False)


class Approvals:
    """The file of approvals. A file that cannot be read approves nothing."""

    def __init__(self, home: Path) -> None:
        self._path = home / "mcp-approvals.json"

    def standing(self, folder: Path, config: ServerConfig) -> Standing:
        kept = self._load().get(str(folder), {}).get(config.name)
        if kept is None:
            return "pending"
        if kept == "denied":
            return "denied"
        return "approved" if kept == fingerprint(config) else "changed"

    def approve(self, folder: Path, config: ServerConfig) -> None:
        self._set(folder, config.name, fingerprint(config))

    def deny(self, folder: Path, config: ServerConfig) -> None:
        self._set(folder, config.name, "denied")

    def forget(self, folder: Path, name: str) -> None:
        self._set(folder, name, None)

    def _load(self) -> dict[str, dict[str, str]]:
        value = read_json(self._path)
        return {
            folder: {name: str(kept) for name, kept in cast("Json", names).items()}
            for folder, names in value.items()
            if isinstance(names, dict)
        }

    def _set(self, folder: Path, name: str, value: str | None) -> None:
        whole = self._load()
        names = whole.setdefault(str(folder), {})
        if value is None:
            names.pop(name, None)
        else:
            names[name] = value
        write_private(self._path, json.dumps(whole, indent=1, sort_keys=True))


def read_json(path: Path) -> Json:
    """A JSON object from a file of ours; an empty one when it is missing or broken."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def write_private(path: Path, text: str) -> None:
    """Atomic, readable by the person alone, in a folder that is theirs alone."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        os.fchmod(handle, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
