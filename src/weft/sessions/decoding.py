"""Lines of a session file become records. Imported when a session is first read: a new one only writes."""

from typing import Final, TypeAlias, cast, get_args

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema import wire
from weft.schema.content import Content, Image, Json, Text, Thinking, ToolResult, ToolUse, Unknown
from weft.schema.messages import Message, Reply, Usage
from weft.schema.records import (
    AssistantRecord,
    AttachmentRecord,
    MarkRecord,
    Origin,
    ProgressRecord,
    Record,
    SystemRecord,
    UserRecord,
)
from weft.sessions.codec import MARKS, ORIGIN_FIELDS

_ERRORS: Final = frozenset(get_args(ProviderErrorKind))


class _ServerTools(msgspec.Struct):
    web_search_requests: int | None = 0


class _WireUsage(msgspec.Struct):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    thinking_tokens: int | None = 0
    server_tool_use: _ServerTools | None = None

    def to_usage(self) -> Usage:
        searches = self.server_tool_use.web_search_requests if self.server_tool_use else 0
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
            self.thinking_tokens or 0,
            searches or 0,
        )


class _WireResult(msgspec.Struct, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: str | list[Text | Image] | None = None
    is_error: bool | None = None


_Usual: TypeAlias = Text | Thinking | ToolUse | Image | _WireResult


class _UsualMessage(msgspec.Struct):
    """Nearly every message: only blocks that we know, so that one pass over the line is enough."""

    content: str | tuple[_Usual, ...]
    id: str = ""
    model: str = ""
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: _WireUsage | None = None
    diagnostics: Json | None = None

    def blocks(self) -> Content:
        if isinstance(self.content, str):
            return (Text(self.content),) if self.content else ()
        if _WireResult in [type(block) for block in self.content]:
            return tuple([_to_result(block) if isinstance(block, _WireResult) else block for block in self.content])
        return cast(Content, self.content)


def _to_result(block: _WireResult) -> ToolResult:
    content = block.content if isinstance(block.content, str) else tuple(block.content or ())
    return ToolResult(block.tool_use_id, content or ("" if block.content is None else content), bool(block.is_error))


class _WireMessage(msgspec.Struct):
    """A message with anything in it."""

    content: msgspec.Raw
    id: str = ""
    model: str = ""
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: _WireUsage | None = None
    diagnostics: Json | None = None

    def blocks(self) -> Content:
        return wire.as_blocks(wire.decode_content(self.content))


class _Head(msgspec.Struct):
    type: str = ""


class _Line(msgspec.Struct, rename="camel"):
    """What all members of the chain have."""

    uuid: str
    parent_uuid: str | None = None
    session_id: str = ""
    timestamp: str = ""
    cwd: str = ""
    version: str = ""
    git_branch: str = ""
    is_sidechain: bool = False
    agent_id: str | None = None

    def origin(self) -> Origin:
        return Origin(
            uuid=self.uuid,
            parent_uuid=self.parent_uuid,
            session_id=self.session_id,
            timestamp=self.timestamp,
            cwd=self.cwd,
            version=self.version,
            git_branch=self.git_branch,
            is_sidechain=self.is_sidechain,
            agent_id=self.agent_id,
        )


class _UserBase(_Line, rename="camel", kw_only=True):
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    tool_use_result: object = None
    source_assistant: str | None = msgspec.field(default=None, name="sourceToolAssistantUUID")
    prompt_id: str | None = None
    permission_mode: str | None = None


class _UserLine(_UserBase, rename="camel", kw_only=True):
    message: _WireMessage


class _UsualUser(_UserBase, rename="camel", kw_only=True, tag_field="type", tag="user"):
    message: _UsualMessage


class _AssistantBase(_Line, rename="camel", kw_only=True):
    cost: float | None = msgspec.field(default=None, name="costUSD")
    duration_ms: float | None = None
    request_id: str | None = None
    error: str | None = None
    is_api_error_message: bool | None = None


class _AssistantLine(_AssistantBase, rename="camel", kw_only=True):
    message: _WireMessage


class _UsualAssistant(_AssistantBase, rename="camel", kw_only=True, tag_field="type", tag="assistant"):
    message: _UsualMessage


class _AttachmentLine(_Line, kw_only=True, rename="camel"):
    attachment: Json


class _ProgressLine(_Line, kw_only=True, rename="camel"):
    tool_use_id: str = msgspec.field(default="", name="toolUseID")
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    data: object = None


_head: Final = msgspec.json.Decoder(_Head)
_user: Final = msgspec.json.Decoder(_UserLine)
_usual: Final = msgspec.json.Decoder(_UsualUser | _UsualAssistant)
_assistant: Final = msgspec.json.Decoder(_AssistantLine)
_attachment: Final = msgspec.json.Decoder(_AttachmentLine)
_progress: Final = msgspec.json.Decoder(_ProgressLine)


def decode_line(line: bytes) -> Record:
    """One line, with its newline or without.

    Raises:
        msgspec.DecodeError: not a JSON object: torn, or not ours.
    """
    try:
        usual = _usual.decode(line)
    except msgspec.ValidationError:
        return _decode_other(line.removesuffix(b"\n"))
    return _to_user(usual) if isinstance(usual, _UsualUser) else _to_assistant(usual)


def _decode_other(line: bytes) -> Record:
    """A line of another kind, or of one that we know with something in it that we do not."""
    try:
        kind = _head.decode(line).type
    except msgspec.ValidationError:
        wire.decode_object(line)
        return Unknown(line)
    try:
        return _decode(kind, line)
    except (msgspec.ValidationError, _Strange):
        return Unknown(line)


class _Strange(Exception):
    """A line of a known kind that is not shaped like one."""


def _decode(kind: str, line: bytes) -> Record:
    match kind:
        case "user":
            return _to_user(_user.decode(line))
        case "assistant":
            return _to_assistant(_assistant.decode(line))
        case "attachment":
            found = _attachment.decode(line)
            return AttachmentRecord(origin=found.origin(), attachment=found.attachment)
        case "progress":
            step = _progress.decode(line)
            return ProgressRecord(
                origin=step.origin(),
                tool_use_id=step.tool_use_id,
                parent_tool_use_id=step.parent_tool_use_id,
                data=step.data,
            )
        case "system":
            return _to_system(line)
        case kind if kind in MARKS:
            fields = wire.decode_object(line)
            session_id = fields.pop("sessionId", "")
            del fields["type"]
            if not isinstance(session_id, str):
                raise _Strange
            return MarkRecord(kind=kind, session_id=session_id, data=fields)
        case _:
            wire.decode_object(line)
            return Unknown(line)


def _to_user(line: _UserLine | _UsualUser) -> UserRecord:
    return UserRecord(
        origin=line.origin(),
        message=Message("user", line.message.blocks()),
        meta=bool(line.is_meta),
        summary=bool(line.is_compact_summary),
        tool_use_result=line.tool_use_result,
        source_assistant=line.source_assistant,
        prompt_id=line.prompt_id,
        permission_mode=line.permission_mode,
        transcript_only=bool(line.is_visible_in_transcript_only),
    )


def _to_assistant(line: _AssistantLine | _UsualAssistant) -> AssistantRecord:
    message = line.message
    error: ProviderErrorKind | None = None
    if line.error is not None or line.is_api_error_message:
        error = cast(ProviderErrorKind, line.error) if line.error in _ERRORS else "unknown"
    reply = Reply(
        id=message.id,
        model=message.model,
        content=message.blocks(),
        stop_reason=message.stop_reason,
        stop_sequence=message.stop_sequence,
        usage=message.usage.to_usage() if message.usage else Usage(),
        request_id=line.request_id,
        diagnostics=message.diagnostics,
    )
    return AssistantRecord(
        origin=line.origin(),
        reply=reply,
        cost=line.cost,
        duration=None if line.duration_ms is None else line.duration_ms / 1000,
        request_id=line.request_id,
        error=error,
    )


def _to_system(line: bytes) -> SystemRecord:
    fields = wire.decode_object(line)
    head = msgspec.convert(fields, _Line)
    logical = fields.get("logicalParentUuid")
    subtype, content = fields.pop("subtype", ""), fields.pop("content", "")
    if not isinstance(subtype, str) or not isinstance(content, str) or not isinstance(logical, str | None):
        raise _Strange
    return SystemRecord(
        origin=head.origin(),
        subtype=subtype,
        content=content,
        data={key: value for key, value in fields.items() if key not in ORIGIN_FIELDS},
        logical_parent=logical,
    )
