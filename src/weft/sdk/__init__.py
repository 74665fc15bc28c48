"""The public Python API. `import weft` gives the same names; nothing is imported before it is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.sdk.client import Answer, Client, TurnFailed
    from weft.sdk.functions import tool
    from weft.sdk.one_turn import query
    from weft.sdk.options import Options
    from weft.sdk.stored import (
        delete_session,
        export_session,
        fork_session,
        list_sessions,
        read_session,
        rename_session,
        rewind_session,
        search_sessions,
    )

__all__ = [
    "Answer",
    "Client",
    "Options",
    "TurnFailed",
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

_WHERE = {
    "Answer": "client",
    "Client": "client",
    "Options": "options",
    "TurnFailed": "client",
    "delete_session": "stored",
    "search_sessions": "stored",
    "rewind_session": "stored",
    "rename_session": "stored",
    "export_session": "stored",
    "fork_session": "stored",
    "list_sessions": "stored",
    "query": "one_turn",
    "read_session": "stored",
    "tool": "functions",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"weft has no {name!r}")
    return getattr(import_module(f"weft.sdk.{_WHERE[name]}"), name)
