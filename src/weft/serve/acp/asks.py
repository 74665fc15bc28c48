"""Our asking events as requests to an ACP client, and its answers as our commands. Pure."""

from typing import TypeAlias

import msgspec

from weft.protocols.acp import session as s
from weft.protocols.acp.content import ToolContentBlock, text
from weft.protocols.acp.updates import ToolFields
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Json
from weft.schema.display import TextView
from weft.serve.acp import iflow
from weft.serve.acp.voice import to_preview

Ask: TypeAlias = e.PermissionAsked | e.QuestionAsked | e.PlanProposed | e.InputRequested

ALLOW, SESSION, ALWAYS, REJECT = "proceed_once", "proceed_session", "proceed_always", "cancel"
_KEPT = {SESSION: ("session",), ALWAYS: ("local", "project", "user")}
"""Where the rules of an option are kept: the first of these that was suggested."""


class Answered(msgspec.Struct):
    outcome: s.Outcome | None = None


def permission(event: e.PermissionAsked, session_id: str, *, dialect: bool) -> s.PermissionRequest:
    options = [s.PermissionOption(option_id=ALLOW, name="Allow once", kind="allow_once")]
    for id_, words in ((SESSION, "Allow {} for this session"), (ALWAYS, "Always allow {} in this project")):
        if rules := rules_of(event, id_):
            name = words.format(", ".join(rule.rule for rule in rules))
            options.append(s.PermissionOption(option_id=id_, name=name, kind="allow_always"))
    options.append(s.PermissionOption(option_id=REJECT, name="Reject", kind="reject_once"))
    content = to_preview(event.preview)
    words = [view.text for view in event.preview if isinstance(view, TextView)]
    if event.reason:
        words.append(event.reason)
    content += [ToolContentBlock(content=text(one)) for one in words]
    call = ToolFields(
        tool_call_id=event.use.id,
        title=event.title or event.use.name,
        name=event.use.name,
        kind=event.kind,
        status="pending",
        content=tuple(content) or None,
        raw_input=event.use.input,
    )
    if dialect:
        call = iflow.dressed(msgspec.structs.replace(call, type=event.kind), event.use.name, event.use.input, None)
    return s.PermissionRequest(session_id=session_id, tool_call=call, options=tuple(options))


def rules_of(event: e.PermissionAsked, option: str) -> tuple[e.RuleSuggestion, ...]:
    """The suggested rules, for one place to keep them in."""
    for place in _KEPT.get(option, ()):
        if found := tuple(rule for rule in event.suggestions if rule.destination == place):
            return found
    return ()


def permission_answer(event: e.PermissionAsked, raw: msgspec.Raw) -> c.PermissionAnswered:
    """Anything but one of our allowing options is a refusal."""
    chosen = chosen_option(raw)
    if chosen in (SESSION, ALWAYS):
        return c.PermissionAnswered(event.request_id, "allow", rules=rules_of(event, chosen))
    if chosen == ALLOW:
        return c.PermissionAnswered(event.request_id, "allow")
    return c.PermissionAnswered(event.request_id, "deny", message="The user refused this call.")


def chosen_option(raw: msgspec.Raw) -> str | None:
    try:
        outcome = msgspec.json.decode(raw, type=Answered).outcome
    except msgspec.MsgspecError:
        return None
    return outcome.option_id if outcome and outcome.outcome == "selected" else None


# --- plans ----------------------------------------------------------------------------------------------------


def plan(event: e.PlanProposed, session_id: str) -> s.PermissionRequest:
    call = ToolFields(
        tool_call_id=event.tool_use_id or event.request_id,
        title="Ready to carry out this plan?",
        kind="switch_mode",
        status="pending",
        content=(ToolContentBlock(content=text(event.plan)),),
        raw_input={"plan": event.plan},
    )
    options = (
        s.PermissionOption(option_id=ALLOW, name="Yes, and ask before each change", kind="allow_once"),
        s.PermissionOption(option_id=ALWAYS, name="Yes, and accept edits", kind="allow_always"),
        s.PermissionOption(option_id=REJECT, name="No, keep planning", kind="reject_once"),
    )
    return s.PermissionRequest(session_id=session_id, tool_call=call, options=options)


def plan_answer(event: e.PlanProposed, raw: msgspec.Raw) -> c.PlanAnswered:
    chosen = chosen_option(raw)
    mode: e.Mode = "acceptEdits" if chosen == ALWAYS else "default"
    return c.PlanAnswered(event.request_id, chosen in (ALLOW, ALWAYS), mode)


class _Approved(msgspec.Struct):
    approved: bool = False


def iflow_plan_answer(event: e.PlanProposed, raw: msgspec.Raw) -> c.PlanAnswered:
    return c.PlanAnswered(event.request_id, msgspec.json.decode(raw, type=_Approved, strict=False).approved)


# --- questions ------------------------------------------------------------------------------------------------


def form(event: e.QuestionAsked, session_id: str) -> s.Elicitation:
    """One property per question; where other words may be given, one more for them."""
    properties: Json = {}
    for number, question in enumerate(event.questions):
        shape: Json = {"title": question.header or question.question, "description": question.question}
        options: list[Json] = [
            {"const": o.label, "title": o.label, **({"description": o.description} if o.description else {})}
            for o in question.options
        ]
        if question.multiple and options:
            shape |= {"type": "array", "items": {"anyOf": options}}
        elif options:
            shape |= {"type": "string", "oneOf": options}
        else:
            shape["type"] = "string"
        properties[f"q{number}"] = shape
        if options and question.free_text:
            properties[f"q{number}_other"] = {"type": "string", "title": "Something else"}
    message = event.questions[0].question if len(event.questions) == 1 else "A few questions before the work goes on"
    schema: Json = {"type": "object", "properties": properties}
    return s.Elicitation(
        mode="form",
        message=message,
        session_id=session_id,
        tool_call_id=event.tool_use_id or None,
        requested_schema=schema,
    )


class _Form(msgspec.Struct):
    action: str = "cancel"
    content: Json | None = None


def form_answer(event: e.QuestionAsked, raw: msgspec.Raw) -> c.QuestionAnswered:
    given = msgspec.json.decode(raw, type=_Form, strict=False)
    if given.action != "accept":
        return c.QuestionAnswered(event.request_id, declined=True)
    content = given.content or {}
    answers: dict[str, str] = {}
    for number, question in enumerate(event.questions):
        value = content.get(f"q{number}_other") or content.get(f"q{number}")
        if value:
            answers[question.question] = _joined(value)
    return c.QuestionAnswered(event.request_id, answers)


def _joined(value: object) -> str:
    try:
        return ", ".join(msgspec.convert(value, list[str]))
    except msgspec.ValidationError:
        return str(value)


def iflow_questions(event: e.QuestionAsked, session_id: str) -> Json:
    return {
        "sessionId": session_id,
        "questions": [
            {
                "question": q.question,
                "header": q.header,
                "multiSelect": q.multiple,
                "options": [{"label": o.label, "description": o.description} for o in q.options],
            }
            for q in event.questions
        ],
    }


class _Answers(msgspec.Struct):
    answers: dict[str, object] | None = None


def iflow_answer(event: e.QuestionAsked, raw: msgspec.Raw) -> c.QuestionAnswered:
    """By the question's text, or by its number as a string: clients do either."""
    given = msgspec.json.decode(raw, type=_Answers, strict=False).answers or {}
    answers: dict[str, str] = {}
    for number, question in enumerate(event.questions):
        value = given.get(question.question, given.get(str(number), given.get(question.header)))
        if value:
            answers[question.question] = _joined(value)
    return c.QuestionAnswered(event.request_id, answers, declined=not answers)


def choice(event: e.QuestionAsked, question: e.Question, session_id: str) -> s.PermissionRequest:
    """A client without forms: one question as a permission request, an option per answer."""
    call = ToolFields(
        tool_call_id=event.tool_use_id or event.request_id,
        title=question.question,
        kind="think",
        status="pending",
        raw_input={"question": question.question},
    )
    options = [
        s.PermissionOption(option_id=f"answer_{n}", name=option.label, kind="allow_once")
        for n, option in enumerate(question.options)
    ]
    options.append(s.PermissionOption(option_id=REJECT, name="No answer", kind="reject_once"))
    return s.PermissionRequest(session_id=session_id, tool_call=call, options=tuple(options))


def chosen_answer(question: e.Question, raw: msgspec.Raw) -> str | None:
    chosen = chosen_option(raw)
    for number, option in enumerate(question.options):
        if chosen == f"answer_{number}":
            return option.label
    return None


# --- input for MCP servers ------------------------------------------------------------------------------------


def visit_id(session_id: str, request_id: str) -> str:
    """One connection may have several sessions, which count their requests alike."""
    return f"{session_id}-{request_id}"


def input_request(event: e.InputRequested, session_id: str) -> s.Elicitation:
    message = f"{event.server}: {event.message}" if event.server else event.message
    if event.url is not None:
        return s.Elicitation(
            mode="url",
            message=message,
            session_id=session_id,
            elicitation_id=visit_id(session_id, event.request_id),
            url=event.url,
        )
    schema: Json = {"type": "object", "properties": {}, **(event.schema or {})}
    return s.Elicitation(mode="form", message=message, session_id=session_id, requested_schema=schema)


def input_answer(event: e.InputRequested, raw: msgspec.Raw) -> c.InputGiven:
    given = msgspec.json.decode(raw, type=_Form, strict=False)
    match given.action:
        case "accept" | "decline" as action:
            return c.InputGiven(event.request_id, action, given.content)
        case _:
            return c.InputGiven(event.request_id, "cancel")


def refusal(event: Ask) -> c.Answer:
    """What is answered for a client that cannot be asked, or would not say."""
    match event:
        case e.PermissionAsked(request_id=id_):
            return c.PermissionAnswered(id_, "deny", message="The client could not be asked.")
        case e.QuestionAsked(request_id=id_):
            return c.QuestionAnswered(id_, declined=True)
        case e.PlanProposed(request_id=id_):
            return c.PlanAnswered(id_, False)
        case e.InputRequested(request_id=id_):
            return c.InputGiven(id_, "decline")
