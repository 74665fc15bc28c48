"""What goes to a model and what comes back: messages, replies, usage, requests."""

from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Content, Json, ToolUse, text_of

StopReason: TypeAlias = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
]


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one reply, or of many added up. Cache reads and writes are not part of `input_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    thinking_tokens: int = 0
    web_search_requests: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            *(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True))
        )

    @property
    def context(self) -> int:
        """Tokens that this request filled of the window, the reply included."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens + self.output_tokens


class Message(msgspec.Struct, frozen=True):
    """The API message: a role and content, nothing else."""

    role: Literal["user", "assistant"]
    content: Content

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def text(self) -> str:
        return text_of(self.content)


class Reply(msgspec.Struct, frozen=True):
    """One assistant message as a provider gave it, complete."""

    id: str
    model: str
    content: Content
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage = Usage()
    request_id: str | None = None
    diagnostics: Json | None = None

    @property
    def message(self) -> Message:
        return Message("assistant", self.content)

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return self.message.tool_uses

    @property
    def text(self) -> str:
        return text_of(self.content)


class SystemPart(msgspec.Struct, frozen=True):
    """A piece of the system prompt. `cache` marks the end of a stable prefix."""

    text: str
    cache: bool = False


class Totals(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a whole session has done so far, besides tokens and dollars. Durations are seconds; `files` how many it
    changed; `unknown_models` those whose price is not known, so that the dollars are too few."""

    lines_added: int = 0
    lines_removed: int = 0
    files: int = 0
    turns: int = 0
    commits: int = 0
    pull_requests: int = 0
    duration: float = 0.0
    api_duration: float = 0.0
    tool_duration: float = 0.0
    unknown_models: tuple[str, ...] = ()


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it. `server` is a provider-side tool's own definition, sent as it is."""

    name: str
    description: str
    input_schema: Json
    server: Json | None = None


class ThinkingConfig(msgspec.Struct, frozen=True):
    """`budget` tokens for extended thinking; `adaptive` leaves the amount to the model."""

    kind: Literal["disabled", "enabled", "adaptive"] = "disabled"
    budget: int | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    display: str | None = None


class Request(msgspec.Struct, frozen=True):
    """One step's question to a model. `model` is a resolved id, never an alias."""

    model: str
    messages: tuple[Message, ...]
    system: tuple[SystemPart, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 32_000
    thinking: ThinkingConfig = ThinkingConfig()
    tool_choice: Json | None = None
    stop_sequences: tuple[str, ...] = ()
    temperature: float | None = None
    output_schema: Json | None = None
    betas: tuple[str, ...] = ()
    metadata: Json | None = None
    task_budget: int | None = None
    """Tokens that the model shall plan its whole work with, where the provider knows of it."""
