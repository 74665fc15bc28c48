"""The Claude IDE protocol without I/O: lock files, the twelve tools, notifications, and a conversation at each end.

MCP over a WebSocket, one JSON-RPC object per text frame. The editor listens, agents attach.
"""

AUTH_HEADER = "x-claude-code-ide-authorization"
SUBPROTOCOL = "mcp"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The MCP revisions that both ends speak here, newest first."""


def choose_revision(asked: object) -> str:
    """What a server answers: the revision that was asked for when we speak it, else our newest."""
    return asked if isinstance(asked, str) and asked in REVISIONS else REVISIONS[0]
