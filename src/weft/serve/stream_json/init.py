"""`system/init`: what a session is, told before every turn."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

from weft import __version__
from weft.schema.content import Json
from weft.schema.events import SessionInfo
from weft.serve.stream_json.translate import Translator

SPOKEN_VERSION = "2.1.325"
"""The version of the wire that we speak: clients compare it with the one they need."""

STATES = {"ready": "connected", "needs_auth": "needs-auth", "failed": "failed", "disabled": "disabled"}


def init_fields(info: SessionInfo) -> Json:
    return {
        "cwd": info.cwd,
        "tools": list(info.tools),
        "mcp_servers": [
            {"name": server.name, "status": STATES.get(server.state, "pending"), "source": server.scope}
            for server in info.servers
        ],
        "model": info.model,
        "permissionMode": info.mode,
        "slash_commands": [command.name for command in info.commands],
        "terminal_slash_commands": [],
        "apiKeySource": info.key_source,
        "claude_code_version": SPOKEN_VERSION,
        "weft_version": __version__,
        "output_style": "default",
        "agents": list(info.agents),
        "skills": list(info.skills),
        "plugins": [],
        "capabilities": [],
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "original_cwd": info.cwd,
        "additional_directories": list(info.directories),
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": None,
        "per_turn_effort_active": False,
        "ultrathink_available": False,
        "ultrathink_typed_raises": False,
        "view_mode": "default",
    }


class Stamps:
    """Random UUIDs (version 4). Randomness is fetched for many at once: asking the system costs more than the rest."""

    def __init__(self) -> None:
        self._left: list[str] = []

    def __call__(self) -> str:
        if not self._left:
            digits = os.urandom(16 * _STAMPS).hex()
            self._left = [_to_uuid(digits[at : at + 32]) for at in range(0, len(digits), 32)]
        return self._left.pop()


_STAMPS = 64


def _to_uuid(digits: str) -> str:
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def translator(
    *,
    partial: bool = False,
    replay: bool = False,
    hook_events: bool = False,
    subagent_text: bool = False,
    state_events: bool = False,
    state_for_host: bool = True,
    plugins: Callable[[], list[Json]] = list,
) -> Translator:
    """A translator with real ids and times. `plugins` are those that the caller named."""
    return Translator(
        stamp=Stamps(),
        now=now,
        init=lambda info: {**init_fields(info), "plugins": plugins()},
        partial=partial,
        replay=replay,
        hook_events=hook_events,
        subagent_text=subagent_text,
        state_events=state_events,
        state_for_host=state_for_host,
    )
