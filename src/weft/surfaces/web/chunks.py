"""`AgentEvent` to stream chunks, as a pure map.

What needs memory (pieces of a `<think>` tag, Markdown that is half there, a block that was streamed and then comes
whole) is done after it, in `weave`.
"""

from typing import assert_never

from weft.schema import events as e
from weft.schema.content import (
    AnyBlock,
    Base64Source,
    CachePoint,
    Content,
    Document,
    GuardContent,
    Image,
    Reasoning,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    Video,
    text_of,
)
from weft.schema.display import ExitView
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    CitationsDelta,
    Delta,
    InputDelta,
    MessageDelta,
    MessageStart,
    Ping,
    Retry,
    SignatureDelta,
    StreamDone,
    StreamFailed,
    TextDelta,
    ThinkingDelta,
)
from weft.surfaces.web.stream import (
    CONTEXT,
    AskClosed,
    Compaction,
    ErrorChunk,
    InputRequest,
    MessageEnd,
    NoticeChunk,
    Picture,
    Plan,
    PlanApproval,
    Queue,
    RetryChunk,
    Session,
    StreamChunk,
    TaskChunk,
    TextChunk,
    ThinkingContent,
    ThinkingEnd,
    ThinkingStart,
    ToolConfirmation,
    ToolEnd,
    ToolOutput,
    ToolStart,
    TurnEnd,
    TurnStart,
    UsageChunk,
    UserMessage,
    UserQuestion,
)


def to_chunks(event: e.AgentEvent) -> tuple[StreamChunk, ...]:
    """What a page is told of one event; empty for what it does not show."""
    match event:
        case e.SessionStarted(info=info):
            return (Session(info=info, reason="started"),)
        case e.SessionChanged(info=info, reason=reason):
            return (Session(info=info, reason=reason),)
        case e.TurnStarted(turn_id=id, origin=origin):
            return (TurnStart(id=id, origin=origin),)
        case e.TurnEnded():
            return _turn_end(event)
        case e.PromptAdded():
            return (_user_message(event),)
        case e.QueueChanged(prompts=prompts):
            return (Queue(prompts=prompts),)
        case e.Streamed():
            return _streamed(event)
        case e.BlockDone(message_id=message_id, index=index, block=block, parent=parent):
            return _whole(f"{message_id}:{index}", block, parent)
        case e.MessageDone():
            return _message(event)
        case e.ToolCalled():
            return (_tool_start(event),)
        case e.ToolProgressed(tool_use_id=id, output=output, message=message, fraction=fraction, parent=parent):
            return (ToolOutput(id=id, text=output, message=message, fraction=fraction, parent=parent),)
        case e.ToolEnded():
            return (_tool_end(event),)
        case e.PermissionAsked():
            return (_confirmation(event),)
        case e.QuestionAsked(request_id=id, tool_use_id=tool, questions=questions, parent=parent):
            return (UserQuestion(request_id=id, tool_id=tool, questions=questions, parent=parent),)
        case e.PlanProposed(request_id=id, tool_use_id=tool, plan=plan, parent=parent):
            return (PlanApproval(request_id=id, tool_id=tool, plan=plan, parent=parent),)
        case e.InputRequested(request_id=id, server=server, message=message, schema=schema, url=url):
            tool = event.tool_use_id
            return (InputRequest(request_id=id, server=server, message=message, schema=schema, url=url, tool_id=tool),)
        case e.AskWithdrawn(request_id=id, reason=reason):
            return (AskClosed(request_id=id, reason=reason),)
        case e.TodosChanged(todos=todos, parent=parent):
            return (Plan(entries=todos, parent=parent),)
        case e.UsageChanged():
            return (_usage(event),)
        case e.Retrying(attempt=attempt, max_retries=most, delay=delay, message=message, fallback=fallback):
            return (RetryChunk(attempt=attempt, max_retries=most, delay=delay, message=message, fallback=fallback),)
        case e.Compacted(state=state, before=before, after=after, message=message):
            return (Compaction(state=state, before=before, after=after, message=message),)
        case e.Notice(text=text, level="error"):
            return (ErrorChunk(message=text, kind=event.tag),)
        case e.Notice(text=text, level=level):
            return (NoticeChunk(text=text, level=level),)
        case e.TaskChanged(task=task):
            return (TaskChunk(task=task),)
        case e.Reported(report=e.HookRan(name=name, outcome="blocked" | "error" | "timeout" as outcome, stderr=stderr)):
            return (NoticeChunk(text=f"Hook {name}: {outcome}. {stderr}".strip(), level="warning"),)
        case e.Reported():
            return ()
    assert_never(event)


def _turn_end(event: e.TurnEnded) -> tuple[StreamChunk, ...]:
    end = TurnEnd(
        id=event.turn_id,
        reason=event.reason,
        error=event.error,
        duration=event.duration,
        cost=event.cost,
        total_cost=event.total_cost,
        usage=event.usage,
        steps=event.steps,
    )
    if event.error and event.reason != "cancelled":
        return (ErrorChunk(message=event.error, kind=event.error_kind or event.reason), end)
    return (end,)


def _user_message(event: e.PromptAdded) -> UserMessage:
    shown = tuple(b for b in event.content if not (isinstance(b, Text) and b.text.startswith(CONTEXT)))
    return UserMessage(
        id=event.id,
        text=text_of(shown),
        images=_pictures(event.content),
        documents=tuple(b.title or "document" for b in event.content if isinstance(b, Document)),
        synthetic=event.synthetic,
        replay=event.replay,
        parent=event.parent,
    )


def _pictures(content: Content) -> tuple[Picture, ...]:
    return tuple(
        Picture(block.source.media_type, block.source.data)
        for block in content
        if isinstance(block, Image) and isinstance(block.source, Base64Source)
    )


def _streamed(event: e.Streamed) -> tuple[StreamChunk, ...]:
    parent = event.parent
    match event.delta:
        case BlockStart(index=index, block=Thinking() | Reasoning()):
            return (ThinkingStart(id=f"{event.message_id}:{index}", parent=parent),)
        case BlockStart(block=ToolUse(id=id, name=name)):
            return (ToolStart(id=id, name=name, title=name, state="streaming", parent=parent),)
        case BlockStart(index=index, block=Text(text=text)) if text:
            return (TextChunk(id=f"{event.message_id}:{index}", text=text, parent=parent),)
        case BlockDelta(index=index, delta=delta):
            return _delta(f"{event.message_id}:{index}", delta, parent)
        case Retry(attempt=attempt, max_retries=most, delay=delay, message=message, fallback=fallback):
            return (RetryChunk(attempt=attempt, max_retries=most, delay=delay, message=message, fallback=fallback),)
        case BlockStart() | BlockStop() | MessageStart() | MessageDelta() | Ping() | StreamDone() | StreamFailed():
            return ()
    assert_never(event.delta)


def _delta(id: str, delta: Delta, parent: str | None) -> tuple[StreamChunk, ...]:
    match delta:
        case TextDelta(text=text):
            return (TextChunk(id=id, text=text, parent=parent),)
        case ThinkingDelta(thinking=text):
            return (ThinkingContent(id=id, text=text, parent=parent),)
        case InputDelta() | SignatureDelta() | CitationsDelta():
            return ()
    assert_never(delta)


def _whole(id: str, block: AnyBlock, parent: str | None, *, replay: bool = False) -> tuple[StreamChunk, ...]:
    match block:
        case Text(text=text):
            return (TextChunk(id=id, text=text, whole=True, done=True, replay=replay, parent=parent),)
        case Thinking(thinking=text) | Reasoning(text=text):
            return (ThinkingContent(id=id, text=text, whole=True, parent=parent), ThinkingEnd(id=id, parent=parent))
        case RedactedThinking() | CachePoint() | ToolUse() | ToolResult() | Unknown():
            return ()
        case Image() | Document() | Video() | GuardContent():
            return ()
    assert_never(block)


def _message(event: e.MessageDone) -> tuple[StreamChunk, ...]:
    reply = event.reply
    if event.error is not None:
        return (ErrorChunk(message=reply.text, kind=event.error, parent=event.parent),)
    out: list[StreamChunk] = []
    for index, block in enumerate(reply.content):
        out += _whole(f"{reply.id}:{index}", block, event.parent, replay=event.replay)
    out.append(MessageEnd(id=reply.id, model=reply.model, aborted=event.aborted, parent=event.parent))
    return tuple(out)


def _tool_start(event: e.ToolCalled) -> ToolStart:
    return ToolStart(
        id=event.use.id,
        name=event.use.name,
        title=event.title or event.use.name,
        kind=event.kind,
        state=event.state,
        input=event.use.input,
        locations=event.locations,
        parent=event.parent,
    )


def _tool_end(event: e.ToolEnded) -> ToolEnd:
    code = next((view.code for view in event.display if isinstance(view, ExitView)), None)
    return ToolEnd(
        id=event.tool_use_id,
        name=event.name,
        status="completed" if event.outcome == "ok" else event.outcome,
        text=text_of(event.result.content),
        duration=event.duration,
        exit_code=code,
        display=event.display or event.edits,
        parent=event.parent,
    )


def _confirmation(event: e.PermissionAsked) -> ToolConfirmation:
    return ToolConfirmation(
        request_id=event.request_id,
        tool_id=event.use.id,
        name=event.use.name,
        input=event.use.input,
        title=event.title or event.use.name,
        kind=event.kind,
        reason=event.reason,
        reason_kind=event.reason_kind,
        suggestions=event.suggestions,
        blocked_path=event.blocked_path,
        preview=event.preview,
        parent=event.parent,
    )


def _usage(event: e.UsageChanged) -> UsageChunk:
    return UsageChunk(
        context_tokens=event.context_tokens,
        context_window=event.context_window,
        total_cost=event.total_cost,
        usage=event.usage,
        models=event.models,
    )
