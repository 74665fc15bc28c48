"""Any agent by what a person calls it: a name of the registry, a command line, or the address of a WebSocket.

`editor` is none: it is the surface itself, as an editor that agents elsewhere attach to.
"""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.connect.acp.connection import AcpConnection
from weft.connect.acp.options import AcpOptions
from weft.connect.acp.start import ChildAgent, Opener, SocketAgent
from weft.connect.port import Connection
from weft.connect.process import PortAgent
from weft.connect.registry import KnownAgent, known_agents
from weft.errors import AgentMissing, UsageError
from weft.protocols.acp.content import McpServer
from weft.schema.events import Mode

if TYPE_CHECKING:
    from weft.proxy.session import ProxySession


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of the agent. `session_id` continues a session that the agent keeps. With `proxy` it gets a nonce
    instead of the person's key, where there is one and the agent can be told; `WEFT_PROXY=off` says no as well."""

    cwd: Path
    session_id: str = ""
    directories: tuple[Path, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    mode: Mode | None = None
    model: str | None = None
    proxy: bool = True
    auth_method: str | None = None
    """One of the agent's own ways to log in, used when it wants one."""
    port: int = 0
    """For agents that listen: where. 0 takes a free one."""


async def open_agent(spec: str, request: AgentRequest) -> Connection:
    """The connection, not yet entered.

    Raises:
        UsageError: nothing can be made of `spec`.
        AgentMissing: the agent is known and not on this machine.
    """
    if spec.strip() == "editor":
        from weft.connect.editor import EditorConnection

        return EditorConnection((request.cwd, *request.directories))
    known = known_agents().get(spec.strip())
    if known is not None and known.stream is not None and known.acp is None and known.port is None:
        return await _open_stream(known, request)
    speaks_acp = known is not None and (known.acp is not None or known.port is not None)
    proxy = _proxy(known, request.cwd) if known is not None and speaks_acp and request.proxy else None
    options = AcpOptions(
        cwd=request.cwd,
        session_id=request.session_id,
        directories=request.directories,
        mcp_servers=request.mcp_servers,
        mode=request.mode,
        model=request.model,
        auth_method=request.auth_method,
        proxy=proxy,
    )
    return AcpConnection(await find_opener(spec, request.cwd, proxy=proxy, port=request.port), options)


async def _open_stream(agent: KnownAgent, request: AgentRequest) -> Connection:
    """An agent that speaks stream-json and nothing else."""
    from weft.connect.discovery import find
    from weft.connect.stream_json.connection import StreamJsonConnection, StreamJsonOptions, arguments_for

    found = await find(agent.command)
    if found is None:
        raise AgentMissing(f"{agent.title} is not on this machine", hint=agent.install or None)
    return StreamJsonConnection(
        StreamJsonOptions(
            command=found.argv,
            cwd=request.cwd,
            arguments=arguments_for(model=request.model, mode=request.mode, directories=request.directories),
            env=agent.env,
            name=agent.name,
            resume=request.session_id,
            proxy=_proxy(agent, request.cwd) if request.proxy else None,
        )
    )


def _proxy(agent: KnownAgent, cwd: Path) -> "ProxySession | None":
    if not agent.proxy:
        return None
    from weft.proxy.session import session
    from weft.settings import load_settings

    # Only the person's own settings may name a command that prints a key.
    settings = load_settings(cwd, sources=["user"]).values
    return session(agent.name, {**os.environ, **agent.env}, settings, dialects=agent.proxy)


async def find_opener(spec: str, cwd: Path, *, proxy: "ProxySession | None" = None, port: int = 0) -> Opener:
    spec = spec.strip()
    if spec.startswith(("ws://", "wss://")):
        return SocketAgent(spec)
    known = known_agents().get(spec)
    if known is not None:
        return await _known_opener(known, cwd, proxy=proxy, port=port)
    argv = shlex.split(spec)
    if not argv:
        raise UsageError("Which agent?", hint="weft agents lists those that Weft knows.")
    from weft.connect.discovery import find

    found = await find(argv[0])
    if found is None:
        raise UsageError(
            f"There is no agent {spec!r}: it is neither a name that Weft knows nor a command.",
            hint="weft agents lists what is on this machine.",
        )
    return ChildAgent((*found.argv, *argv[1:]), cwd=cwd)


async def _known_opener(agent: KnownAgent, cwd: Path, *, proxy: "ProxySession | None", port: int) -> Opener:
    from weft.connect.discovery import find

    found = await find(agent.command)
    if found is None:
        raise AgentMissing(f"{agent.title} is not on this machine", hint=agent.install or None)
    if agent.acp is not None:
        return ChildAgent((*found.argv, *agent.acp), cwd=cwd, env=agent.env, proxy=proxy)
    if agent.port is not None:
        return PortAgent(agent, cwd, proxy=proxy, port=port)
    raise UsageError(f"{agent.title} speaks no ACP.", hint="Its ACP adapter is another entry of weft agents.")
