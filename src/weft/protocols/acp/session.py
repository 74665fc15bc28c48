"""Requests and answers of version 1: what goes from client to agent, and back."""

from typing import Final, TypeAlias

import msgspec

from weft.protocols.acp.content import McpServer, Wire
from weft.protocols.acp.updates import AnyUpdate, ConfigOption, ToolFields, Update
from weft.schema.content import Json

VERSION: Final = 1


class Implementation(Wire, frozen=True, kw_only=True):
    name: str
    version: str = msgspec.field(default="", name="version")
    title: str | None = None


class Marker(Wire, frozen=True, kw_only=True):
    """An object that says "yes" by being there."""


MARKER: Final = Marker()


class FileCapabilities(Wire, frozen=True, kw_only=True):
    read_text_file: bool = False
    write_text_file: bool = False


class ElicitationCapabilities(Wire, frozen=True, kw_only=True):
    """An empty object means neither."""

    form: Marker | None = None
    url: Marker | None = None


class ConfigCapabilities(Wire, frozen=True, kw_only=True):
    boolean: Marker | None = None


class ClientSessionCapabilities(Wire, frozen=True, kw_only=True):
    compaction: Marker | None = None
    config_options: ConfigCapabilities | None = None
    notices: Marker | None = None


class ClientAuth(Wire, frozen=True, kw_only=True):
    terminal: bool = False


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    fs: FileCapabilities = FileCapabilities()
    terminal: bool = False
    session: ClientSessionCapabilities | None = None
    auth: ClientAuth | None = None
    elicitation: ElicitationCapabilities | None = None


class Initialize(Wire, frozen=True, kw_only=True):
    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: Implementation | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    hooks: Json | None = None
    commands: object = None
    agents: object = None


class PromptCapabilities(Wire, frozen=True, kw_only=True):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Wire, frozen=True, kw_only=True):
    http: bool = False
    sse: bool = False


class SessionCapabilities(Wire, frozen=True, kw_only=True):
    list: Marker | None = None
    resume: Marker | None = None
    close: Marker | None = None
    delete: Marker | None = None
    fork: Marker | None = None
    additional_directories: Marker | None = None


class AgentAuth(Wire, frozen=True, kw_only=True):
    logout: Marker | None = None


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities | None = None
    auth: AgentAuth | None = None


class AuthMethod(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    type: str | None = None


class Initialized(Wire, frozen=True, kw_only=True, omit_defaults=True):
    protocol_version: int
    agent_capabilities: AgentCapabilities | None = None
    auth_methods: tuple[AuthMethod, ...] | None = None
    agent_info: Implementation | None = None
    is_authenticated: bool | None = None
    """iFlow only."""


class Authenticate(Wire, frozen=True, kw_only=True):
    method_id: str
    method_info: Json | None = None


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """iFlow only: the settings of a new session, in its own spelling."""

    permission_mode: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    allowed_tools: list[str] | None = None
    disallowed_tools: list[str] | None = None
    max_turns: int | None = None
    add_dirs: list[str] | None = None


class OpenSession(Wire, frozen=True, kw_only=True):
    """`session/new`, `load`, `resume` and `fork` in one: they differ in which fields they need."""

    cwd: str
    mcp_servers: tuple[McpServer, ...] | None = None
    session_id: str = ""
    additional_directories: tuple[str, ...] | None = None
    settings: SessionSettings | None = None
    hooks: Json | None = None
    commands: object = None
    agents: object = None


class SessionMode(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    description: str | None = None


class ModeState(Wire, frozen=True, kw_only=True):
    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class ModelState(Wire, frozen=True, kw_only=True):
    """No longer in the schema, and all that one agent has."""

    current_model_id: str = ""
    available_models: tuple[Json, ...] = ()


class SessionOpened(Wire, frozen=True, kw_only=True):
    session_id: str = ""
    modes: ModeState | None = None
    config_options: tuple[ConfigOption, ...] | None = None
    models: ModelState | None = None


class CompleteText(Wire, frozen=True, kw_only=True):
    """`_weft/complete`, our own: what could come next after `text`, a prompt up to the cursor."""

    session_id: str
    text: str


class SessionRef(Wire, frozen=True, kw_only=True):
    """`session/cancel`, `close` and `delete`."""

    session_id: str


class ListSessions(Wire, frozen=True, kw_only=True):
    cwd: str | None = None
    cursor: str | None = None


class SessionRow(Wire, frozen=True, kw_only=True):
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class SessionList(Wire, frozen=True, kw_only=True, omit_defaults=False):
    sessions: tuple[SessionRow, ...] = ()
    next_cursor: str | None = None


class PromptRequest(Wire, frozen=True, kw_only=True):
    session_id: str
    prompt: tuple[msgspec.Raw, ...]


class PromptAnswer(Wire, frozen=True, kw_only=True):
    stop_reason: str


class SetMode(Wire, frozen=True, kw_only=True):
    session_id: str
    mode_id: str


class SetConfig(Wire, frozen=True, kw_only=True):
    session_id: str
    config_id: str
    value: str | bool
    type: str | None = None


class SetThink(Wire, frozen=True, kw_only=True):
    """iFlow only."""

    session_id: str
    think_enabled: bool = False
    think_config: object = None


class CancelRequest(Wire, frozen=True, kw_only=True):
    request_id: int | str | None = None


class UpdateNote(Wire, frozen=True, kw_only=True):
    session_id: str
    update: msgspec.Raw


class UpdateOut(Wire, frozen=True, kw_only=True):
    session_id: str
    update: Update


class PermissionOption(Wire, frozen=True, kw_only=True):
    option_id: str
    name: str
    kind: str


class PermissionRequest(Wire, frozen=True, kw_only=True):
    session_id: str
    tool_call: ToolFields
    options: tuple[PermissionOption, ...]
    _meta: Json | None = None


class Outcome(Wire, frozen=True, kw_only=True):
    outcome: str = msgspec.field(name="outcome")
    option_id: str | None = None


class PermissionAnswer(Wire, frozen=True, kw_only=True):
    outcome: Outcome


class ReadFile(Wire, frozen=True, kw_only=True):
    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class FileText(Wire, frozen=True, kw_only=True, omit_defaults=False):
    content: str = ""


class WriteFile(Wire, frozen=True, kw_only=True):
    session_id: str
    path: str
    content: str


class EnvVariable(Wire, frozen=True, kw_only=True):
    name: str
    value: str


class CreateTerminal(Wire, frozen=True, kw_only=True):
    session_id: str
    command: str
    args: tuple[str, ...] | None = None
    env: object = None
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalRef(Wire, frozen=True, kw_only=True):
    session_id: str
    terminal_id: str


class ExitStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    exit_code: int | None = None
    signal: str | None = None


class TerminalOutput(Wire, frozen=True, kw_only=True):
    output: str
    truncated: bool
    exit_status: ExitStatus | None = None


class VisitOver(Wire, frozen=True, kw_only=True):
    """`elicitation/complete`: the person has been where an elicitation sent them."""

    elicitation_id: str


class Elicitation(Wire, frozen=True, kw_only=True):
    mode: str
    message: str
    session_id: str | None = None
    tool_call_id: str | None = None
    requested_schema: Json | None = None
    elicitation_id: str | None = None
    url: str | None = None


class ElicitationAnswer(Wire, frozen=True, kw_only=True):
    action: str
    content: Json | None = None


class QuestionsRequest(Wire, frozen=True, kw_only=True):
    """iFlow only: `_iflow/user/questions`."""

    session_id: str = ""
    questions: tuple[Json, ...] = ()


class PlanExit(Wire, frozen=True, kw_only=True):
    """iFlow only: `_iflow/plan/exit`."""

    session_id: str = ""
    plan: str = ""


SessionUpdate: TypeAlias = AnyUpdate
