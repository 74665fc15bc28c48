"""The person is at the other end of the pipe: our asks as control requests, the host's answers as commands."""

from collections.abc import Awaitable, Callable
from typing import Literal, cast

from weft.errors import WeftError
from weft.permissions.suggest import to_update
from weft.protocols.stream_json import is_json
from weft.schema.commands import Command, InputGiven, PermissionAnswered, PlanAnswered, QuestionAnswered
from weft.schema.content import Json, ToolUse
from weft.schema.events import (
    MODES,
    InputRequested,
    Mode,
    PermissionAsked,
    PlanProposed,
    QuestionAsked,
    RuleSuggestion,
)

Ask = Callable[[str, str, Json], Awaitable[Json]]
"""(request id, subtype, fields) to the host's answer. Raises `WeftError` when it cannot or will not answer."""

PLACES: dict[str, Literal["session", "local", "project", "user"]] = {
    "session": "session",
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}


async def permission(event: PermissionAsked, ask: Ask) -> Command:
    fields: Json = {
        "tool_name": event.use.name,
        "display_name": event.use.name,
        "input": event.use.input,
        "tool_use_id": event.use.id,
        "description": event.title,
        "permission_suggestions": [to_update(one) for one in event.suggestions],
        "decision_reason": event.reason,
        "decision_reason_type": event.reason_kind,
    }
    if event.blocked_path is not None:
        fields["blocked_path"] = event.blocked_path
    if event.parent is not None:
        fields["agent_id"] = event.parent
    try:
        answer = await ask(event.request_id, "can_use_tool", fields)
    except WeftError as error:
        return PermissionAnswered(event.request_id, "deny", message=f"Tool permission request failed: Error: {error}")
    return to_permission(event.request_id, answer)


async def question(event: QuestionAsked, use: ToolUse, ask: Ask) -> Command:
    try:
        answer = await ask(event.request_id, "can_use_tool", _plain(use))
    except WeftError:
        return QuestionAnswered(event.request_id, declined=True)
    changed = answer.get("updatedInput")
    answers = changed.get("answers") if is_json(changed) else None
    if answer.get("behavior") != "allow" or not is_json(answers):
        return QuestionAnswered(event.request_id, declined=True)
    return QuestionAnswered(event.request_id, {key: _joined(value) for key, value in answers.items()})


async def plan(event: PlanProposed, use: ToolUse, ask: Ask) -> Command:
    try:
        answer = await ask(event.request_id, "can_use_tool", _plain(use))
    except WeftError as error:
        return PlanAnswered(event.request_id, approved=False, feedback=str(error))
    if answer.get("behavior") != "allow":
        return PlanAnswered(event.request_id, approved=False, feedback=str(answer.get("message") or ""))
    return PlanAnswered(event.request_id, approved=True, mode=_wanted_mode(answer) or "default")


async def elicitation(event: InputRequested, ask: Ask) -> Command:
    fields: Json = {"mcp_server_name": event.server, "message": event.message}
    if event.schema is not None:
        fields |= {"mode": "form", "requested_schema": event.schema}
    if event.url is not None:
        fields |= {"mode": "url", "url": event.url}
    try:
        answer = await ask(event.request_id, "elicitation", fields)
    except WeftError:
        return InputGiven(event.request_id, "decline")
    action = answer.get("action")
    content = answer.get("content")
    if action not in ("accept", "decline", "cancel"):
        return InputGiven(event.request_id, "cancel")
    return InputGiven(event.request_id, action, content if is_json(content) else None)


def to_permission(request_id: str, answer: Json) -> PermissionAnswered:
    """The SDK's PermissionResult as a command."""
    if answer.get("behavior") != "allow":
        return PermissionAnswered(
            request_id,
            "deny",
            message=str(answer.get("message") or ""),
            interrupt=answer.get("interrupt") is True,
        )
    changed = answer.get("updatedInput")
    updates = _updates(answer)
    return PermissionAnswered(
        request_id,
        "allow",
        input=changed if is_json(changed) else None,
        rules=tuple(rule for update in updates for rule in _rules(update)),
        mode=_wanted_mode(answer),
        directories=tuple(
            str(folder)
            for update in updates
            if update.get("type") == "addDirectories"
            for folder in cast("list[object]", update.get("directories") or [])
        ),
    )


def _plain(use: ToolUse) -> Json:
    return {
        "tool_name": use.name,
        "display_name": use.name,
        "input": use.input,
        "tool_use_id": use.id,
        "requires_user_interaction": True,
    }


def _joined(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in cast("list[object]", value))
    return str(value)


def _updates(answer: Json) -> list[Json]:
    found = answer.get("updatedPermissions")
    return [one for one in cast("list[object]", found) if is_json(one)] if isinstance(found, list) else []


def _wanted_mode(answer: Json) -> Mode | None:
    for update in _updates(answer):
        if update.get("type") == "setMode" and update.get("mode") in MODES:
            return cast(Mode, update["mode"])
    return None


def _rules(update: Json) -> list[RuleSuggestion]:
    if update.get("type") not in ("addRules", "replaceRules"):
        return []
    behavior = update.get("behavior")
    place = PLACES.get(str(update.get("destination")), "session")
    rules = [one for one in cast("list[object]", update.get("rules") or []) if is_json(one)]
    return [
        RuleSuggestion(_rule_text(rule), place, behavior if behavior in ("allow", "deny", "ask") else "allow")
        for rule in rules
    ]


def _rule_text(rule: Json) -> str:
    name, content = str(rule.get("toolName") or ""), rule.get("ruleContent")
    return name if content is None else f"{name}({content})"
