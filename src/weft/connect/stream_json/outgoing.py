"""Commands and answers as control messages, and the agent's requests as our asks."""

from typing import Literal, cast

from weft.connect.stream_json.read import Reader
from weft.protocols.stream_json import ControlRequest, is_json
from weft.schema.commands import (
    Answer,
    Cancel,
    Command,
    Compact,
    DropPrompt,
    InputGiven,
    PermissionAnswered,
    PlanAnswered,
    QuestionAnswered,
    Rewind,
    ServerCommand,
    SetMode,
    SetModel,
    SetThinking,
    SetTitle,
    StopTask,
)
from weft.schema.content import Json, ToolUse
from weft.schema.events import (
    AgentEvent,
    InputRequested,
    PermissionAsked,
    PlanProposed,
    Question,
    QuestionAsked,
    QuestionOption,
    RuleSuggestion,
    SessionChanged,
)

DESTINATIONS = {"session": "session", "local": "localSettings", "project": "projectSettings", "user": "userSettings"}
PLACES: dict[str, Literal["session", "local", "project", "user"]] = {
    "session": "session",
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}


def to_ask(request: ControlRequest) -> AgentEvent | None:
    """What the agent wants of the person; None for a request that is not that."""
    body = request.body
    if request.subtype == "elicitation":
        schema = body.get("requested_schema")
        url = body.get("url")
        return InputRequested(
            request_id=request.id,
            server=str(body.get("mcp_server_name") or ""),
            message=str(body.get("message") or ""),
            schema=schema if is_json(schema) else None,
            url=url if isinstance(url, str) else None,
        )
    if request.subtype != "can_use_tool":
        return None
    given = body.get("input")
    use = ToolUse(str(body.get("tool_use_id") or ""), str(body.get("tool_name") or ""), given if is_json(given) else {})
    if use.name == "AskUserQuestion":
        return QuestionAsked(request_id=request.id, tool_use_id=use.id, questions=_questions(use.input))
    if use.name == "ExitPlanMode":
        return PlanProposed(request_id=request.id, tool_use_id=use.id, plan=str(use.input.get("plan") or ""))
    blocked = body.get("blocked_path")
    return PermissionAsked(
        request_id=request.id,
        use=use,
        title=str(body.get("description") or body.get("display_name") or use.name),
        reason=str(body.get("decision_reason") or ""),
        reason_kind=str(body.get("decision_reason_type") or ""),
        suggestions=tuple(_suggestions(body)),
        blocked_path=blocked if isinstance(blocked, str) else None,
    )


def _questions(value: Json) -> tuple[Question, ...]:
    found: list[Question] = []
    rows = value.get("questions")
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        if is_json(row):
            options = row.get("options")
            found.append(
                Question(
                    question=str(row.get("question") or ""),
                    header=str(row.get("header") or ""),
                    multiple=row.get("multiSelect") is True,
                    options=tuple(
                        QuestionOption(str(one.get("label") or ""), str(one.get("description") or ""))
                        for one in (cast("list[object]", options) if isinstance(options, list) else [])
                        if is_json(one)
                    ),
                )
            )
    return tuple(found)


def _suggestions(body: Json) -> list[RuleSuggestion]:
    found: list[RuleSuggestion] = []
    updates = body.get("permission_suggestions")
    for update in cast("list[object]", updates) if isinstance(updates, list) else []:
        if not is_json(update) or update.get("type") != "addRules":
            continue
        rules = update.get("rules")
        place = PLACES.get(str(update.get("destination")), "session")
        for rule in cast("list[object]", rules) if isinstance(rules, list) else []:
            if is_json(rule):
                name, content = str(rule.get("toolName") or ""), rule.get("ruleContent")
                text = name if content is None else f"{name}({content})"
                found.append(RuleSuggestion(text, place))
    return found


def to_answer(answer: Answer, request: ControlRequest) -> Json:
    """The answer's shape on the wire."""
    given = request.body.get("input")
    value: Json = given if is_json(given) else {}
    match answer:
        case PermissionAnswered(behavior="allow"):
            allowed: Json = {"behavior": "allow", "updatedInput": answer.input if answer.input is not None else value}
            updates: list[Json] = [_update(rule) for rule in answer.rules]
            if answer.mode is not None:
                updates.append({"type": "setMode", "mode": answer.mode, "destination": "session"})
            return {**allowed, "updatedPermissions": updates} if updates else allowed
        case PermissionAnswered():
            denied: Json = {"behavior": "deny", "message": answer.message or "The person refused this call."}
            return {**denied, "interrupt": True} if answer.interrupt else denied
        case QuestionAnswered(declined=True):
            return {"behavior": "deny", "message": "The person did not answer."}
        case QuestionAnswered(answers=answers):
            return {"behavior": "allow", "updatedInput": {**value, "answers": answers}}
        case PlanAnswered(approved=True, mode=mode):
            update: Json = {"type": "setMode", "mode": mode, "destination": "session"}
            return {"behavior": "allow", "updatedInput": value, "updatedPermissions": [update]}
        case PlanAnswered(feedback=feedback):
            return {"behavior": "deny", "message": feedback or "Keep planning."}
        case InputGiven(action=action, content=content):
            return {"action": action, **({"content": content} if content is not None else {})}


def _update(rule: RuleSuggestion) -> Json:
    name, _, rest = rule.rule.partition("(")
    row: Json = {"toolName": name, **({"ruleContent": rest[:-1]} if rest else {})}
    return {
        "type": "addRules",
        "rules": [row],
        "behavior": rule.behavior,
        "destination": DESTINATIONS[rule.destination],
    }


def to_control(command: Command) -> tuple[str, Json] | str | None:
    """A control request, a prompt that does the same, or None where the protocol has nothing for it."""
    match command:
        case Cancel(drop_queue=drop):
            return "interrupt", {"cancel_queued": True} if drop else {}
        case SetMode(mode=mode):
            return "set_permission_mode", {"mode": "default" if mode == "smart" else mode}
        case SetModel(model=model):
            return "set_model", {"model": model}
        case SetThinking(thinking=thinking):
            return "set_max_thinking_tokens", {"max_thinking_tokens": thinking.budget or 0}
        case SetTitle(title=title):
            return "rename_session", {"title": title}
        case StopTask(task_id=task_id):
            return "stop_task", {"task_id": task_id}
        case ServerCommand(server=server, action="reconnect"):
            return "mcp_reconnect", {"serverName": server}
        case ServerCommand(server=server, action=action):
            return "mcp_toggle", {"serverName": server, "enabled": action == "enable"}
        case DropPrompt(id=message_id):
            return "cancel_async_message", {"message_uuid": message_id}
        case Rewind(message_id=message_id, files=True):
            return "rewind_files", {"user_message_id": message_id}
        case Compact(instructions=instructions):
            return f"/compact {instructions}".strip()
        case _:
            return None


def assumed(subtype: str, fields: Json, reader: Reader) -> list[AgentEvent]:
    """What a successful request changed, where the agent does not say so itself."""
    import msgspec

    changes: Json = {}
    if subtype == "set_model" and isinstance(fields.get("model"), str):
        changes["model"] = fields["model"]
    elif subtype == "set_permission_mode":
        changes["mode"] = fields["mode"]
    elif subtype == "rename_session":
        changes["title"] = fields["title"]
    if not changes:
        return []
    info = msgspec.structs.replace(reader.info, **changes)
    if info == reader.info:
        return []
    reader.info = info
    return [SessionChanged(info=info, reason=subtype)]
