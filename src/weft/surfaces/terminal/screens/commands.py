"""Commands that the terminal itself answers, with a list or a form. With arguments they go to the agent as typed."""

from collections.abc import Callable, Coroutine
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from weft.schema.events import CommandInfo

if TYPE_CHECKING:
    from weft.surfaces.terminal.app import TerminalApp

_SCREENS = "weft.surfaces.terminal.screens"
TABLE: dict[str, tuple[str, str, str]] = {
    "model": ("choices", "choose_model", "choose the model"),
    "mode": ("choices", "choose_mode", "choose what may be done without asking"),
    "thinking": ("choices", "choose_thinking", "choose how much the model thinks"),
    "theme": ("choices", "choose_theme", "choose the colours"),
    "resume": ("sessions", "pick_session", "go on with another conversation"),
    "fork": ("sessions", "fork_session", "go on in a copy of this conversation"),
    "rewind": ("rewind", "rewind", "go back to before a message"),
    "mcp": ("panels", "show_servers", "the MCP servers, on and off"),
    "permissions": ("panels", "show_permissions", "the rules in force, and taking them back"),
    "hooks": ("panels", "show_hooks", "the hooks that are set"),
    "agents": ("panels", "show_agents", "the agents that work can be given to"),
    "settings": ("settings", "show_settings", "change settings"),
    "tasks": ("panels", "show_tasks", "what runs in the background"),
    "setup": ("setup", "set_up", "keys and local models that were found"),
    "tab": ("sessions", "new_tab", "another conversation, in a tab"),
    "close": ("sessions", "close_tab", "close this tab"),
    "vim": ("choices", "toggle_vim", "the keys of vi, on or off"),
    "exit": ("choices", "leave", "leave Weft"),
    "help": ("help", "open_help", "keys and commands"),
}
ALIASES = {"quit": "exit", "q": "exit", "checkpoint": "rewind", "config": "settings", "bashes": "tasks", "keys": "help"}
OWN = tuple(CommandInfo(name, description, source="terminal") for name, (_, _, description) in TABLE.items())


def run_local(app: "TerminalApp", text: str) -> bool:
    """Whether the terminal answers this itself."""
    if not text.startswith("/"):
        return False
    name, _, arguments = text[1:].partition(" ")
    name = ALIASES.get(name, name)
    if name not in TABLE or arguments.strip():
        return False
    module, function, _ = TABLE[name]
    work = cast(
        "Callable[[TerminalApp], Coroutine[object, object, None]]",
        getattr(import_module(f"{_SCREENS}.{module}"), function),
    )
    app.later(partial(work, app))
    return True
