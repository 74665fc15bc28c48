"""History shown again: the records of a resumed session as the events that surfaces know."""

from collections.abc import Callable, Iterable, Sequence

from weft.agent.logged_results import read_result
from weft.context.assemble import MARK
from weft.schema.content import AnyBlock, Text, ToolResult, ToolUse
from weft.schema.events import AgentEvent, MessageDone, PromptAdded, ToolCalled, ToolEnded
from weft.schema.records import AssistantRecord, Record, UserRecord


def to_events(
    records: Iterable[Record],
    *,
    side: Callable[[str], Sequence[Record]] = lambda _agent_id: (),
    parent: str | None = None,
) -> list[AgentEvent]:
    """Prompts, replies and tool calls in their order, every one marked as a replay. `side` gives the records of a
    subagent; its events stand before the end of the call that started it, as they did then."""
    events: list[AgentEvent] = []
    uses: dict[str, ToolUse] = {}
    for record in records:
        match record:
            case UserRecord():
                events.extend(_user(record, uses, side, parent))
            case AssistantRecord(reply=reply):
                done = MessageDone(reply=reply, error=record.error, uuid=record.origin.uuid, replay=True, parent=parent)
                events.append(done)
                for use in reply.tool_uses:
                    uses[use.id] = use
                    events.append(ToolCalled(use=use, title=use.name, replay=True, parent=parent))
            case _:
                continue
    return events


def _ours(block: AnyBlock) -> bool:
    """What Weft told the model in front of a prompt; no surface shows it."""
    return isinstance(block, Text) and block.text.startswith(f"<{MARK}>")


def _user(
    record: UserRecord, uses: dict[str, ToolUse], side: Callable[[str], Sequence[Record]], parent: str | None
) -> Iterable[AgentEvent]:
    prompt = tuple(block for block in record.message.content if not isinstance(block, ToolResult) and not _ours(block))
    for block in record.message.content:
        if isinstance(block, ToolResult):
            use = uses.get(block.tool_use_id)
            data = record.tool_use_result
            told = read_result(data)
            if told.agent_id and parent is None:
                yield from to_events(side(told.agent_id), parent=block.tool_use_id)
            edits = told.edits()
            yield ToolEnded(
                tool_use_id=block.tool_use_id,
                name=use.name if use is not None else "",
                result=block,
                outcome="error" if block.is_error else "ok",
                display=edits,
                edits=edits,
                data=data,
                replay=True,
                parent=parent,
            )
    if prompt and any(not isinstance(block, Text) or block.text for block in prompt):
        yield PromptAdded(id=record.origin.uuid, content=prompt, synthetic=record.meta, replay=True, parent=parent)
