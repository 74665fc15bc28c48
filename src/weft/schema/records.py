"""The transcript record: a message as it is kept, with what only we need to know about it.

On disk these have the spelling of the sessions that Claude Code writes, so that either can resume the other's.
A line of a kind that we do not know stays `Unknown(raw)`.
"""

from typing import TypeAlias

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.content import Json, Unknown
from weft.schema.messages import Message, Reply


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record stands: its id, its parent in the chain, and the circumstances."""

    uuid: str
    parent_uuid: str | None = None
    session_id: str = ""
    timestamp: str = ""
    cwd: str = ""
    version: str = ""
    git_branch: str = ""
    is_sidechain: bool = False
    agent_id: str | None = None


class UserRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, or tool results. `meta` marks what Weft wrote itself; `summary` what compaction wrote."""

    origin: Origin
    message: Message
    meta: bool = False
    summary: bool = False
    tool_use_result: object = None
    source_assistant: str | None = None
    prompt_id: str | None = None
    permission_mode: str | None = None
    transcript_only: bool = False

    @property
    def sent(self) -> bool:
        """Whether models see it. Claude Code marks its summaries as for the transcript, and sends them all the same."""
        return self.summary or not self.transcript_only


class AssistantRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, or a part of one: on disk each block is a line of its own, with the same `reply.id`."""

    origin: Origin
    reply: Reply
    cost: float | None = None
    duration: float | None = None
    request_id: str | None = None
    error: ProviderErrorKind | None = None


class AttachmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Something put before the model that the person did not type: memory, a queued command, a plan reminder."""

    origin: Origin
    attachment: Json


class ProgressRecord(msgspec.Struct, frozen=True, kw_only=True):
    origin: Origin
    tool_use_id: str
    parent_tool_use_id: str | None = None
    data: object = None


class SystemRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`compact_boundary`, `local_command`, `informational`, `api_error`, `model_fallback`, …"""

    origin: Origin
    subtype: str
    content: str = ""
    data: Json = {}
    logical_parent: str | None = None


class MarkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line about the session, outside the chain: `custom-title`, `last-prompt`, `mode`, `cost-state`,
    `file-history-snapshot`, `tag`, … `data` has its fields as they are on disk."""

    kind: str
    session_id: str = ""
    data: Json = {}


ChainRecord: TypeAlias = UserRecord | AssistantRecord | AttachmentRecord | ProgressRecord | SystemRecord
Record: TypeAlias = ChainRecord | MarkRecord | Unknown


def to_message(record: Record) -> Message | None:
    """A record stripped to what a model is sent; None for what models never see."""
    match record:
        case UserRecord(message=message) if record.sent:
            return message
        case AssistantRecord(reply=reply, error=None):
            return reply.message
        case _:
            return None
