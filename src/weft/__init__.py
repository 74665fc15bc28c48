"""Weft: an AI coding agent, and the whole stack that joins it to an editor.

import weft

answer = await weft.query("What does this project do?")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.sdk import (
        Answer,
        Client,
        Options,
        TurnFailed,
        delete_session,
        export_session,
        fork_session,
        list_sessions,
        query,
        read_session,
        rename_session,
        rewind_session,
        search_sessions,
        tool,
    )

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Client",
    "Options",
    "TurnFailed",
    "__version__",
    "delete_session",
    "export_session",
    "fork_session",
    "list_sessions",
    "query",
    "read_session",
    "rename_session",
    "rewind_session",
    "search_sessions",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from weft import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
