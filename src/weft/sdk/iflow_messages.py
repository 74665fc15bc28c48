"""Typed messages as iFlow's SDK has them, made from events."""

from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Json, text_of
from weft.schema.events import (
    AgentEvent,
    PermissionAsked,
    PlanProposed,
    PromptAdded,
    Question,
    QuestionAsked,
    Streamed,
    TodosChanged,
    ToolCalled,
    ToolEnded,
    TurnEnded,
)
from weft.schema.stream import BlockDelta, TextDelta, ThinkingDelta

Status = Literal["pending", "in_progress", "completed", "failed"]
STOP = {"cancelled": "cancelled", "refused": "refusal", "max_turns": "max_turn_requests", "budget": "max_tokens"}


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="type", tag="assistant"):
    """A piece of the answer (`text`) or of the thinking before it (`thought`)."""

    text: str = ""
    thought: str = ""
    agent_id: str | None = None


class ToolCallMessage(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call"):
    """A tool call as it goes on. `request_id` is set while somebody must approve it, answer it or judge the plan."""

    id: str
    tool_name: str
    status: Status
    label: str = ""
    args: Json = {}
    output: str = ""
    request_id: str | None = None
    confirmation: str = ""
    questions: tuple[Question, ...] = ()
    plan: str = ""
    agent_id: str | None = None


class PlanEntry(msgspec.Struct, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"]


class PlanMessage(msgspec.Struct, frozen=True, tag_field="type", tag="plan"):
    entries: tuple[PlanEntry, ...]


class ErrorMessage(msgspec.Struct, frozen=True, tag_field="type", tag="error"):
    """`login` says that it failed for want of a valid key or login."""

    code: int
    message: str
    login: bool = False


class TaskFinishMessage(msgspec.Struct, frozen=True, tag_field="type", tag="task_finish"):
    stop_reason: str


class UserMessage(msgspec.Struct, frozen=True, tag_field="type", tag="user"):
    text: str


Message: TypeAlias = AssistantMessage | ToolCallMessage | PlanMessage | ErrorMessage | TaskFinishMessage | UserMessage


class Translator:
    """Events to messages. `asked` has the open permission questions, by id."""

    def __init__(self) -> None:
        self.asked: dict[str, PermissionAsked] = {}

    def feed(self, event: AgentEvent) -> list[Message]:
        match event:
            case Streamed(delta=BlockDelta(delta=TextDelta(text=text)), parent=parent):
                return [AssistantMessage(text=text, agent_id=parent)]
            case Streamed(delta=BlockDelta(delta=ThinkingDelta(thinking=thought)), parent=parent):
                return [AssistantMessage(thought=thought, agent_id=parent)]
            case PromptAdded(content=content, synthetic=False, parent=None):
                return [UserMessage(text_of(content))]
            case ToolCalled(use=use, state=state, title=title, parent=parent):
                status: Status = "pending" if state == "pending" else "in_progress"
                return [ToolCallMessage(use.id, use.name, status, title, use.input, agent_id=parent)]
            case ToolEnded():
                return [self._ended(event)]
            case PermissionAsked(request_id=request_id, use=use, title=title, reason=reason):
                self.asked[request_id] = event
                return [
                    ToolCallMessage(
                        use.id,
                        use.name,
                        "pending",
                        title,
                        use.input,
                        request_id=request_id,
                        confirmation=reason or title,
                    )
                ]
            case QuestionAsked(request_id=request_id, tool_use_id=use_id, questions=questions):
                return [
                    ToolCallMessage(use_id, "AskUserQuestion", "pending", request_id=request_id, questions=questions)
                ]
            case PlanProposed(request_id=request_id, tool_use_id=use_id, plan=plan):
                return [ToolCallMessage(use_id, "ExitPlanMode", "pending", request_id=request_id, plan=plan)]
            case TodosChanged(todos=todos):
                return [PlanMessage(tuple(PlanEntry(todo.content, todo.status, todo.priority) for todo in todos))]
            case TurnEnded():
                return self._finished(event)
            case _:
                return []

    def _ended(self, event: ToolEnded) -> ToolCallMessage:
        status: Status = "failed" if event.outcome != "ok" else "completed"
        return ToolCallMessage(
            event.tool_use_id, event.name, status, output=text_of(event.result.content), agent_id=event.parent
        )

    def _finished(self, event: TurnEnded) -> list[Message]:
        self.asked.clear()
        finish = TaskFinishMessage(STOP.get(event.reason, "end_turn"))
        if event.reason in ("error", "prompt_too_long"):
            login = event.error_kind == "authentication_failed"
            return [ErrorMessage(event.error_status or -1, event.error or event.reason, login), finish]
        return [finish]
