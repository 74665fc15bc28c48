"""What an ACP client wants of a session, in our words: the input of the factory that opens one."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias, cast

import msgspec

from weft.connect.port import Connection
from weft.protocols.acp import session as s
from weft.protocols.acp.content import McpServer, pairs
from weft.protocols.acp.frames import INVALID_PARAMS, RpcError
from weft.schema.content import Json
from weft.schema.events import Mode
from weft.serve.acp.config import mode_of
from weft.workspace.port import Workspace


class SessionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`session_id` is the id that the session has or will have. `resume` continues the one of that id; `fork_of`
    begins with another's history. `wrap` puts an editor's buffers and terminals in front of the disk."""

    session_id: str
    cwd: Path
    resume: bool = False
    fork_of: str | None = None
    directories: tuple[Path, ...] = ()
    mode: Mode | None = None
    model: str | None = None
    mcp_servers: dict[str, Json] = {}
    """By name, in the spelling of `.mcp.json`."""
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    hooks: Json | None = None
    """In the spelling of the settings file."""
    agents: dict[str, Json] = {}
    commands: dict[str, str] = {}
    """Slash commands of the client: a name and the prompt that it stands for."""
    api_key: str | None = None
    base_url: str | None = None
    wrap: Callable[[Workspace], Workspace] | None = None


OpenSession: TypeAlias = Callable[[SessionRequest], Awaitable[Connection]]


def to_request(
    opened: s.OpenSession,
    session_id: str,
    *,
    initialized: s.Initialize | None = None,
    resume: bool = False,
    fork_of: str | None = None,
    login: Json | None = None,
    wrap: Callable[[Workspace], Workspace] | None = None,
) -> SessionRequest:
    """
    Raises:
        RpcError: a folder is not absolute or is not there, or a server has no address.
    """
    settings = opened.settings or s.SessionSettings()
    first = initialized or s.Initialize(protocol_version=s.VERSION)
    servers = (*first.mcp_servers, *(opened.mcp_servers or ()))
    login = login or {}
    return SessionRequest(
        session_id=session_id,
        cwd=_folder(opened.cwd),
        resume=resume,
        fork_of=fork_of,
        directories=tuple(map(_folder, (*(opened.additional_directories or ()), *(settings.add_dirs or ())))),
        mode=mode_of(settings.permission_mode or ""),
        model=_text(login.get("modelName")),
        mcp_servers=dict(_server(server, number) for number, server in enumerate(servers)),
        system_prompt=settings.system_prompt,
        append_system_prompt=settings.append_system_prompt,
        allowed_tools=tuple(settings.allowed_tools or ()),
        disallowed_tools=tuple(settings.disallowed_tools or ()),
        max_turns=settings.max_turns,
        hooks=opened.hooks or first.hooks,
        agents={**_agents(first.agents), **_agents(opened.agents)},
        commands={**_commands(first.commands), **_commands(opened.commands)},
        api_key=_text(login.get("apiKey")),
        base_url=_text(login.get("baseUrl")),
        wrap=wrap,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _folder(path: str) -> Path:
    folder = Path(path)
    if not folder.is_absolute():
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"the path must be absolute: {path}"})
    if not folder.is_dir():
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"there is no folder {path}"})
    return folder


def _server(server: McpServer, number: int) -> tuple[str, Json]:
    name = server.name or f"client-{number}"
    if server.command:
        return name, {"command": server.command, "args": list(server.args), "env": pairs(server.env)}
    url = server.http_url or server.url
    if server.tcp:
        return name, {"type": "ws", "url": server.tcp, "headers": pairs(server.headers)}
    if not url:
        raise RpcError(INVALID_PARAMS, "Invalid params", {"details": f"the MCP server {name} has no command or url"})
    kind = server.type or ("http" if server.http_url else "sse")
    return name, {"type": "http" if kind == "streamable-http" else kind, "url": url, "headers": pairs(server.headers)}


class _Agent(msgspec.Struct):
    """iFlow's `agents`: a list, or an object by name; both of its spellings of each field."""

    name: str = ""
    agent_type: str = msgspec.field(default="", name="agentType")
    description: str = ""
    when_to_use: str = msgspec.field(default="", name="whenToUse")
    prompt: str = ""
    system_prompt: str = msgspec.field(default="", name="systemPrompt")
    tools: list[str] | None = None
    allowed_tools: list[str] | None = msgspec.field(default=None, name="allowedTools")
    model: str | None = None


def _listed(value: object) -> list[Json]:
    if isinstance(value, dict):
        held = cast(dict[str, object], value)
        return [{"name": name, **cast(Json, item)} for name, item in held.items() if isinstance(item, dict)]
    if isinstance(value, list):
        return [cast(Json, item) for item in cast(list[object], value) if isinstance(item, dict)]
    return []


def _agents(value: object) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for item in _listed(value):
        agent = msgspec.convert(item, _Agent, strict=False)
        name = agent.name or agent.agent_type
        prompt = agent.prompt or agent.system_prompt
        if not name or not prompt:
            continue
        entry: Json = {"description": agent.description or agent.when_to_use or name, "prompt": prompt}
        tools = agent.tools or agent.allowed_tools
        if tools and tools != ["*"]:
            entry["tools"] = tools
        if agent.model:
            entry["model"] = agent.model
        found[name] = entry
    return found


def _commands(value: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in _listed(value):
        name = str(item.get("name", "")).lstrip("/")
        content = item.get("content") or item.get("prompt")
        if name and isinstance(content, str):
            found[name] = content
    return found
