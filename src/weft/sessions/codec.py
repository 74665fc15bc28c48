"""Records to lines of a session file and back, in the spelling of the sessions that Claude Code writes.

A line is one compact JSON object. A reply of several blocks is several lines with the same `message.id`; the last
of them has the record's own uuid, so that the next record's parent is the whole reply. A line of a kind or shape
that we do not know is `Unknown(raw)`; bytes that are not a JSON object raise, and the store leaves them out.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from weft.schema import wire
from weft.schema.content import Content, Json, Text, Unknown
from weft.schema.ids import following_id
from weft.schema.messages import Usage
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

MARKS: Final = frozenset(
    {
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "content-replacement",
        "cost-state",
        "custom-title",
        "participant-turn",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "queue-operation",
        "rewind",
        "summary",
        "tag",
        "todos",
        "tools-used",
    }
)
ORIGIN_FIELDS: Final = frozenset(
    {
        "type",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "sessionId",
        "timestamp",
        "cwd",
        "version",
        "gitBranch",
        "isSidechain",
        "agentId",
        "userType",
        "entrypoint",
    }
)


def decode_line(line: bytes) -> Record:
    """One line, without its newline.

    Raises:
        msgspec.DecodeError: not a JSON object: torn, or not ours.
    """
    from weft.sessions.decoding import decode_line

    return decode_line(line)


def encode_record(record: Record) -> bytes:
    """The record's lines, each with its newline: to be written in one piece."""
    if isinstance(record, Unknown):
        return _one_line(record.raw) + b"\n"
    return b"".join(_one_line(wire.encode(fields)) + b"\n" for fields in _lines(record))


def _one_line(line: bytes) -> bytes:
    # A newline in JSON is white space, never part of a string; only an unknown block's own bytes can have one.
    return line.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in line or b"\r" in line else line


def _lines(record: Record) -> Iterable[Json]:
    match record:
        case UserRecord():
            return (_user_fields(record),)
        case AssistantRecord():
            return _assistant_lines(record)
        case AttachmentRecord(origin=origin, attachment=attachment):
            return (_chain("attachment", origin, {"attachment": attachment}),)
        case ProgressRecord():
            more: Json = {"toolUseID": record.tool_use_id}
            if record.parent_tool_use_id is not None:
                more["parentToolUseID"] = record.parent_tool_use_id
            return (_chain("progress", record.origin, {**more, "data": record.data}),)
        case SystemRecord():
            fields: Json = {"subtype": record.subtype, "content": record.content}
            if record.logical_parent is not None:
                fields["logicalParentUuid"] = record.logical_parent
            extra = {key: value for key, value in record.data.items() if key not in fields and key not in ORIGIN_FIELDS}
            return (_chain("system", record.origin, {**fields, **extra}),)
        case MarkRecord(kind=kind, session_id=session_id, data=data):
            rest = {key: value for key, value in data.items() if key not in ("type", "sessionId")}
            return ({"type": kind, **rest, **({"sessionId": session_id} if session_id else {})},)
        case Unknown():
            return ()


def _chain(kind: str, origin: Origin, more: Json) -> Json:
    fields: Json = {"parentUuid": origin.parent_uuid, "isSidechain": origin.is_sidechain}
    if origin.agent_id is not None:
        fields["agentId"] = origin.agent_id
    fields |= {"type": kind, **more, "uuid": origin.uuid, "timestamp": origin.timestamp}
    fields |= {"sessionId": origin.session_id, "cwd": origin.cwd, "version": origin.version}
    return {**fields, "gitBranch": origin.git_branch, "userType": "external", "entrypoint": "weft"}


def _user_fields(record: UserRecord) -> Json:
    more: Json = {"message": {"role": "user", "content": _content(record.message.content)}}
    if record.meta:
        more["isMeta"] = True
    if record.summary:
        more["isCompactSummary"] = True
    if record.transcript_only:
        more["isVisibleInTranscriptOnly"] = True
    optional = {
        "toolUseResult": record.tool_use_result,
        "sourceToolAssistantUUID": record.source_assistant,
        "promptId": record.prompt_id,
        "permissionMode": record.permission_mode,
    }
    more |= {name: value for name, value in optional.items() if value is not None}
    return _chain("user", record.origin, more)


def _content(content: Content) -> object:
    match content:
        case (Text(text=text, citations=None),) if text:
            return text
        case _:
            return content


def _assistant_lines(record: AssistantRecord) -> Iterable[Json]:
    blocks = record.reply.content
    parts: list[Content] = [(block,) for block in blocks] or [()]
    parent = record.origin.parent_uuid
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        uuid = record.origin.uuid if last else following_id(record.origin.uuid, index + 1)
        origin = msgspec.structs.replace(record.origin, uuid=uuid, parent_uuid=parent)
        yield _assistant_fields(record, origin, part, index)
        parent = uuid


def _assistant_fields(record: AssistantRecord, origin: Origin, part: Content, index: int) -> Json:
    reply = record.reply
    message: Json = {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": part,
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "usage": _usage(reply.usage),
    }
    if reply.diagnostics is not None:
        message["diagnostics"] = reply.diagnostics
    more: Json = {"message": message, "apiBlockIndex": index}
    optional: Json = {
        "requestId": record.request_id or reply.request_id,
        "costUSD": record.cost,
        "durationMs": None if record.duration is None else record.duration * 1000,
        "error": record.error,
        "isApiErrorMessage": True if record.error is not None else None,
    }
    more |= {name: value for name, value in optional.items() if value is not None}
    return _chain("assistant", origin, more)


def _usage(usage: Usage) -> Json:
    fields: Json = {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.thinking_tokens:
        fields["thinking_tokens"] = usage.thinking_tokens
    if usage.web_search_requests:
        fields["server_tool_use"] = {"web_search_requests": usage.web_search_requests}
    return fields
