"""What an agent asks of the person, as our events; and the person's answers, as the agent wants them. Pure.

Agents ask the same things in different ways: a permission request, one of kind `switch_mode` for a plan, a form
(elicitation) or a marked permission request for questions, and iFlow's own two methods. Options are chosen by their
kind, because every agent has its own ids.
"""

from typing import TypeAlias, cast

import msgspec

from weft.connect.acp.fold import Fold, to_kind
from weft.connect.acp.modes import to_mode
from weft.protocols.acp.content import DiffContent, TextContent, ToolContentBlock
from weft.protocols.acp.session import Elicitation, PermissionOption, PermissionRequest
from weft.protocols.acp.updates import ToolFields
from weft.schema import commands as c
from weft.schema import events as e
from weft.schema.content import Json
from weft.schema.display import DiffView, Display, TextView

Ask: TypeAlias = e.PermissionAsked | e.QuestionAsked | e.PlanProposed | e.InputRequested
CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


class Field(msgspec.Struct, frozen=True):
    """A question of ours and the form's property that it stands for."""

    name: str
    question: str
    multiple: bool = False
    labels: dict[str, str] = {}
    """What a person sees, to what the form wants."""


class Pending(msgspec.Struct, frozen=True):
    """A request that waits: how its answer is written depends on what it was."""

    event: Ask
    shape: str
    options: tuple[PermissionOption, ...] = ()
    fields: tuple[Field, ...] = ()
    visit: str = ""
    """The agent's name for a visit to an address, by which it tells when the person has been there."""


class _Meta(msgspec.Struct):
    meta: Json | None = msgspec.field(default=None, name="_meta")


def to_ask(method: str, params: msgspec.Raw, request_id: str, fold: Fold) -> Pending | None:
    """The ask behind a request; None for a method that asks nothing.

    Raises:
        msgspec.ValidationError: the parameters are not what the method has.
    """
    match method:
        case "session/request_permission":
            meta = msgspec.json.decode(params, type=_Meta).meta
            return _permission(msgspec.json.decode(params, type=PermissionRequest), meta or {}, request_id, fold)
        case "elicitation/create":
            return _elicitation(msgspec.json.decode(params, type=Elicitation), request_id)
        case "_iflow/user/questions":
            value = msgspec.json.decode(params, type=dict[str, object])
            questions, fields = _questions(value.get("questions"))
            return Pending(
                e.QuestionAsked(request_id=request_id, tool_use_id="", questions=questions), "iflow", (), fields
            )
        case "_iflow/plan/exit":
            plan = str(msgspec.json.decode(params, type=dict[str, object]).get("plan", ""))
            return Pending(e.PlanProposed(request_id=request_id, tool_use_id="", plan=plan), "iflow_plan")
        case _:
            return None


def _permission(request: PermissionRequest, meta: Json, request_id: str, fold: Fold) -> Pending:
    call = request.tool_call
    use = fold.use_of(call.tool_call_id)
    asked = meta.get("qwenQuestions")
    if asked:
        questions, fields = _questions(asked)
        event = e.QuestionAsked(request_id=request_id, tool_use_id=use.id, questions=questions)
        return Pending(event, "qwen", request.options, fields)
    if call.kind == "switch_mode" and (plan := _plan(call, use.input)):
        return Pending(e.PlanProposed(request_id=request_id, tool_use_id=use.id, plan=plan), "plan", request.options)
    always = any(option.kind == "allow_always" for option in request.options)
    event = e.PermissionAsked(
        request_id=request_id,
        use=use,
        title=call.title or use.name,
        kind=to_kind(call.kind),
        suggestions=(e.RuleSuggestion(use.name, "session"),) if always else (),
        preview=_preview(call),
    )
    return Pending(event, "permission", request.options)


def _plan(call: ToolFields, input_: Json) -> str:
    if isinstance(input_.get("plan"), str):
        return str(input_["plan"])
    blocks = [held.content for held in call.content or () if isinstance(held, ToolContentBlock)]
    return "\n".join(block.text for block in blocks if isinstance(block, TextContent))


def _preview(call: ToolFields) -> tuple[Display, ...]:
    out: list[Display] = []
    for content in call.content or ():
        match content:
            case DiffContent(path=path, old_text=old, new_text=new):
                out.append(DiffView(path, old, new))
            case ToolContentBlock(content=TextContent(text=text)):
                out.append(TextView(text))
            case _:
                pass
    return tuple(out)


class _Option(msgspec.Struct):
    label: str = ""
    description: str | None = None


class _Question(msgspec.Struct):
    question: str = ""
    header: str | None = None
    options: list[_Option] | None = None
    multi_select: bool = msgspec.field(default=False, name="multiSelect")


def _questions(value: object) -> tuple[tuple[e.Question, ...], tuple[Field, ...]]:
    asked = msgspec.convert(value or [], list[_Question], strict=False)
    questions = tuple(
        e.Question(
            q.question,
            q.header or "",
            tuple(e.QuestionOption(o.label, o.description or "") for o in q.options or ()),
            q.multi_select,
        )
        for q in asked
    )
    return questions, tuple(Field(str(n), q.question, q.multi_select) for n, q in enumerate(asked))


def _elicitation(request: Elicitation, request_id: str) -> Pending:
    if request.mode == "url" or request.url:
        event = e.InputRequested(request_id=request_id, server="agent", message=request.message, url=request.url or "")
        return Pending(event, "form", visit=request.elicitation_id or "")
    schema = request.requested_schema or {}
    properties = cast(Json, schema.get("properties")) if isinstance(schema.get("properties"), dict) else {}
    questions: list[e.Question] = []
    fields: list[Field] = []
    for name, raw in properties.items():
        shape = cast(Json, raw) if isinstance(raw, dict) else {}
        options, multiple = _choices(shape)
        if not options and shape.get("type") != "string":
            questions.clear()
            break
        text = str(shape.get("description") or shape.get("title") or request.message)
        if any(field.question == text for field in fields):
            text = f"{text} ({shape.get('title') or name})"
        labels = {label: value for label, value, _ in options}
        questions.append(
            e.Question(
                text,
                str(shape.get("title") or ""),
                tuple(e.QuestionOption(label, more) for label, _, more in options),
                multiple,
                free_text=not options,
            )
        )
        fields.append(Field(name, text, multiple, labels))
    if not questions:
        event = e.InputRequested(
            request_id=request_id,
            server="agent",
            message=request.message,
            schema=schema,
            tool_use_id=request.tool_call_id,
        )
        return Pending(event, "form")
    asked = e.QuestionAsked(request_id=request_id, tool_use_id=request.tool_call_id or "", questions=tuple(questions))
    return Pending(asked, "elicitation", (), tuple(fields))


def _choices(shape: Json) -> tuple[list[tuple[str, str, str]], bool]:
    """The values that a property may have, as (label, value, description), and whether several may be chosen."""
    multiple = shape.get("type") == "array"
    if multiple:
        shape = cast(Json, shape.get("items")) if isinstance(shape.get("items"), dict) else {}
    held = shape.get("oneOf") or shape.get("anyOf")
    out: list[tuple[str, str, str]] = []
    if isinstance(held, list):
        for one in cast(list[object], held):
            option = cast(Json, one) if isinstance(one, dict) else {}
            value = str(option.get("const", ""))
            out.append((str(option.get("title") or value), value, str(option.get("description") or "")))
    elif isinstance(shape.get("enum"), list):
        out = [(str(value), str(value), "") for value in cast(list[object], shape["enum"])]
    return out, multiple


# --- answers --------------------------------------------------------------------------------------------------


def to_answer(pending: Pending, command: c.Answer) -> object:
    """The result that the agent waits for."""
    match command:
        case c.PermissionAnswered(behavior=behavior, rules=rules):
            return _selected(_option(pending.options, allow=behavior == "allow", always=bool(rules)))
        case c.PlanAnswered():
            return _plan_answer(pending, command)
        case c.QuestionAnswered():
            return _question_answer(pending, command)
        case c.InputGiven(action=action, content=content):
            return {"action": action, **({"content": content or {}} if action == "accept" else {})}


def _selected(option: PermissionOption | None) -> Json:
    if option is None:
        return CANCELLED
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def _option(options: tuple[PermissionOption, ...], *, allow: bool, always: bool) -> PermissionOption | None:
    if allow:
        order = ("allow_always", "allow_once") if always else ("allow_once", "allow_always")
    else:
        order = ("reject_always", "reject_once") if always else ("reject_once", "reject_always")
    return next((option for kind in order for option in options if option.kind == kind), None)


def _plan_answer(pending: Pending, command: c.PlanAnswered) -> Json:
    if pending.shape == "iflow_plan":
        return {"approved": command.approved}
    if not command.approved:
        return _selected(_option(pending.options, allow=False, always=False))
    allowed = [option for option in pending.options if option.kind.startswith("allow")]
    for option in allowed:
        words = option.option_id.replace("exit-plan-", "").replace("exit_plan_", "")
        if to_mode(words) == command.mode:
            return _selected(option)
    return _selected(_option(pending.options, allow=True, always=command.mode != "default"))


def _question_answer(pending: Pending, command: c.QuestionAnswered) -> Json:
    if pending.shape == "qwen":
        answers: Json = {field.name: command.answers.get(field.question, "") for field in pending.fields}
        if command.declined:
            return _selected(_option(pending.options, allow=False, always=False))
        return {**_selected(_option(pending.options, allow=True, always=False)), "answers": answers}
    if pending.shape == "iflow":
        return {"answers": {} if command.declined else dict(command.answers)}
    if command.declined:
        return {"action": "decline"}
    content: Json = {}
    for field in pending.fields:
        given = command.answers.get(field.question)
        if given is None:
            continue
        if field.multiple:
            content[field.name] = [field.labels.get(part, part) for part in given.split(", ") if part]
        else:
            content[field.name] = field.labels.get(given, given)
    return {"action": "accept", "content": content}


def refused(pending: Pending) -> object:
    """The answer when the turn is cancelled, or the person will never answer."""
    match pending.shape:
        case "permission" | "plan" | "qwen":
            return CANCELLED
        case "iflow":
            return {"answers": {}}
        case "iflow_plan":
            return {"approved": False}
        case _:
            return {"action": "cancel"}
