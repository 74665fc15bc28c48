"""History shown again: the records of a resumed session as the events that surfaces know."""

from collections.abc import Iterable

from weft.context.assemble import MARK
from weft.schema.content import AnyBlock, Text, ToolResult, ToolUse
from weft.schema.events import AgentEvent, MessageDone, PromptAdded, ToolCalled, ToolEnded
from weft.schema.records import AssistantRecord, Record, UserRecord


def to_events(records: Iterable[Record]) -> list[AgentEvent]:
    """Prompts, replies and tool calls in their order, every one marked as a replay."""
    events: list[AgentEvent] = []
    uses: dict[str, ToolUse] = {}
    for record in records:
        match record:
            case UserRecord(transcript_only=False):
                events.extend(_user(record, uses))
            case AssistantRecord(reply=reply):
                events.append(MessageDone(reply=reply, error=record.error, uuid=record.origin.uuid, replay=True))
                for use in reply.tool_uses:
                    uses[use.id] = use
                    events.append(ToolCalled(use=use, title=use.name, replay=True))
            case _:
                continue
    return events


def _ours(block: AnyBlock) -> bool:
    """What Weft told the model in front of a prompt; no surface shows it."""
    return isinstance(block, Text) and block.text.startswith(f"<{MARK}>")


def _user(record: UserRecord, uses: dict[str, ToolUse]) -> Iterable[AgentEvent]:
    prompt = tuple(block for block in record.message.content if not isinstance(block, ToolResult) and not _ours(block))
    for block in record.message.content:
        if isinstance(block, ToolResult):
            use = uses.get(block.tool_use_id)
            yield ToolEnded(
                tool_use_id=block.tool_use_id,
                name=use.name if use is not None else "",
                result=block,
                outcome="error" if block.is_error else "ok",
                data=record.tool_use_result,
                replay=True,
            )
    if prompt and any(not isinstance(block, Text) or block.text for block in prompt):
        yield PromptAdded(id=record.origin.uuid, content=prompt, synthetic=record.meta, replay=True)
