"""What a person or a program chooses about a connection to an ACP agent, and what we tell agents that we can do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.protocols.acp import session as s
from weft.protocols.acp.content import McpServer
from weft.protocols.acp.frames import METHOD_NOT_FOUND, RpcError
from weft.schema.events import Mode

if TYPE_CHECKING:
    from weft.proxy.session import ProxySession

CAPABILITIES = s.ClientCapabilities(
    fs=s.FileCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    session=s.ClientSessionCapabilities(
        compaction=s.MARKER, config_options=s.ConfigCapabilities(boolean=s.MARKER), notices=s.MARKER
    ),
    elicitation=s.ElicitationCapabilities(form=s.MARKER, url=s.MARKER),
)


class AcpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`session_id` loads a session; `fresh` alone opens a new one. `auth_method` is used when the agent wants one."""

    cwd: Path
    session_id: str = ""
    directories: tuple[Path, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    mode: Mode | None = None
    model: str | None = None
    auth_method: str | None = None
    host_files: bool = True
    """Offer our file system and terminals to the agent."""
    start_limit: float = 60.0
    proxy: "ProxySession | None" = None
    """Entered before the agent is started and left after it: where the agent asks models."""

    @property
    def shelter(self) -> Callable[[Mapping[str, str]], Mapping[str, str]] | None:
        """Takes the person's keys out of variables, where there is a proxy."""
        return self.proxy.env if self.proxy is not None else None


def extra_directories(agent: s.Initialized, options: AcpOptions) -> tuple[str, ...] | None:
    """Further folders, for agents that take them."""
    capabilities = agent.agent_capabilities
    sessions = capabilities.session_capabilities if capabilities else None
    if not options.directories or sessions is None or sessions.additional_directories is None:
        return None
    return tuple(str(folder) for folder in options.directories)


def load_method(agent: s.Initialized) -> str:
    """
    Raises:
        RpcError: this agent cannot go on with a session.
    """
    capabilities = agent.agent_capabilities
    if capabilities and capabilities.load_session:
        return "session/load"
    sessions = capabilities.session_capabilities if capabilities else None
    if sessions and sessions.resume is not None:
        return "session/resume"
    raise RpcError(METHOD_NOT_FOUND, "this agent cannot load a session")
