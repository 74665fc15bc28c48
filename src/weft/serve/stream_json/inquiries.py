"""Control requests by which a host looks around: settings, rules, hooks, tasks, files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from weft.agent.session import Session
from weft.errors import UsageError, WorkspaceError
from weft.permissions.modes import to_mode
from weft.protocols.stream_json import is_json
from weft.schema.commands import Complete
from weft.schema.content import Json
from weft.schema.events import RuleSuggestion
from weft.schema.wire import to_builtins
from weft.settings.layers import as_object, as_strings

MOST_LOOKED_AT = 20_000
MOST_SUGGESTED = 50
MOST_READ = 256_000
SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"))


async def get_settings(session: Session, body: Json) -> Json:
    settings = session.settings
    sources = [{"scope": layer.scope, "path": layer.path, "settings": layer.data} for layer in settings.layers]
    applied = {"model": session.state.model, "permissionMode": session.state.mode}
    return {"effective": settings.values, "sources": sources, "applied": applied}


async def apply_flag_settings(session: Session, body: Json) -> Json:
    """What can change while a session runs: the model, the mode, and permission rules for this session.

    Raises:
        UsageError: a mode or a rule that cannot be.
    """
    given = as_object(body.get("settings"))
    permissions = as_object(given.get("permissions"))
    kinds: tuple[Literal["allow", "ask", "deny"], ...] = ("allow", "ask", "deny")
    rules = tuple(RuleSuggestion(text, "session", kind) for kind in kinds for text in as_strings(permissions.get(kind)))
    if rules:
        session.gate.add_rules(rules)
    mode = permissions.get("defaultMode")
    if isinstance(mode, str):
        session.state.set_mode(to_mode(mode))
    model = given.get("model")
    if isinstance(model, str):
        await session.control.set_model(model)
    return {}


async def list_permission_rules(session: Session, body: Json) -> Json:
    return {"rules": list(session.intake.desk.rules())}


async def get_hooks_listing(session: Session, body: Json) -> Json:
    return {"hooks": list(session.intake.desk.hooks())}


async def background_tasks(session: Session, body: Json) -> Json:
    return {"tasks": [to_builtins(task) for task in session.control.tasks()]}


async def reload_files(session: Session, body: Json) -> Json:
    """Commands and skills are read again when they are next needed."""
    session.intake.refresh()
    session.state.changed("commands")
    return {}


async def generate_session_title(session: Session, body: Json) -> Json:
    """From the description's own words: no model is asked for a title."""
    words = " ".join(str(body.get("description") or "").split())
    title = words if len(words) <= 60 else words[:57].rsplit(" ", 1)[0] + "…"
    return {"title": title}


async def complete(session: Session, body: Json) -> Json:
    """What could come next in a prompt, where only the agent knows: servers' prompt arguments and resources."""
    found = await session.control.complete(Complete("", str(body.get("text") or "")))
    return {"start": found.start, "items": [to_builtins(item) for item in found.items]}


async def seed_read_state(session: Session, body: Json) -> Json:
    """Nothing to do: an edit is checked against the file itself, whoever read it before."""
    return {}


async def mcp_set_servers(session: Session, body: Json) -> Json:
    servers = body.get("servers")
    return await session.control.set_servers(servers if is_json(servers) else {})


async def read_file(session: Session, body: Json) -> Json:
    """
    Raises:
        UsageError: outside of the folders worked on, denied by a rule, or not readable.
    """
    name = str(body.get("path") or "")
    path = _real(session.state.cwd / name)
    roots = [_real(root) for root in (session.state.original_cwd, *session.state.directories)]
    if not any(path.is_relative_to(root) for root in roots) or session.gate.hides("Read", {"file_path": str(path)}):
        raise UsageError(f"{name} may not be read.")
    try:
        data = await session.control.read(path)
    except WorkspaceError as error:
        raise UsageError(str(error)) from None
    return {"content": data[:MOST_READ].decode("utf-8", "replace"), "truncated": len(data) > MOST_READ}


async def file_suggestions(session: Session, body: Json) -> Json:
    """Files whose path has the letters of the query in their order; the shortest first."""
    query = str(body.get("query") or "").lower()
    root = session.state.original_cwd
    found = [name for name in _files(root) if _matches(query, name.lower())]
    shown = sorted(found, key=lambda name: (query not in name.lower(), len(name), name))[:MOST_SUGGESTED]
    visible = [name for name in shown if not session.gate.hides("Read", {"file_path": str(root / name)})]
    return {"suggestions": [{"path": name} for name in visible]}


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _files(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            count += 1
            if count > MOST_LOOKED_AT:
                return
            yield os.path.relpath(os.path.join(folder, name), root)


def _matches(query: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in query)
