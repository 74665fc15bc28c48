"""The conversation as the model will see it, and its way into the log.

Valid by construction: messages are added only by the methods below, replies before the results that answer them,
and a reply with tool uses is always followed by one message that answers every one of them.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema.content import AnyBlock, Content, Json, ToolResult
from weft.schema.events import AgentEvent, PromptAdded
from weft.schema.ids import new_id
from weft.schema.messages import Message, Reply
from weft.schema.records import AssistantRecord, MarkRecord, Origin, Record, SystemRecord, UserRecord
from weft.sessions.port import SessionLog


def timestamp() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Addition(msgspec.Struct, frozen=True):
    """A user message that joins the history: a person's (with the id of its record), or a note of our own."""

    content: Content
    id: str | None = None
    synthetic: bool = False


class Scribe:
    """Writes records to a session's log and keeps the chain: each record's parent is the one before it."""

    def __init__(
        self,
        log: SessionLog | None,
        *,
        session_id: str,
        cwd: Callable[[], Path],
        version: str,
        branch: Callable[[], str] = lambda: "",
        tip: str | None = None,
        agent_id: str | None = None,
        mirror: Callable[[Record], None] | None = None,
    ) -> None:
        self._log = log
        self._session_id = session_id
        self._cwd = cwd
        self._version = version
        self._branch = branch
        self._agent_id = agent_id
        self._mirror = mirror
        self.tip = tip

    @property
    def where(self) -> str:
        """The log's file; empty when nothing is kept."""
        return str(self._log.path) if self._log is not None and self._log.path is not None else ""

    def origin(self, *, record_id: str | None = None, parent: str | None = None) -> Origin:
        """A place at the end of the chain, or after `parent`; the chain goes on from there."""
        origin = Origin(
            uuid=record_id or new_id(),
            parent_uuid=parent or self.tip,
            session_id=self._session_id,
            timestamp=timestamp(),
            cwd=str(self._cwd()),
            version=self._version,
            git_branch=self._branch(),
            is_sidechain=self._agent_id is not None,
            agent_id=self._agent_id,
        )
        self.tip = origin.uuid
        return origin

    def write(self, record: Record) -> None:
        if self._log is not None:
            self._log.append(record)
        if self._mirror is not None:
            self._mirror(record)

    def mark(self, kind: str, data: Json) -> None:
        self.write(MarkRecord(kind=kind, session_id=self._session_id, data=data))

    def system(self, subtype: str, content: str, data: Json | None = None) -> str:
        origin = self.origin()
        self.write(SystemRecord(origin=origin, subtype=subtype, content=content, data=data or {}))
        return origin.uuid

    def sync(self) -> None:
        if self._log is not None:
            self._log.sync()


class History:
    """The messages so far. Every user message that is not a tool result is told as `PromptAdded`."""

    def __init__(
        self,
        scribe: Scribe,
        messages: Sequence[Message] = (),
        *,
        emit: Callable[[AgentEvent], None] = lambda _event: None,
        parent: str | None = None,
    ) -> None:
        self.scribe = scribe
        self.messages: list[Message] = list(messages)
        self._emit = emit
        self._parent = parent
        self._use_records: dict[str, str] = {}

    def add_prompt(
        self,
        content: Content,
        *,
        record_id: str | None = None,
        synthetic: bool = False,
        mode: str | None = None,
        before: Content = (),
        unsent: bool = False,
    ) -> str:
        """A user message that is not a tool result; returns the id of its record. `before` is what the model is told
        in front of it, and no surface shows; an `unsent` one is for people only."""
        if before:
            told = UserRecord(origin=self.scribe.origin(), message=Message("user", before), meta=True)
            self.scribe.write(told)
        origin = self.scribe.origin(record_id=record_id)
        message = Message("user", content)
        if not unsent:
            self._append_user(before + content)
        self.scribe.write(
            UserRecord(origin=origin, message=message, meta=synthetic, permission_mode=mode, transcript_only=unsent)
        )
        self._emit(PromptAdded(id=origin.uuid, content=content, synthetic=synthetic, parent=self._parent))
        return origin.uuid

    def add(self, addition: Addition) -> str:
        return self.add_prompt(addition.content, record_id=addition.id, synthetic=addition.synthetic)

    def _append_user(self, content: Content) -> None:
        """Roles alternate on the wire: a user message after another joins it."""
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "user":
            self.messages[-1] = Message("user", last.content + content)
        else:
            self.messages.append(Message("user", content))

    def add_reply(self, reply: Reply, *, cost: float | None = None, duration: float | None = None) -> str:
        """A complete reply, a record for each of its blocks; returns the id of the last record."""
        if reply.content:
            self.messages.append(reply.message)
        last = ""
        for block in reply.content:
            origin = self.scribe.origin()
            last = origin.uuid
            if use_id := getattr(block, "id", None):
                self._use_records[str(use_id)] = origin.uuid
            part = _only(reply, block)
            self.scribe.write(
                AssistantRecord(origin=origin, reply=part, cost=cost, duration=duration, request_id=reply.request_id)
            )
        return last

    def note_error(self, reply: Reply, kind: ProviderErrorKind) -> str:
        """A reply that Weft wrote to tell of a failure: in the log, never sent to a model."""
        origin = self.scribe.origin()
        self.scribe.write(AssistantRecord(origin=origin, reply=reply, error=kind))
        return origin.uuid

    def log_result(self, result: ToolResult, data: object) -> None:
        """The record of one tool result, as soon as the tool has ended."""
        parent = self._use_records.pop(result.tool_use_id, None)
        origin = self.scribe.origin(parent=parent)
        self.scribe.write(
            UserRecord(
                origin=origin,
                message=Message("user", (result,)),
                tool_use_result=data,
                source_assistant=parent,
            )
        )

    def add_results(self, results: Sequence[ToolResult], logged: set[str]) -> None:
        """One message that answers every tool use of the last reply; what is not in the log yet goes there."""
        for result in results:
            if result.tool_use_id not in logged:
                self.log_result(result, None)
        self.messages.append(Message("user", tuple(results)))

    def replace(self, messages: Sequence[Message]) -> None:
        """After a compaction: a new beginning. The log keeps everything; its boundary is a record."""
        self.messages = list(messages)


def _only(reply: Reply, block: AnyBlock) -> Reply:
    return Reply(
        id=reply.id,
        model=reply.model,
        content=(block,),
        stop_reason=reply.stop_reason,
        stop_sequence=reply.stop_sequence,
        usage=reply.usage,
        request_id=reply.request_id,
    )
