"""What comes out of an agent: `AgentEvent`, a closed union of five families.

Every surface is a map of these. Events carry ids and data, never futures, classes or callbacks.
An event that belongs to a subagent has `parent`: the id of the tool use that started it.

    turn       SessionStarted SessionChanged TurnStarted TurnEnded PromptAdded QueueChanged
    message    Streamed BlockDone MessageDone
    tool       ToolCalled ToolProgressed ToolEnded
    ask        PermissionAsked QuestionAsked PlanProposed InputRequested AskWithdrawn
    state      TodosChanged UsageChanged Retrying Compacted Notice TaskChanged Reported
"""

from typing import Literal, TypeAlias

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.agents import AgentInfo
from weft.schema.content import AnyBlock, Content, Json, ToolResult, ToolUse
from weft.schema.display import DiffView, Display, Todo
from weft.schema.messages import Reply, ThinkingConfig, Totals, Usage
from weft.schema.stream import StreamEvent

Mode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "smart"]
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "smart")


class Event(msgspec.Struct, frozen=True, tag_field="event", omit_defaults=True, kw_only=True):
    """The base of all events; the tag on a wire of ours is the class name."""


# --- turn ---------------------------------------------------------------------------------------------------


class CommandInfo(msgspec.Struct, frozen=True):
    """A slash command that a person may type, for completion."""

    name: str
    description: str = ""
    argument_hint: str = ""
    source: str = "builtin"
    aliases: tuple[str, ...] = ()


class ModelInfo(msgspec.Struct, frozen=True):
    """A model that a person may choose."""

    id: str
    name: str = ""
    description: str = ""
    context_window: int | None = None
    aliases: tuple[str, ...] = ()


class ServerInfo(msgspec.Struct, frozen=True):
    """An MCP server as surfaces show it; `state` is one of seed 002's state machine."""

    name: str
    state: Literal["disconnected", "connecting", "initializing", "ready", "closing", "failed", "disabled", "needs_auth"]
    scope: str = ""
    error: str | None = None
    tools: tuple[str, ...] = ()
    transport: str = ""
    version: str = ""


class SessionInfo(msgspec.Struct, frozen=True):
    """What a session is and offers, whole: surfaces keep the latest."""

    session_id: str
    cwd: str
    model: str
    mode: Mode = "default"
    thinking: ThinkingConfig = ThinkingConfig()
    title: str = ""
    directories: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    commands: tuple[CommandInfo, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    models: tuple[ModelInfo, ...] = ()
    servers: tuple[ServerInfo, ...] = ()
    modes: tuple[Mode, ...] = MODES
    agent_name: str = "weft"
    agent_version: str = ""
    key_source: str = "none"
    main_agent: str = ""
    """The definition that the whole session works by; empty for Weft itself."""
    staff: tuple[AgentInfo, ...] = ()
    """The agents of `agents` that a person may ask for, with more about each."""


class SessionStarted(Event, frozen=True, tag=True):
    """First of all events, exactly once, before any turn. After a resume, `resumed` is true. A caller that asked for
    a `brief` start gets an `info` without the lists of what the session offers."""

    info: SessionInfo
    resumed: bool = False


class SessionChanged(Event, frozen=True, tag=True):
    """Any time: mode, model, thinking, title, tools, commands or servers changed. `info` is whole again."""

    info: SessionInfo
    reason: str = ""


class TurnStarted(Event, frozen=True, tag=True):
    """A turn is `TurnStarted`, steps, `TurnEnded`: always both, never nested. `prompt_ids` are what it answers."""

    turn_id: str
    prompt_ids: tuple[str, ...] = ()
    origin: str = "human"


TurnReason: TypeAlias = Literal[
    "completed",
    "cancelled",
    "max_turns",
    "budget",
    "error",
    "prompt_too_long",
    "refused",
    "hook_stopped",
    "structured_output_failed",
    "local_command",
    "loop",
    "tool_deferred",
]


GOOD_ENDS: tuple[TurnReason, ...] = ("completed", "local_command", "hook_stopped", "refused", "tool_deferred")
"""A turn that ended so did not fail."""


class Denial(msgspec.Struct, frozen=True):
    """A tool call that was refused in this turn."""

    tool_name: str
    tool_use_id: str
    tool_input: Json
    reason: str = ""


class TurnEnded(Event, frozen=True, tag=True):
    """Last event of a turn, on every path out of it. It also closes every open tool and question.

    `text` is the final answer; `error` a sentence when `reason` is not a good end. `steps` counts model
    requests. `usage` and `cost` are of this turn; `models` and `total_cost` of the whole session.
    """

    turn_id: str
    reason: TurnReason
    text: str = ""
    error: str | None = None
    error_kind: ProviderErrorKind | None = None
    error_status: int | None = None
    stop_reason: str | None = None
    steps: int = 0
    user_messages: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    total_cost: float = 0.0
    models: dict[str, "ModelUsage"] = {}
    totals: Totals = Totals()
    duration: float = 0.0
    api_duration: float = 0.0
    first_token: float | None = None
    denials: tuple[Denial, ...] = ()
    structured: object = None
    has_structured: bool = False
    interrupted: Literal["streaming", "tools"] | None = None
    deferred: ToolUse | None = None
    """The call that a hook put off: it has not run, and the turn ended with it."""


class ModelUsage(msgspec.Struct, frozen=True):
    """The session's tokens and dollars on one model. `cost_known` is False for a model without a price."""

    usage: Usage = Usage()
    cost: float = 0.0
    cost_known: bool = True
    context_window: int = 0
    max_output: int = 0


class PromptAdded(Event, frozen=True, tag=True):
    """A user message that is not a tool result joined the history: a prompt taken from the queue, a folded
    steering message, a note that Weft wrote itself (`synthetic`), or history shown again (`replay`)."""

    id: str
    content: Content
    synthetic: bool = False
    replay: bool = False
    parent: str | None = None


class QueuedPrompt(msgspec.Struct, frozen=True):
    id: str
    text: str


class QueueChanged(Event, frozen=True, tag=True):
    """Any time: the prompts that wait for their turn, in order."""

    prompts: tuple[QueuedPrompt, ...] = ()


# --- message ------------------------------------------------------------------------------------------------


class Streamed(Event, frozen=True, tag=True):
    """A delta of the message that is being written, between `TurnStarted` and its `MessageDone`.

    `delta` is never a terminal stream event. These are the only events that a full channel may merge.
    """

    message_id: str
    delta: StreamEvent
    parent: str | None = None


class BlockDone(Event, frozen=True, tag=True):
    """A content block is complete, before its `BlockStop` is streamed. Once per block, in order."""

    message_id: str
    index: int
    block: AnyBlock
    model: str = ""
    usage: Usage = Usage()
    parent: str | None = None


class MessageDone(Event, frozen=True, tag=True):
    """An assistant message is complete and in the history. `error` marks one that Weft wrote to tell of a failure,
    `aborted` one that a cancel cut short, `replay` one that is shown again after a resume."""

    reply: Reply
    error: ProviderErrorKind | None = None
    error_status: int | None = None
    aborted: bool = False
    replay: bool = False
    uuid: str = ""
    parent: str | None = None


# --- tool ---------------------------------------------------------------------------------------------------

ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]


class ToolCalled(Event, frozen=True, tag=True):
    """The model asked for a tool and its input is whole. Twice at most for one id: `pending`, then `running`."""

    use: ToolUse
    state: Literal["pending", "running"] = "pending"
    title: str = ""
    kind: ToolKind = "other"
    locations: tuple[str, ...] = ()
    parent: str | None = None
    replay: bool = False


class ToolProgressed(Event, frozen=True, tag=True):
    """While a tool runs: more `output`, or `message` (what it is doing), or `fraction` done."""

    tool_use_id: str
    output: str = ""
    message: str = ""
    fraction: float | None = None
    parent: str | None = None


class ToolEnded(Event, frozen=True, tag=True):
    """Exactly one for each `ToolCalled` id. `result` is what the model reads, `display` what a person sees,
    `data` the structured form for programs. `outcome` tells a refusal from a failure."""

    tool_use_id: str
    name: str
    result: ToolResult
    outcome: Literal["ok", "error", "denied", "cancelled"] = "ok"
    display: tuple[Display, ...] = ()
    data: object = None
    edits: tuple[DiffView, ...] = ()
    duration: float = 0.0
    decision_source: str = ""
    parent: str | None = None
    replay: bool = False


# --- ask ----------------------------------------------------------------------------------------------------


class RuleSuggestion(msgspec.Struct, frozen=True):
    """The exact rule that "always" would write, and where: `session`, `local`, `project` or `user`."""

    rule: str
    destination: Literal["session", "local", "project", "user"]
    behavior: Literal["allow", "deny", "ask"] = "allow"


class PermissionAsked(Event, frozen=True, tag=True):
    """A tool waits for a person. Answered by `PermissionAnswered` with the same id, or withdrawn."""

    request_id: str
    use: ToolUse
    title: str = ""
    reason: str = ""
    reason_kind: str = ""
    suggestions: tuple[RuleSuggestion, ...] = ()
    preview: tuple[Display, ...] = ()
    kind: ToolKind = "other"
    blocked_path: str | None = None
    parent: str | None = None


class QuestionOption(msgspec.Struct, frozen=True):
    label: str
    description: str = ""
    preview: str = ""


class Question(msgspec.Struct, frozen=True):
    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    free_text: bool = True


class QuestionAsked(Event, frozen=True, tag=True):
    """The model asks the person. Answered by `QuestionAnswered`."""

    request_id: str
    tool_use_id: str
    questions: tuple[Question, ...]
    parent: str | None = None


class PlanProposed(Event, frozen=True, tag=True):
    """Plan mode: the plan waits for approval. Answered by `PlanAnswered`."""

    request_id: str
    tool_use_id: str
    plan: str
    parent: str | None = None


class InputRequested(Event, frozen=True, tag=True):
    """An MCP server asks the person: a form (`schema`) or a visit to `url`. Answered by `InputGiven`."""

    request_id: str
    server: str
    message: str
    schema: Json | None = None
    url: str | None = None
    tool_use_id: str | None = None


class AskWithdrawn(Event, frozen=True, tag=True):
    """The request is over without this surface's answer: answered elsewhere, cancelled, or its turn ended.
    `completed`: the visit that was asked for has been made, which may be told after the answer."""

    request_id: str
    reason: Literal["answered", "cancelled", "timeout", "completed"] = "cancelled"


# --- state --------------------------------------------------------------------------------------------------


class TodosChanged(Event, frozen=True, tag=True):
    """The whole list, after each change."""

    todos: tuple[Todo, ...]
    parent: str | None = None


class UsageChanged(Event, frozen=True, tag=True):
    """After each reply: the session's totals, and how full the window is."""

    context_tokens: int = 0
    context_window: int = 0
    total_cost: float = 0.0
    usage: Usage = Usage()
    models: dict[str, ModelUsage] = {}
    totals: Totals = Totals()


class Retrying(Event, frozen=True, tag=True):
    """A request to the model failed and is made again after `delay` seconds, on `fallback` when that is set."""

    attempt: int
    max_retries: int
    delay: float
    error: ProviderErrorKind
    message: str = ""
    status: int | None = None
    fallback: str | None = None
    model: str = ""


class Compacted(Event, frozen=True, tag=True):
    """`started`, then `done` or `failed`. After `done` the history is the summary and what was kept."""

    state: Literal["started", "done", "failed"]
    trigger: Literal["auto", "manual"] = "auto"
    before: int = 0
    after: int = 0
    summary: str = ""
    message: str = ""
    duration: float = 0.0
    uuid: str = ""


class Notice(Event, frozen=True, tag=True):
    """A sentence for the person; never sent to the model. `tag` names its kind for programs, `data` is for them;
    `display` says the same as `text` for surfaces that can show more."""

    text: str
    level: Literal["info", "notice", "warning", "error"] = "info"
    tag: str = ""
    display: tuple[Display, ...] = ()
    data: object = None


class TaskInfo(msgspec.Struct, frozen=True):
    """A background command or a subagent."""

    id: str
    kind: Literal["shell", "agent", "mcp"]
    description: str
    state: Literal["running", "completed", "failed", "stopped"] = "running"
    tool_use_id: str = ""
    background: bool = False
    agent: str = ""
    prompt: str = ""
    output_file: str = ""
    summary: str = ""
    usage: Usage = Usage()
    tool_uses: int = 0
    last_tool: str = ""
    duration: float = 0.0
    cost: float = 0.0
    color: str = ""
    """Of the agent, as its definition wants it shown."""


class TaskChanged(Event, frozen=True, tag=True):
    """A task started, made progress or ended. The last one of a task has a state other than `running`."""

    task: TaskInfo


class HookRan(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, kw_only=True):
    """A hook began or ended; `outcome` is empty at the start."""

    hook_id: str
    name: str
    hook_event: str
    outcome: Literal["", "ok", "blocked", "error", "timeout"] = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None


class Completion(msgspec.Struct, frozen=True):
    """`insert` replaces what was typed from the place that `Completed` names. `more` says that it is a beginning."""

    label: str
    insert: str
    detail: str = ""
    more: bool = False


class Completed(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, kw_only=True):
    """Answers `Complete`, once. `start` is where the completed part begins in its text."""

    id: str
    start: int = 0
    items: tuple[Completion, ...] = ()


class Reported(Event, frozen=True, tag=True):
    """Something beside the conversation, at any time: a surface that has no place for it passes over it."""

    report: HookRan | Completed


TurnEvent: TypeAlias = SessionStarted | SessionChanged | TurnStarted | TurnEnded | PromptAdded | QueueChanged
MessageEvent: TypeAlias = Streamed | BlockDone | MessageDone
ToolEvent: TypeAlias = ToolCalled | ToolProgressed | ToolEnded
AskEvent: TypeAlias = PermissionAsked | QuestionAsked | PlanProposed | InputRequested | AskWithdrawn
StateEvent: TypeAlias = TodosChanged | UsageChanged | Retrying | Compacted | Notice | TaskChanged | Reported
AgentEvent: TypeAlias = TurnEvent | MessageEvent | ToolEvent | AskEvent | StateEvent
