"""Events and commands as JSON and back, for a pipe between two Wefts.

msgspec has no union of structs and `Unknown`, so what holds blocks is read in two steps: the struct with its blocks
raw, then the blocks.
"""

from typing import Final, Literal, TypeAlias

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema import commands as _commands
from weft.schema import events as _events
from weft.schema import stream as _stream
from weft.schema.commands import Command, Prompt
from weft.schema.content import AnyBlock, Json, ToolResult
from weft.schema.display import DiffView, Display
from weft.schema.events import AgentEvent, BlockDone, Event, MessageDone, PromptAdded, Streamed, ToolEnded
from weft.schema.messages import Reply, Usage
from weft.schema.stream import BlockStart, StreamEvent
from weft.schema.wire import decode_block, decode_content


class _BlockStart(msgspec.Struct, tag_field="type", tag="content_block_start"):
    index: int
    block: msgspec.Raw


_Delta: TypeAlias = (
    _stream.BlockDelta
    | _stream.BlockStop
    | _stream.MessageStart
    | _stream.MessageDelta
    | _stream.Ping
    | _stream.Retry
    | _BlockStart
)


class _Streamed(Event, frozen=True, tag="Streamed"):
    message_id: str
    delta: _Delta
    parent: str | None = None

    def whole(self) -> AgentEvent:
        delta: StreamEvent = (
            BlockStart(self.delta.index, decode_block(self.delta.block))
            if isinstance(self.delta, _BlockStart)
            else self.delta
        )
        return Streamed(message_id=self.message_id, delta=delta, parent=self.parent)


class _PromptAdded(Event, frozen=True, tag="PromptAdded"):
    id: str
    content: list[msgspec.Raw]
    synthetic: bool = False
    replay: bool = False
    parent: str | None = None

    def whole(self) -> AgentEvent:
        return PromptAdded(
            id=self.id,
            content=_blocks(self.content),
            synthetic=self.synthetic,
            replay=self.replay,
            parent=self.parent,
        )


class _BlockDone(Event, frozen=True, tag="BlockDone"):
    message_id: str
    index: int
    block: msgspec.Raw
    model: str = ""
    usage: Usage = Usage()
    parent: str | None = None

    def whole(self) -> AgentEvent:
        return BlockDone(
            message_id=self.message_id,
            index=self.index,
            block=decode_block(self.block),
            model=self.model,
            usage=self.usage,
            parent=self.parent,
        )


class _Reply(msgspec.Struct, frozen=True):
    id: str
    model: str
    content: list[msgspec.Raw]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage = Usage()
    request_id: str | None = None
    diagnostics: Json | None = None

    def whole(self) -> Reply:
        return Reply(
            id=self.id,
            model=self.model,
            content=_blocks(self.content),
            stop_reason=self.stop_reason,
            stop_sequence=self.stop_sequence,
            usage=self.usage,
            request_id=self.request_id,
            diagnostics=self.diagnostics,
        )


class _MessageDone(Event, frozen=True, tag="MessageDone"):
    reply: _Reply
    error: ProviderErrorKind | None = None
    error_status: int | None = None
    aborted: bool = False
    replay: bool = False
    uuid: str = ""
    parent: str | None = None

    def whole(self) -> AgentEvent:
        return MessageDone(
            reply=self.reply.whole(),
            error=self.error,
            error_status=self.error_status,
            aborted=self.aborted,
            replay=self.replay,
            uuid=self.uuid,
            parent=self.parent,
        )


class _ToolEnded(Event, frozen=True, tag="ToolEnded"):
    tool_use_id: str
    name: str
    result: msgspec.Raw
    outcome: Literal["ok", "error", "denied", "cancelled"] = "ok"
    display: tuple[Display, ...] = ()
    data: object = None
    edits: tuple[DiffView, ...] = ()
    duration: float = 0.0
    decision_source: str = ""
    parent: str | None = None
    replay: bool = False

    def whole(self) -> AgentEvent:
        result = decode_block(self.result)
        return ToolEnded(
            tool_use_id=self.tool_use_id,
            name=self.name,
            result=result if isinstance(result, ToolResult) else ToolResult(self.tool_use_id),
            outcome=self.outcome,
            display=self.display,
            data=self.data,
            edits=self.edits,
            duration=self.duration,
            decision_source=self.decision_source,
            parent=self.parent,
            replay=self.replay,
        )


_Shadow: TypeAlias = _Streamed | _PromptAdded | _BlockDone | _MessageDone | _ToolEnded
_Plain: TypeAlias = (
    _events.SessionStarted
    | _events.SessionChanged
    | _events.TurnStarted
    | _events.TurnEnded
    | _events.QueueChanged
    | _events.ToolCalled
    | _events.ToolProgressed
    | _events.AskEvent
    | _events.StateEvent
)
WireEvent: TypeAlias = _Shadow | _Plain
"""What a line is decoded to, before its blocks are."""


def whole_event(found: WireEvent) -> AgentEvent:
    return found.whole() if isinstance(found, _Shadow) else found


class _Prompt(_commands.BaseCommand, frozen=True, tag="Prompt"):
    content: msgspec.Raw
    id: str = ""
    steer: bool = True
    verbatim: bool = False
    synthetic: bool = False
    origin: str = "human"


WireCommand: TypeAlias = (
    _Prompt
    | _commands.DropPrompt
    | _commands.Cancel
    | _commands.Answer
    | _commands.SetMode
    | _commands.SetModel
    | _commands.SetThinking
    | _commands.SetTitle
    | _commands.Compact
    | _commands.Rewind
    | _commands.StopTask
    | _commands.ServerCommand
    | _commands.AppCall
    | _commands.Complete
)


def whole_command(found: WireCommand) -> Command:
    if not isinstance(found, _Prompt):
        return found
    return Prompt(
        decode_content(found.content),
        id=found.id,
        steer=found.steer,
        verbatim=found.verbatim,
        synthetic=found.synthetic,
        origin=found.origin,
    )


_event: Final = msgspec.json.Decoder(WireEvent)
_command: Final = msgspec.json.Decoder(WireCommand)


def decode_event(data: bytes) -> AgentEvent:
    """
    Raises:
        msgspec.DecodeError: not an event.
    """
    return whole_event(_event.decode(data))


def decode_command(data: bytes) -> Command:
    """
    Raises:
        msgspec.DecodeError: not a command.
    """
    return whole_command(_command.decode(data))


def _blocks(raw: list[msgspec.Raw]) -> tuple[AnyBlock, ...]:
    return tuple(decode_block(one) for one in raw)


__all__ = ["WireCommand", "WireEvent", "decode_command", "decode_event", "whole_command", "whole_event"]
