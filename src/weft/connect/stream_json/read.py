"""Stream-json messages to `AgentEvent`: the map of `serve/stream_json`, read from the other end.

The wire sends a line for each content block; a message is complete when something else follows its last block.
"""

from collections.abc import Callable
from typing import cast, get_args

import msgspec

from weft.connect.stream_json.fields import (
    names,
    number,
    session_info,
    stop_reason_of,
    stream_delta,
    task_info,
    text,
    turn_ended,
    usage_of,
)
from weft.connect.stream_json.todos import TodoList
from weft.errors import ProviderErrorKind
from weft.protocols.stream_json import is_json
from weft.schema.content import AnyBlock, Content, Json, ToolResult, ToolUse, text_of
from weft.schema.display import DiffView
from weft.schema.events import (
    MODES,
    AgentEvent,
    BlockDone,
    Compacted,
    MessageDone,
    Notice,
    PromptAdded,
    QueueChanged,
    QueuedPrompt,
    Retrying,
    SessionChanged,
    SessionInfo,
    SessionStarted,
    Streamed,
    TaskChanged,
    TaskInfo,
    TodosChanged,
    ToolCalled,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from weft.schema.messages import Reply, Usage
from weft.schema.wire import as_blocks, content_from


class Reader:
    """Feed it every message of the agent; it returns the events. `new_id` makes ids of turns."""

    def __init__(self, new_id: Callable[[], str], *, agent_name: str = "agent") -> None:
        self._new_id = new_id
        self._name = agent_name
        self.info = SessionInfo(session_id="", cwd="", model="", agent_name=agent_name)
        self._started = False
        self._turn: str | None = None
        self._prompts: list[tuple[str, Content]] = []
        self._open: dict[str | None, tuple[str, str, list[AnyBlock], Usage]] = {}
        self._uses: dict[str, ToolUse] = {}
        self._denied: set[str] = set()
        self._tasks: dict[str, TaskInfo] = {}
        self._message_id = ""
        self._todos = TodoList()
        self._queue: dict[str, str] = {}
        """The prompts that wait inside the agent, with their text."""
        self._spent = 0.0
        self._failure: ProviderErrorKind | None = None
        self.edits: dict[str, tuple[DiffView, ...]] = {}

    @property
    def in_turn(self) -> bool:
        return self._turn is not None

    def expect(self, prompt_id: str, content: Content) -> None:
        """A prompt was sent: the next turn answers it."""
        self._prompts.append((prompt_id, content))

    def forget(self, prompt_id: str) -> None:
        """It could not be sent after all."""
        self._prompts = [waiting for waiting in self._prompts if waiting[0] != prompt_id]

    def use(self, tool_use_id: str) -> ToolUse | None:
        return self._uses.get(tool_use_id)

    def feed(self, raw: Json) -> list[AgentEvent]:
        kind = text(raw, "type")
        match kind:
            case "system":
                return self._system(raw)
            case "assistant":
                return self._assistant(raw)
            case "user":
                return self._user(raw)
            case "stream_event":
                return self._stream(raw)
            case "result":
                return self._result(raw)
            case "command_lifecycle":
                return self._lifecycle(text(raw, "command_uuid"), text(raw, "state"))
            case "conversation_reset":
                return self._changed("clear", session_id=text(raw, "new_conversation_id"))
            case _:
                return []

    def _lifecycle(self, prompt_id: str, state: str) -> list[AgentEvent]:
        """A prompt of ours on its way through the agent's queue. One that starts while a turn runs has joined it."""
        before = dict(self._queue)
        known = next((content for waiting, content in self._prompts if waiting == prompt_id), None)
        events: list[AgentEvent] = []
        if state == "queued" and self._turn is not None and known is not None:
            self._queue[prompt_id] = text_of(known)
        elif state != "queued":
            self._queue.pop(prompt_id, None)
        if state == "started" and self._turn is not None and known is not None:
            self.forget(prompt_id)
            events.append(PromptAdded(id=prompt_id, content=known))
        elif state == "cancelled":
            self.forget(prompt_id)
        if self._queue != before:
            waiting = tuple(QueuedPrompt(key, words) for key, words in self._queue.items())
            events.insert(0, QueueChanged(prompts=waiting))
        return events

    def start(self, info: SessionInfo) -> list[AgentEvent]:
        """What `initialize` told; the agent says more before its first turn."""
        self.info = info
        if self._started:
            return []
        self._started = True
        return [SessionStarted(info=info)]

    def lost(self, message: str) -> list[AgentEvent]:
        """The agent is gone: what was open is closed, and each prompt that it never took up has a turn that failed."""
        events: list[AgentEvent] = []
        if self._turn is not None:
            ended = TurnEnded(turn_id=self._turn, reason="error", error=message)
            events += [*self._close_messages(), *self._end(ended)]
        waiting, self._prompts = self._prompts, []
        for prompt_id, content in waiting:
            turn = self._new_id()
            events += [TurnStarted(turn_id=turn, prompt_ids=(prompt_id,)), PromptAdded(id=prompt_id, content=content)]
            events.append(TurnEnded(turn_id=turn, reason="error", error=message))
        return events

    # --- system ----------------------------------------------------------------------------------------------

    def _system(self, raw: Json) -> list[AgentEvent]:
        match text(raw, "subtype"):
            case "init":
                return self._init(raw)
            case "status":
                return self._status(raw)
            case "compact_boundary":
                found = raw.get("compact_metadata")
                data = found if is_json(found) else {}
                trigger = "manual" if data.get("trigger") == "manual" else "auto"
                before, after = number(data, "pre_tokens"), number(data, "post_tokens")
                return [Compacted(state="done", trigger=trigger, before=before, after=after)]
            case "api_retry":
                return [
                    Retrying(
                        attempt=number(raw, "attempt"),
                        max_retries=number(raw, "max_retries"),
                        delay=number(raw, "retry_delay_ms") / 1000,
                        error=_error_kind(text(raw, "error")),
                        message=text(raw, "error"),
                        status=number(raw, "error_status") or None,
                        model=self.info.model,
                    )
                ]
            case "permission_denied":
                self._denied.add(text(raw, "tool_use_id"))
                return []
            case "informational":
                return [Notice(text=text(raw, "content"), tag=text(raw, "tag"))]
            case "session_title_changed":
                return self._changed("title", title=text(raw, "title"))
            case "task_started" | "task_progress" | "task_updated" | "task_notification":
                return self._task(raw)
            case _:
                return []

    def _init(self, raw: Json) -> list[AgentEvent]:
        info = session_info(raw, self.info, self._name)
        before, self.info = self.info, info
        events: list[AgentEvent] = []
        if not self._started:
            self._started = True
            events.append(SessionStarted(info=info))
        elif info != before:
            events.append(SessionChanged(info=info, reason="init"))
        if self._turn is None:
            self._turn = self._new_id()
            # The agent says which prompts the turn answers, if it can; else it is the one that waited longest.
            named = names(raw, "user_message_uuids")
            taken = [waiting for waiting in self._prompts if waiting[0] in named] or self._prompts[:1]
            self._prompts = [waiting for waiting in self._prompts if waiting not in taken]
            events.append(TurnStarted(turn_id=self._turn, prompt_ids=tuple(prompt_id for prompt_id, _ in taken)))
            events += [PromptAdded(id=prompt_id, content=content) for prompt_id, content in taken]
        return events

    def _status(self, raw: Json) -> list[AgentEvent]:
        mode = raw.get("permissionMode")
        if mode in MODES:
            return self._changed("mode", mode=mode)
        return [Compacted(state="started")] if raw.get("status") == "compacting" else []

    def _changed(self, reason: str, **changes: object) -> list[AgentEvent]:
        self.info = msgspec.structs.replace(self.info, **changes)
        return [SessionChanged(info=self.info, reason=reason)]

    def _task(self, raw: Json) -> list[AgentEvent]:
        task = task_info(raw, self._tasks.get(text(raw, "task_id")))
        if self._tasks.get(task.id) == task:
            return []
        self._tasks[task.id] = task
        return [TaskChanged(task=task)]

    # --- messages --------------------------------------------------------------------------------------------

    def _stream(self, raw: Json) -> list[AgentEvent]:
        event = raw.get("event")
        delta = stream_delta(event) if is_json(event) else None
        if delta is None:
            return []
        message_id = text(raw, "api_message_id") or getattr(delta, "id", "") or self._message_id
        self._message_id = message_id
        return [Streamed(message_id=message_id, delta=delta, parent=_parent(raw))]

    def _assistant(self, raw: Json) -> list[AgentEvent]:
        message = raw.get("message")
        if not is_json(message):
            return []
        parent, model, message_id = _parent(raw), text(message, "model"), text(message, "id")
        blocks = as_blocks(content_from(message.get("content", [])))
        usage = usage_of(message.get("usage"))
        if raw.get("error") or raw.get("is_api_error_message"):
            reply = Reply(id=message_id, model=model, content=blocks)
            kind = _error_kind(text(raw, "error"))
            status = number(raw, "api_error_status") or None
            self._failure = kind if parent is None else self._failure
            return [
                *self._close_messages(),
                MessageDone(reply=reply, error=kind, error_status=status, parent=parent),
            ]
        open_now = self._open.get(parent)
        events: list[AgentEvent] = []
        if open_now is not None and open_now[0] != message_id:
            events += self._close(parent)
            open_now = None
        if open_now is None:
            open_now = self._open[parent] = (message_id, model, [], usage)
        for block in blocks:
            index = len(open_now[2])
            open_now[2].append(block)
            events.append(
                BlockDone(message_id=message_id, index=index, block=block, model=model, usage=usage, parent=parent)
            )
            if isinstance(block, ToolUse):
                events += self._tool_called(block, parent)
        return events

    def _tool_called(self, use: ToolUse, parent: str | None) -> list[AgentEvent]:
        self._uses[use.id] = use
        return [ToolCalled(use=use, title=_title(use), parent=parent)]

    def _close(self, parent: str | None) -> list[AgentEvent]:
        found = self._open.pop(parent, None)
        if found is None:
            return []
        message_id, model, blocks, usage = found
        stop = stop_reason_of(blocks)
        reply = Reply(id=message_id, model=model, content=tuple(blocks), stop_reason=stop, usage=usage)
        return [MessageDone(reply=reply, parent=parent)]

    def _close_messages(self) -> list[AgentEvent]:
        return [event for parent in list(self._open) for event in self._close(parent)]

    def _user(self, raw: Json) -> list[AgentEvent]:
        message = raw.get("message")
        if not is_json(message):
            return []
        parent = _parent(raw)
        content = as_blocks(content_from(message.get("content", "")))
        events = self._close(parent)
        results = [block for block in content if isinstance(block, ToolResult)]
        for block in results:
            events += self._todos_after(block, raw, parent)
            events.append(self._tool_ended(block, raw, parent))
        rest: Content = tuple(block for block in content if not isinstance(block, ToolResult))
        if rest:
            synthetic, replay = raw.get("isSynthetic") is True, raw.get("isReplay") is True
            events.append(
                PromptAdded(
                    id=text(raw, "uuid"),
                    content=rest,
                    synthetic=synthetic,
                    replay=replay and self._turn is None,
                    parent=parent,
                )
            )
        return events

    def _todos_after(self, result: ToolResult, raw: Json, parent: str | None) -> list[AgentEvent]:
        use = self._uses.get(result.tool_use_id)
        if use is None or result.is_error:
            return []
        todos = self._todos.follow(use, raw.get("tool_use_result"))
        return [TodosChanged(todos=todos, parent=parent)] if todos is not None else []

    def _tool_ended(self, result: ToolResult, raw: Json, parent: str | None) -> ToolEnded:
        use = self._uses.get(result.tool_use_id)
        denied = result.tool_use_id in self._denied
        return ToolEnded(
            tool_use_id=result.tool_use_id,
            name=use.name if use is not None else "",
            result=result,
            outcome="denied" if denied else "error" if result.is_error else "ok",
            data=raw.get("tool_use_result"),
            edits=self.edits.pop(result.tool_use_id, ()),
            display=(),
            parent=parent,
        )

    def _result(self, raw: Json) -> list[AgentEvent]:
        events = self._close_messages()
        turn = self._turn or self._new_id()
        if self._turn is None:
            events.append(TurnStarted(turn_id=turn))
        if session_id := text(raw, "session_id"):
            self.info = msgspec.structs.replace(self.info, session_id=session_id)
        ended = turn_ended(raw, turn)
        spent, self._spent = self._spent, ended.total_cost
        failure, self._failure = self._failure, None
        whole = msgspec.structs.replace(
            ended,
            cost=max(ended.total_cost - spent, 0.0),
            error_kind=failure if ended.reason in ("error", "prompt_too_long") else None,
        )
        return [*events, *self._end(whole)]

    def _end(self, event: TurnEnded) -> list[AgentEvent]:
        self._turn = None
        self._denied.clear()
        self._uses.clear()
        self._open.clear()
        return [event]


def _parent(raw: Json) -> str | None:
    found = raw.get("parent_tool_use_id")
    return found if isinstance(found, str) else None


def _error_kind(name: str) -> ProviderErrorKind:
    return cast(ProviderErrorKind, name) if name in get_args(ProviderErrorKind) else "unknown"


def _title(use: ToolUse) -> str:
    for key in ("description", "command", "file_path", "path", "pattern", "url", "prompt"):
        value = use.input.get(key)
        if isinstance(value, str) and value:
            return f"{use.name}: {value.splitlines()[0][:120]}"
    return use.name
