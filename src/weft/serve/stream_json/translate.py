"""`AgentEvent` to stream-json messages: a map, with the little memory that the wire wants.

The wire's shape is that of the real command as it was measured: one `assistant` line for each content block, one
`user` line for each tool result, `system/init` before every turn, a `result` after it.
"""

import time
from collections.abc import Callable
from typing import assert_never

from weft.schema.content import Json, Text, Thinking, ToolUse
from weft.schema.events import (
    AgentEvent,
    AskWithdrawn,
    BlockDone,
    Compacted,
    HookRan,
    InputRequested,
    MessageDone,
    Notice,
    PermissionAsked,
    PlanProposed,
    PromptAdded,
    QuestionAsked,
    QueueChanged,
    Reported,
    Retrying,
    SessionChanged,
    SessionInfo,
    SessionStarted,
    Streamed,
    TaskChanged,
    TodosChanged,
    ToolCalled,
    ToolEnded,
    ToolProgressed,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from weft.schema.messages import Usage
from weft.schema.stream import BlockDelta, BlockStart, Delta, MessageStart, ThinkingDelta
from weft.schema.wire import encode, to_builtins
from weft.serve.stream_json import results
from weft.serve.stream_json.prompts import Prompts
from weft.serve.stream_json.stream import OpenStream, PieceLines, to_stream_event
from weft.serve.stream_json.tasks import Tasks
from weft.sessions import tokens


class Translator:
    """Feed it every event in order; it returns the messages to write. `stamp` makes ids and times."""

    def __init__(
        self,
        *,
        stamp: Callable[[], str],
        now: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        init: Callable[[SessionInfo], Json],
        partial: bool = False,
        replay: bool = False,
        hook_events: bool = False,
        subagent_text: bool = False,
        state_events: bool = False,
        state_for_host: bool = True,
    ) -> None:
        """`state_for_host` marks the session's states as meant for the host alone."""
        self._stamp = stamp
        self._now = now
        self._init = init
        self._partial = partial
        self._replay = replay
        self._hook_events = hook_events
        self._subagent_text = subagent_text
        self._state_events = state_events
        self._state_mark: Json = {"sdk_host_only": True} if state_for_host else {}
        self._info: SessionInfo | None = None
        self._uses: dict[str, ToolUse] = {}
        self._tasks = Tasks(self._system)
        self.prompts = Prompts(self._lifecycle)
        self._clock = clock
        self._turn_began = 0.0
        self._thinking_began = 0.0
        self._thought = 0
        self._unannounced: TurnStarted | None = None
        self._prompt_id = ""
        self._request_id: str | None = None
        self._cleared = False
        self._results = results.Counter()
        self._pieces = PieceLines(stamp)
        self._open = OpenStream()
        self._first_usage: Usage | None = None
        self._last_record = ""
        self._summary: str | None = None

    def forward_subagent_text(self, on: bool) -> None:
        """Whether what subagents say is told, besides the tools that they use."""
        self._subagent_text = on

    @property
    def session_id(self) -> str:
        return self._info.session_id if self._info is not None else ""

    def _message(self, kind: str, subtype: str | None = None, /, **fields: object) -> Json:
        message: Json = {"type": kind}
        if subtype is not None:
            message["subtype"] = subtype
        message.update(fields)
        message["session_id"] = self.session_id
        message["uuid"] = self._stamp()
        return message

    def _system(self, subtype: str, /, **fields: object) -> Json:
        return self._message("system", subtype, **fields)

    def _lifecycle(self, prompt_id: str, state: str) -> Json:
        return self._message("command_lifecycle", command_uuid=prompt_id, state=state)

    def feed(self, event: AgentEvent) -> list[Json]:
        """The messages of one event. `system/init` waits for the first event of its turn, because a turn may begin by
        becoming another conversation, or by making this one shorter."""
        if self._unannounced is None or isinstance(event, SessionChanged | Compacted):
            return self._messages(event)
        return [*self._announced(), *self._messages(event)]

    def lines(self, event: AgentEvent) -> list[bytes]:
        """What `feed` returns, encoded. A piece of a block, of which there are thousands, takes a short way."""
        if isinstance(event, Streamed) and isinstance(event.delta, BlockDelta) and self._unannounced is None:
            self._note_thinking(event.delta.delta)
            told = self._partial and event.parent is None
            return [self._pieces.line(event.delta, event.message_id, self.session_id)] if told else []
        return [encode(message) for message in self.feed(event)]

    def _messages(self, event: AgentEvent) -> list[Json]:
        match event:
            case SessionStarted(info=info):
                self._info = info
                return []
            case SessionChanged():
                return self._changed(event)
            case TurnStarted():
                return self._turn_started(event)
            case TurnEnded():
                return self._turn_ended(event)
            case PromptAdded():
                return self._prompt(event)
            case Streamed():
                return self._streamed(event)
            case BlockDone():
                return self._block(event)
            case MessageDone():
                return self._message_done(event)
            case ToolCalled(use=use):
                self._uses[use.id] = use
                return []
            case ToolEnded():
                return self._tool_ended(event)
            case Retrying():
                return self._retrying(event)
            case Compacted():
                return self._compacted(event)
            case Notice():
                return self._notice(event)
            case TaskChanged(task=task):
                return self._tasks.changed(task)
            case Reported(report=HookRan() as ran):
                return self._hook(ran)
            case (
                ToolProgressed()
                | PermissionAsked()
                | QuestionAsked()
                | PlanProposed()
                | InputRequested()
                | AskWithdrawn()
                | TodosChanged()
                | UsageChanged()
                | QueueChanged()
                | Reported()
            ):
                return []
        assert_never(event)

    # --- turns ----------------------------------------------------------------------------------------------

    def _changed(self, event: SessionChanged) -> list[Json]:
        before, self._info = self._info, event.info
        messages: list[Json] = []
        if before is not None and before.mode != event.info.mode:
            messages.append(self._message("system", "status", status=None, permissionMode=event.info.mode))
        if before is not None and before.session_id != event.info.session_id:
            self._cleared = True
            messages.append(
                self._message(
                    "conversation_reset",
                    new_conversation_id=event.info.session_id,
                    trigger="clear",
                    user_message_uuid=self._prompt_id,
                    timestamp=self._now(),
                )
            )
            messages.append(self._message("system", "background_tasks_changed", tasks=[]))
        elif before is not None and before.title != event.info.title:
            messages.append(self._message("system", "session_title_changed", title=event.info.title))
        return messages

    def _turn_started(self, event: TurnStarted) -> list[Json]:
        self._unannounced, self._cleared = event, False
        self._turn_began = self._clock()
        self._prompt_id = event.prompt_ids[0] if event.prompt_ids else ""
        self._first_usage, self._summary = None, None
        running = [self.session_state("running")] if self._state_events else []
        return [*running, *self.prompts.begin(event.prompt_ids, event.origin)]

    def _announced(self) -> list[Json]:
        assert self._info is not None
        self._unannounced = None
        named: Json = {"user_message_uuids": list(self.prompts.turn)} if self.prompts.turn else {}
        return [self._message("system", "init", **self._init(self._info), **named)]

    def state_changed(self, state: str) -> list[Json]:
        """The session's state, for a host that reads it."""
        return [self.session_state(state)] if self._state_events else []

    def session_state(self, state: str) -> Json:
        return self._message("system", "session_state_changed", state=state, **self._state_mark)

    def _turn_ended(self, event: TurnEnded) -> list[Json]:
        messages: list[Json] = []
        if event.reason == "local_command" and event.text and not self._cleared:
            messages.append(self._local_output(event.text))
        if self._partial:
            messages += [self._stream_event(raw, **more) for raw, more in self._open.abandon()]
        messages.append(self._message("result", **self._results.result(event), **self._result_extras()))
        messages += self.prompts.end()
        if self._state_events:
            messages.append(self.session_state("idle"))
        self._uses.clear()
        return messages

    def _result_extras(self) -> Json:
        extras: Json = {"subagent_stats": self._tasks.stats(), **self.prompts.stamps()}
        if self.prompts.origin is not None:
            extras["origin"] = self.prompts.origin
        if self._first_usage is not None:
            extras["first_request_input_tokens"] = self._first_usage.input_tokens
            extras["first_request_cache_read_input_tokens"] = self._first_usage.cache_read_input_tokens
        return extras

    def _local_output(self, text: str) -> Json:
        if self._summary is not None:
            words = f"<local-command-stdout>{text}</local-command-stdout>"
            return self._user(words, None, isReplay=True)
        content = [to_builtins(Text(text))]
        return self._assistant(content, "<synthetic>", Usage(), None, local_command_run=True)

    def _user(self, content: object, parent: str | None, **flags: object) -> Json:
        return self._message(
            "user",
            message={"role": "user", "content": content},
            parent_tool_use_id=parent,
            timestamp=self._now(),
            **self._tasks.about(parent),
            **flags,
        )

    # --- messages -------------------------------------------------------------------------------------------

    def _prompt(self, event: PromptAdded) -> list[Json]:
        """What subagents were asked is told; what was added to their conversation later only on request. A turn that
        background work began is known by the origin in its result."""
        started = self.prompts.start(event.id)
        if event.parent is not None:
            if event.synthetic and not self._subagent_text:
                return []
            flags: Json = {"isSynthetic": True} if event.synthetic else {}
        elif event.synthetic:
            if self.prompts.origin is not None and event.id == self._prompt_id:
                return []
            flags = {"isSynthetic": True}
        elif event.replay or self._replay:
            flags = {"isReplay": True}
            if self.prompts.origin is not None and event.id == self._prompt_id:
                flags["origin"] = self.prompts.origin
        else:
            return started
        sent = self.prompts.as_sent(event.id)
        message = self._user(sent if sent is not None else to_builtins(event.content), event.parent, **flags)
        message["uuid"] = event.id
        return [*started, message]

    def _streamed(self, event: Streamed) -> list[Json]:
        match event.delta:
            case BlockStart(block=Thinking()):
                self._thinking_began, self._thought = self._clock(), 0
            case BlockDelta(delta=delta):
                self._note_thinking(delta)
            case MessageStart(request_id=request_id, usage=usage):
                self._request_id = request_id
                if event.parent is None and self._first_usage is None:
                    self._first_usage = usage
            case _:
                pass
        if not self._partial or event.parent is not None:
            return []
        raw = to_stream_event(event.delta)
        if raw is None:
            return []
        self._open.follow(event.delta, event.message_id)
        line = self._stream_event(raw, api_message_id=event.message_id)
        if isinstance(event.delta, MessageStart):
            line["ttft_ms"] = self._since(self._turn_began)
            return [self._message("system", "status", status="requesting"), line]
        return [line]

    def _stream_event(self, raw: Json, **more: object) -> Json:
        return self._message("stream_event", event=raw, parent_tool_use_id=None, **more)

    def _note_thinking(self, delta: Delta) -> None:
        if isinstance(delta, ThinkingDelta):
            self._thought += tokens.of_text(delta.thinking)

    def _since(self, then: float) -> int:
        return round((self._clock() - then) * 1000)

    def _assistant(
        self, content: object, model: str, usage: Usage, parent: str | None, *, message_id: str = "", **extra: object
    ) -> Json:
        body: Json = {
            "id": message_id or f"msg_{self._stamp()}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": results.usage_fields(usage),
            "context_management": None,
        }
        if parent is None and self.prompts.first:
            self.prompts.first = False
            extra |= self.prompts.stamps()
        about = self._tasks.about(parent)
        return self._message(
            "assistant", message=body, parent_tool_use_id=parent, timestamp=self._now(), **about, **extra
        )

    def _block(self, event: BlockDone) -> list[Json]:
        if isinstance(event.block, ToolUse):
            self._uses[event.block.id] = event.block
        elif event.parent is not None and not self._subagent_text:
            return []
        content = [to_builtins(event.block)]
        extra: Json = {"request_id": self._request_id} if self._request_id else {}
        messages: list[Json] = []
        if isinstance(event.block, Thinking):
            count = self._thought
            messages.append(
                self._message("system", "thinking_tokens", estimated_tokens=count, estimated_tokens_delta=count)
            )
            extra["thinking_duration_ms"] = self._since(self._thinking_began)
        line = self._assistant(content, event.model, event.usage, event.parent, message_id=event.message_id, **extra)
        return [*messages, line]

    def _message_done(self, event: MessageDone) -> list[Json]:
        """Blocks were sent one by one; whole messages only tell of failures, interruptions and the past."""
        reply = event.reply
        content = to_builtins(reply.content)
        self._last_record = event.uuid or self._last_record
        if event.error is not None:
            extra: Json = {
                "error": results.error_name(event.error),
                "is_api_error_message": True,
                "api_error_type": results.api_error_type(event.error),
            }
            if event.error_status is not None:
                extra["api_error_status"] = event.error_status
            line = self._assistant(content, reply.model, reply.usage, event.parent, message_id=reply.id, **extra)
            line["message"] = {
                **to_builtins(line["message"]),
                "container": None,
                "diagnostics": None,
                "stop_details": None,
            }
            return [line]
        if event.aborted:
            extra = {"request_id": self._request_id} if self._request_id else {}
            extra["aborted"] = True
            return [self._assistant(content, reply.model, reply.usage, event.parent, message_id=reply.id, **extra)]
        if self._partial and event.parent is None and not event.replay:
            self._open.close()
            return [self._stream_event({"type": "message_stop"}, api_message_id=reply.id)]
        return []

    def _tool_ended(self, event: ToolEnded) -> list[Json]:
        if event.replay:
            return []
        result = to_builtins(event.result)
        messages: list[Json] = []
        if event.outcome == "denied" and event.decision_source in ("mode", "config"):
            messages.append(
                self._message(
                    "system",
                    "permission_denied",
                    tool_name=event.name,
                    tool_use_id=event.tool_use_id,
                    decision_reason_type="mode" if event.decision_source == "mode" else "rule",
                    message=result.get("content", ""),
                )
            )
        line = self._user([{"is_error": False, **result} if event.result.is_error else result], event.parent)
        data = to_builtins(event.data) if event.data is not None else None
        if event.result.is_error:
            data = f"Error: {result.get('content', '')}" if not isinstance(data, str) else data
        if data is not None:
            line["tool_use_result"] = data
        line["tool_result_meta"] = [results.result_meta(event)]
        messages.append(line)
        return messages

    # --- state ----------------------------------------------------------------------------------------------

    def _notice(self, event: Notice) -> list[Json]:
        level = "warning" if event.level == "error" else event.level
        tag: Json = {"tag": event.tag} if event.tag else {}
        return [self._message("system", "informational", content=event.text, level=level, **tag)]

    def _retrying(self, event: Retrying) -> list[Json]:
        if event.fallback is not None:
            return [
                self._message(
                    "system",
                    "model_fallback",
                    trigger=event.error,
                    original_model=event.model,
                    fallback_model=event.fallback,
                    content=f"{event.model} cannot answer now; {event.fallback} takes over.",
                )
            ]
        return [
            self._message(
                "system",
                "api_retry",
                attempt=event.attempt,
                max_retries=event.max_retries,
                retry_delay_ms=round(event.delay * 1000),
                error_status=event.status,
                error=results.error_name(event.error),
            )
        ]

    def _compacted(self, event: Compacted) -> list[Json]:
        if event.state == "started":
            return [self._message("system", "status", status="compacting")]
        ended = self._message(
            "system", "status", status=None, compact_result="success" if event.state == "done" else "failed"
        )
        if event.state == "failed":
            return [ended]
        metadata = {
            "trigger": event.trigger,
            "pre_tokens": event.before,
            "post_tokens": event.after,
            "duration_ms": round(event.duration * 1000),
        }
        boundary = self._message(
            "system", "compact_boundary", compact_metadata=metadata, logical_parent_uuid=self._last_record or None
        )
        announced = self._announced() if self._unannounced is not None else []
        self._summary = event.summary
        summary = [self._user(event.summary, None, isReplay=False, isSynthetic=True)] if event.summary else []
        return [ended, *announced, boundary, *summary]

    def _hook(self, ran: HookRan) -> list[Json]:
        if not self._hook_events and ran.hook_event != "SessionStart":
            return []
        fields: Json = {"hook_id": ran.hook_id, "hook_name": ran.name, "hook_event": ran.hook_event}
        if ran.outcome == "":
            return [self._message("system", "hook_started", **fields)]
        outcome = {"ok": "success", "blocked": "error", "error": "error", "timeout": "cancelled"}[ran.outcome]
        return [
            self._message(
                "system",
                "hook_response",
                **fields,
                output=ran.stdout or ran.stderr,
                stdout=ran.stdout,
                stderr=ran.stderr,
                exit_code=ran.exit_code,
                outcome=outcome,
            )
        ]
