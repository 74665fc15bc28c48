"""What the host needs from whoever runs it: where it is, and how to ask a person or a model."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from weft.schema.content import AnyBlock, Json
from weft.schema.messages import Message, ToolSpec

CHANGE_KINDS = ("state", "tools", "prompts", "resources", "changes", "log")
ChangeKind = Literal["state", "tools", "prompts", "resources", "changes", "log"]


class InputAnswer(msgspec.Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


class AskInput(Protocol):
    """Asks the person for a server: a form (`schema`), a visit to `url`, or plain consent (neither). `visit` names the
    visit, for `HostOptions.on_visited`."""

    async def __call__(
        self, server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
    ) -> InputAnswer: ...


class SampleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A server asks for a model's answer. It has no other context than its own messages."""

    server: str
    messages: tuple[Message, ...]
    system: str = ""
    max_tokens: int = 1024
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Json | None = None


class SampleReply(msgspec.Struct, frozen=True):
    model: str
    content: tuple[AnyBlock, ...]
    stop_reason: str = "endTurn"


Sample = Callable[[SampleRequest], Awaitable[SampleReply]]


class LogLine(msgspec.Struct, frozen=True):
    """`stderr`, or a level of the server's own log."""

    server: str
    level: str
    text: str


def _nothing(kind: ChangeKind, server: str) -> None:
    return None


def _no_updates(server: str, uri: str) -> None:
    return None


class HostOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`ask_input` of None means that nobody can be asked: elicitation is not offered to servers, consent is denied.
    `sample` of None means that servers get no model. `start_delay` lets the first request to the model go out
    before anything heavy is loaded; `Host.begin` ends the wait early."""

    cwd: Path
    home: Path
    env: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))
    roots: Callable[[], tuple[Path, ...]] | None = None
    ask_input: AskInput | None = None
    sample: Sample | None = None
    on_change: Callable[[ChangeKind, str], None] = _nothing
    on_resource: Callable[[str, str], None] = _no_updates
    on_visited: Callable[[str, str], None] = _no_updates
    """Told (server, visit) when a visit that the person was asked to make has been made."""
    ask_approval: bool = False
    """Whether servers that wait for approval are asked about when the session starts."""
    apps: bool = False
    """Whether the surface can show MCP Apps."""
    start_delay: float = 0.25
    start_timeout: float = 30.0
    call_timeout: float | None = None
    sample_max_tokens: int = 4096
    sample_max_calls: int = 20
    local_batch: int = 3
    remote_batch: int = 20
    reconnects: int = 5
    backoff: float = 1.0
    protocol: str = "auto"
