"""Stream chunks: what a page is told of a conversation, as seed 001 §9 names it, and more.

seed 001   text thinking_start thinking_content thinking_end tool_start tool_output tool_end
           tool_confirmation user_question plan plan_approval error usage
ours       user_message turn_start turn_end message_end session queue input_request ask_closed
           retry compaction notice task
"""

from typing import Final, Literal, TypeAlias

import msgspec

from weft.schema import events as e
from weft.schema.content import Json
from weft.schema.display import Display, Todo
from weft.schema.messages import Usage

CONTEXT: Final = "<editor-context>"
"""The first words of a block that the page adds for the model and does not show to the person again."""


class Chunk(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True, kw_only=True):
    """The base of all chunks. `parent` is the tool call whose subagent it belongs to."""

    parent: str | None = None


class TextChunk(Chunk, frozen=True, tag="text"):
    """More text of the block `id`; with `whole`, all of it. On the way to a page: `html` are its finished pieces,
    each sent once, `tail` replaces the open piece at the end, and then `text` is added to that as it is."""

    id: str
    text: str = ""
    whole: bool = False
    html: tuple[str, ...] = ()
    tail: str | None = None
    done: bool = False
    replay: bool = False


class ThinkingStart(Chunk, frozen=True, tag="thinking_start"):
    id: str


class ThinkingContent(Chunk, frozen=True, tag="thinking_content"):
    id: str
    text: str
    whole: bool = False


class ThinkingEnd(Chunk, frozen=True, tag="thinking_end"):
    id: str
    seconds: float | None = None


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something to show, ready for the page: sanitised `html`, a diff as `data`, or an image's address."""

    kind: Literal["text", "diff", "table", "image", "exit", "links", "todos", "code", "app"]
    html: str = ""
    data: object = None


class ToolStart(Chunk, frozen=True, tag="tool_start"):
    """`state` goes `streaming` (its input is being written), `pending`, `running`."""

    id: str
    name: str
    title: str = ""
    kind: e.ToolKind = "other"
    state: Literal["streaming", "pending", "running"] = "pending"
    input: Json = {}
    locations: tuple[str, ...] = ()
    views: tuple[View, ...] = ()


class ToolOutput(Chunk, frozen=True, tag="tool_output"):
    id: str
    text: str = ""
    message: str = ""
    fraction: float | None = None


class ToolEnd(Chunk, frozen=True, tag="tool_end"):
    id: str
    name: str = ""
    status: Literal["completed", "error", "denied", "cancelled"] = "completed"
    text: str = ""
    duration: float = 0.0
    exit_code: int | None = None
    display: tuple[Display, ...] = ()
    views: tuple[View, ...] = ()


class ToolConfirmation(Chunk, frozen=True, tag="tool_confirmation"):
    """`hunks` tells that parts of the previewed diff can be refused."""

    request_id: str
    tool_id: str
    name: str
    input: Json
    title: str = ""
    kind: e.ToolKind = "other"
    reason: str = ""
    reason_kind: str = ""
    suggestions: tuple[e.RuleSuggestion, ...] = ()
    blocked_path: str | None = None
    preview: tuple[Display, ...] = ()
    views: tuple[View, ...] = ()
    hunks: bool = False


class UserQuestion(Chunk, frozen=True, tag="user_question"):
    request_id: str
    tool_id: str
    questions: tuple[e.Question, ...]


class Plan(Chunk, frozen=True, tag="plan"):
    """The todo list, whole."""

    entries: tuple[Todo, ...]


class PlanApproval(Chunk, frozen=True, tag="plan_approval"):
    request_id: str
    tool_id: str
    plan: str
    html: str = ""


class ErrorChunk(Chunk, frozen=True, tag="error"):
    message: str
    kind: str = ""
    hint: str = ""


class UsageChunk(Chunk, frozen=True, tag="usage"):
    context_tokens: int = 0
    context_window: int = 0
    total_cost: float = 0.0
    usage: Usage = Usage()
    models: dict[str, e.ModelUsage] = {}


class Picture(msgspec.Struct, frozen=True):
    media_type: str
    data: str


class UserMessage(Chunk, frozen=True, tag="user_message"):
    id: str
    text: str
    html: str = ""
    images: tuple[Picture, ...] = ()
    documents: tuple[str, ...] = ()
    synthetic: bool = False
    replay: bool = False


class TurnStart(Chunk, frozen=True, tag="turn_start"):
    id: str
    origin: str = "human"


class TurnEnd(Chunk, frozen=True, tag="turn_end"):
    id: str
    reason: str
    error: str | None = None
    duration: float = 0.0
    cost: float = 0.0
    total_cost: float = 0.0
    usage: Usage = Usage()
    steps: int = 0


class MessageEnd(Chunk, frozen=True, tag="message_end"):
    """An assistant message is complete: nothing is added to its blocks any more."""

    id: str
    model: str = ""
    aborted: bool = False


class Session(Chunk, frozen=True, tag="session"):
    info: e.SessionInfo
    reason: str = ""


class Queue(Chunk, frozen=True, tag="queue"):
    prompts: tuple[e.QueuedPrompt, ...] = ()


class InputRequest(Chunk, frozen=True, tag="input_request"):
    request_id: str
    server: str
    message: str
    schema: Json | None = None
    url: str | None = None
    tool_id: str | None = None


class AskClosed(Chunk, frozen=True, tag="ask_closed"):
    """The request is over. `answer` says how, in a word, when a page answered it."""

    request_id: str
    reason: str = "answered"
    answer: str = ""


class RetryChunk(Chunk, frozen=True, tag="retry"):
    """A request is made again. `discard` are the blocks whose text is void: it will be written anew."""

    attempt: int
    max_retries: int
    delay: float
    message: str = ""
    fallback: str | None = None
    discard: tuple[str, ...] = ()


class Compaction(Chunk, frozen=True, tag="compaction"):
    state: Literal["started", "done", "failed"]
    before: int = 0
    after: int = 0
    message: str = ""


class NoticeChunk(Chunk, frozen=True, tag="notice"):
    text: str
    level: Literal["info", "notice", "warning", "error"] = "info"


class TaskChunk(Chunk, frozen=True, tag="task"):
    task: e.TaskInfo


StreamChunk: TypeAlias = (
    TextChunk
    | ThinkingStart
    | ThinkingContent
    | ThinkingEnd
    | ToolStart
    | ToolOutput
    | ToolEnd
    | ToolConfirmation
    | UserQuestion
    | Plan
    | PlanApproval
    | ErrorChunk
    | UsageChunk
    | UserMessage
    | TurnStart
    | TurnEnd
    | MessageEnd
    | Session
    | Queue
    | InputRequest
    | AskClosed
    | RetryChunk
    | Compaction
    | NoticeChunk
    | TaskChunk
)
Ask: TypeAlias = ToolConfirmation | UserQuestion | PlanApproval | InputRequest
