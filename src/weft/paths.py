"""Where Weft keeps things, and the names that folders get there.

Weft writes under one home: `WEFT_HOME`, else `CLAUDE_CONFIG_DIR` where a caller set it, else `~/.claude` when a
Claude SDK started us (it looks for sessions there), else `~/.weft`. The layout is that of `~/.claude`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def weft_home(env: Mapping[str, str] | None = None) -> Path:
    env = os.environ if env is None else env
    for name in ("WEFT_HOME", "CLAUDE_CONFIG_DIR"):
        if env.get(name):
            return Path(env[name]).expanduser()
    if env.get("CLAUDE_AGENT_SDK_VERSION"):
        return user_home(env) / ".claude"
    return user_home(env) / ".weft"


def user_home(env: Mapping[str, str] | None = None) -> Path:
    env = os.environ if env is None else env
    return Path(env.get("HOME") or os.path.expanduser("~"))


def claude_home(env: Mapping[str, str] | None = None) -> Path:
    """Where Claude Code keeps its own files: read by us, never written unless it is also our home."""
    env = os.environ if env is None else env
    return Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else user_home(env) / ".claude"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits or "0"


def project_slug(folder: str | Path) -> str:
    """The folder's name under `projects/`: every character outside [A-Za-z0-9] is a dash. A name over 200
    characters is cut there and ends in a 32-bit hash of the whole path, in base 36."""
    path = os.path.realpath(folder)
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in path)
    if len(slug) <= 200:
        return slug
    value = 0
    units = path.encode("utf-16-le")
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (low | high << 8)) & 0xFFFFFFFF
    if value >= 0x80000000:
        value -= 0x100000000
    return f"{slug[:200]}-{_base36(abs(value))}"


def projects_dir(home: Path | None = None) -> Path:
    return (home or weft_home()) / "projects"


def session_file(session_id: str, cwd: str | Path, home: Path | None = None) -> Path:
    return projects_dir(home) / project_slug(cwd) / f"{session_id}.jsonl"
