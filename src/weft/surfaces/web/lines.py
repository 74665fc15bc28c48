"""What is kept of a conversation with another agent, a line for each event: enough to show it again.

Deltas, questions and progress are not kept; what they came to is.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from weft.errors import ProviderErrorKind
from weft.schema import events as e
from weft.schema.content import ToolResult
from weft.schema.display import DiffView, Display
from weft.schema.messages import Reply, Usage
from weft.schema.wire import as_blocks, block_from, content_from, decode_object, encode

Kept = (
    e.PromptAdded
    | e.MessageDone
    | e.ToolCalled
    | e.ToolEnded
    | e.TodosChanged
    | e.TurnEnded
    | e.UsageChanged
    | e.Compacted
    | e.Notice
    | e.TaskChanged
)
_PLAIN: Final = {
    kind.__name__: kind
    for kind in (e.ToolCalled, e.TodosChanged, e.TurnEnded, e.UsageChanged, e.Compacted, e.Notice, e.TaskChanged)
}


class _Reply(msgspec.Struct, frozen=True):
    id: str
    model: str = ""
    content: object = ""
    usage: Usage = Usage()


class _Done(msgspec.Struct, frozen=True):
    reply: _Reply
    error: ProviderErrorKind | None = None
    aborted: bool = False
    parent: str | None = None


class _Prompt(msgspec.Struct, frozen=True):
    id: str
    content: object = ""
    synthetic: bool = False
    parent: str | None = None


class _Ended(msgspec.Struct, frozen=True):
    tool_use_id: str
    name: str
    result: object
    outcome: Literal["ok", "error", "denied", "cancelled"] = "ok"
    display: tuple[Display, ...] = ()
    edits: tuple[DiffView, ...] = ()
    duration: float = 0.0
    parent: str | None = None


def worth_keeping(event: e.AgentEvent) -> bool:
    return isinstance(event, Kept) and not (isinstance(event, e.Compacted) and event.state == "started")


def encode_event(event: e.AgentEvent) -> bytes:
    """One line."""
    return encode(event) + b"\n"


def encode_cut(message_id: str) -> bytes:
    """A line that takes back the message and all before this line that came after it."""
    return encode({"cut": message_id}) + b"\n"


def decode_events(lines: Iterable[bytes]) -> list[e.AgentEvent]:
    """The events, marked as a replay where they can be. A line that is broken or not ours is left out. A call that
    nobody told the end of was cut short."""
    found: list[e.AgentEvent] = []
    for line in lines:
        try:
            raw = decode_object(line)
            if isinstance(cut := raw.get("cut"), str):
                _cut(found, cut)
            elif (event := _decode(raw)) is not None:
                _add(found, event)
        except msgspec.MsgspecError:
            continue
    ended = {event.tool_use_id for event in found if isinstance(event, e.ToolEnded)}
    return [item for event in found for item in _closed(event, ended)]


def _decode(raw: dict[str, object]) -> e.AgentEvent | None:
    name = raw.get("event")
    if name == "PromptAdded":
        prompt = msgspec.convert(raw, _Prompt)
        content = as_blocks(content_from(prompt.content))
        return e.PromptAdded(
            id=prompt.id, content=content, synthetic=prompt.synthetic, parent=prompt.parent, replay=True
        )
    if name == "MessageDone":
        done = msgspec.convert(raw, _Done)
        reply = Reply(
            done.reply.id, done.reply.model, as_blocks(content_from(done.reply.content)), usage=done.reply.usage
        )
        return e.MessageDone(
            reply=reply,
            error=done.error,
            aborted=done.aborted,
            parent=done.parent,
            replay=True,
        )
    if name == "ToolEnded":
        return _ended(msgspec.convert(raw, _Ended))
    kind = _PLAIN.get(str(name))
    return None if kind is None else msgspec.convert(raw, kind)


def _ended(raw: _Ended) -> e.ToolEnded:
    result = block_from(raw.result)
    return e.ToolEnded(
        tool_use_id=raw.tool_use_id,
        name=raw.name,
        result=result if isinstance(result, ToolResult) else ToolResult(raw.tool_use_id),
        outcome=raw.outcome,
        display=raw.display,
        edits=raw.edits,
        duration=raw.duration,
        parent=raw.parent,
        replay=True,
    )


def _add(found: list[e.AgentEvent], event: e.AgentEvent) -> None:
    """A call is told of twice: what is known of it last stands where it was first."""
    if isinstance(event, e.ToolCalled):
        event = msgspec.structs.replace(event, state="pending", replay=True)
        for at in range(len(found) - 1, -1, -1):
            before = found[at]
            if isinstance(before, e.TurnEnded):
                break
            if isinstance(before, e.ToolCalled) and before.use.id == event.use.id:
                found[at] = event
                return
    found.append(event)


def _cut(found: list[e.AgentEvent], message_id: str) -> None:
    for at, event in enumerate(found):
        if isinstance(event, e.PromptAdded) and event.id == message_id:
            del found[at:]
            return


def _closed(event: e.AgentEvent, ended: set[str]) -> Iterable[e.AgentEvent]:
    yield event
    if isinstance(event, e.ToolCalled) and event.use.id not in ended:
        result = ToolResult(event.use.id, "", is_error=True)
        yield e.ToolEnded(
            tool_use_id=event.use.id,
            name=event.use.name,
            result=result,
            outcome="cancelled",
            parent=event.parent,
            replay=True,
        )
