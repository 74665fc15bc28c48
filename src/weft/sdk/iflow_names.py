"""The words of iFlow's SDK. Each member is equal to its text, which is what messages and options carry."""

from enum import IntEnum, StrEnum


class MessageType(StrEnum):
    PLAN = "plan"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    ERROR = "error"
    TASK_FINISH = "task_finish"


class ApprovalMode(StrEnum):
    DEFAULT = "default"
    AUTO_EDIT = "autoEdit"
    YOLO = "yolo"
    PLAN = "plan"


class PermissionMode(StrEnum):
    """`AUTO` allows the kinds of `auto_approve` without asking the program; `MANUAL` asks it about everything;
    `SELECTIVE` is `AUTO` with kinds of the program's own choice."""

    AUTO = "auto"
    MANUAL = "manual"
    SELECTIVE = "selective"


class StopReason(StrEnum):
    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"


class ToolCallStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class ToolCallConfirmationOutcome(StrEnum):
    ALLOW = "allow"
    ALWAYS_ALLOW = "alwaysAllow"
    ALWAYS_ALLOW_TOOL = "alwaysAllowTool"
    ALWAYS_ALLOW_MCP_SERVER = "alwaysAllowMcpServer"
    REJECT = "reject"


class ToolCallType(StrEnum):
    EDIT = "edit"
    EXECUTE = "execute"
    MCP = "mcp"
    FETCH = "fetch"
    OTHER = "other"


class PlanStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class PlanPriority(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class LogLevel(IntEnum):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


class HookEventType(StrEnum):
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"
    SET_UP_ENVIRONMENT = "SetUpEnvironment"
