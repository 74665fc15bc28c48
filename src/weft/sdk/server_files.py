"""Whether a session has MCP servers: a few files are looked for, and what they configure is read.

Where nothing is configured nothing of MCP is imported.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from weft.agent.asks import Asks
from weft.agent.options import SessionOptions
from weft.agent.state import State
from weft.mcp.places import Options, places
from weft.permissions.port import Gate
from weft.schema.content import Json
from weft.schema.events import AgentEvent, Notice
from weft.settings import Settings

if TYPE_CHECKING:
    from weft.mcp.config import ServerConfig
    from weft.providers.port import Provider
    from weft.sdk.servers import Servers


def find_configs(
    options: SessionOptions, settings: Settings, env: Mapping[str, str], home: Path
) -> tuple[tuple["ServerConfig", ...], tuple[str, ...]]:
    """The configured servers, and sentences about files that cannot be used.

    Switching a project's server on counts from the person's own settings and from policy, never from the project's.
    """
    own = [layer.data for layer in settings.layers if layer.scope not in ("project", "local")]
    managed: Json = {}
    for layer in settings.layers:
        if layer.scope == "policy":
            managed.update(layer.data)
    flag: list[str | Json] = list(options.mcp_configs)
    if options.mcp_servers:
        flag.append({"mcpServers": options.mcp_servers})
    declared = settings.values.get("mcpServers")
    if isinstance(declared, dict) and declared and not options.strict_mcp:
        flag.append({"mcpServers": cast("Json", declared)})
    wanted = options.setting_sources
    scopes = [name for name in ("local", "project", "user") if wanted is None or name in wanted]
    given = Options(
        folder=options.cwd,
        env=env,
        flag=tuple(flag),
        strict=options.strict_mcp or options.bare,
        scopes=tuple(cast("list[Literal['local', 'project', 'user', 'plugin']]", [*scopes, "plugin"])),
        plugins=tuple((folder.name, folder) for folder in options.plugin_dirs),
        enabled=tuple(name for data in own for name in _names(data.get("enabledMcpjsonServers"))),
        enable_all=any(data.get("enableAllProjectMcpServers") is True for data in own),
        disabled=tuple(name for layer in settings.layers for name in _names(layer.data.get("disabledMcpjsonServers"))),
        trust_project=options.trust,
        home=home,
    )
    if not any(place.speaks() for place in places(given, env)):
        return (), ()
    from weft.mcp.policy import policy_from
    from weft.mcp.sources import find_servers

    found = find_servers(msgspec.structs.replace(given, policy=policy_from(managed)))
    return tuple(item for item in found.servers if item.transport != "sdk"), found.problems


def _names(value: object) -> list[str]:
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def open_servers(
    options: SessionOptions,
    settings: Settings,
    *,
    env: Mapping[str, str],
    home: Path,
    asks: Asks,
    state: State,
    emit: Callable[[AgentEvent], None],
    provider: Callable[[], "Provider"],
    window: Callable[[], int] = lambda: 0,
    apps: bool = False,
    gate: Gate | None = None,
) -> "Servers | None":
    """The session's servers; None when there are none. Problems with files become notices."""
    configs, problems = find_configs(options, settings, env, home)
    for problem in problems:
        emit(Notice(text=problem, level="warning", tag="mcp"))
    if not configs:
        return None
    from weft.sdk.servers import Servers

    return Servers(options, settings, configs, env, home, asks, state, emit, provider, window, apps, gate)
