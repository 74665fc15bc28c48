"""A page's words to an agent's commands: prompts with what is attached to them, and answers to what was asked."""

from typing import assert_never

from weft.errors import UsageError
from weft.schema import commands as c
from weft.schema.content import AnyBlock, Base64Source, Content, Document, Image, Json, Text, TextSource
from weft.schema.display import DiffView
from weft.schema.events import PermissionAsked, RuleSuggestion
from weft.surfaces.diffs import chosen_input
from weft.surfaces.web import messages as m
from weft.surfaces.web.conversation import Conversation
from weft.surfaces.web.hub import SELECTION
from weft.surfaces.web.ports import EditorSight
from weft.surfaces.web.stream import CONTEXT
from weft.surfaces.web.views import PICTURES


def to_content(message: m.SendMessage, sight: EditorSight | None) -> Content:
    """
    Raises:
        UsageError: something attached cannot be sent.
    """
    mentions = " ".join(f"@{item.path}" for item in message.attachments if item.path)
    text = "\n\n".join(part for part in (message.text, mentions) if part.strip())
    blocks: list[AnyBlock] = []
    for item in message.attachments:
        if item.media_type:
            if item.media_type not in PICTURES:
                raise UsageError(f"{item.name or 'This'} is not a picture that can be sent: {item.media_type}")
            blocks.append(Image(Base64Source(item.media_type, item.data)))
        elif item.text is not None:
            blocks.append(Document(TextSource(item.text), title=item.name or None))
    if text:
        blocks.append(Text(text))
    if blocks and sight is not None and sight.path:
        blocks.append(Text(_editor_context(sight)))
    return tuple(blocks)


def _editor_context(sight: EditorSight) -> str:
    lines = [CONTEXT, f"The person has {sight.path} open in the editor."]
    if sight.text:
        lines += [f"Lines {sight.line_start} to {sight.line_end} are selected:", sight.text[:SELECTION]]
    return "\n".join([*lines, "</editor-context>"])


async def answer(conversation: Conversation, message: m.AnswerMessage) -> bool:
    """Passes the answer on. False when the request is not open in this conversation: somebody was faster."""
    if conversation.ask(message.request_id) is None:
        return False
    match message:
        case m.ToolApproval():
            asked = conversation.asked(message.request_id)
            if asked is None:
                return False
            command: c.Answer = permission(message, asked)
            word = "allow" if command.behavior == "allow" else "reject"
            if word == "allow" and message.outcome == "alwaysAllow":
                word = "always"
        case m.QuestionAnswer(answers=answers, declined=declined):
            command = c.QuestionAnswered(message.request_id, answers, declined)
            word = "declined" if declined else "; ".join(answers.values())
        case m.PlanApprovalAnswer():
            command, word = plan(message), message.option
        case m.InputAnswer(action=action, content=content):
            command, word = c.InputGiven(message.request_id, action, content), action
        case _:
            assert_never(message)
    return await conversation.answer(message.request_id, command, word)


def permission(message: m.ToolApproval, asked: PermissionAsked) -> c.PermissionAnswered:
    """
    Raises:
        UsageError: the chosen hunks cannot be made into an input.
    """
    id = message.request_id
    if message.outcome == "reject":
        return c.PermissionAnswered(id, "deny", message=message.reason, interrupt=message.stop)
    input: Json | None = message.input
    if message.hunks is not None:
        diff = next((view for view in asked.preview if isinstance(view, DiffView)), None)
        if diff is None:
            raise UsageError("There is no diff to choose from")
        if not message.hunks:
            return c.PermissionAnswered(id, "deny", message=message.reason or "Every change was rejected.")
        input = chosen_input(asked.use.name, asked.use.input, diff, message.hunks)
        if input is None:
            raise UsageError("These parts cannot be taken alone; accept or reject the whole change")
    return c.PermissionAnswered(id, "allow", input=input, rules=rules(message, asked), message=message.reason)


def rules(message: m.ToolApproval, asked: PermissionAsked) -> tuple[RuleSuggestion, ...]:
    """The rules that hold for as long as the person said. An agent may suggest another rule for each place (a path
    reads differently in the user's file); what it suggests for no place is written as it is."""
    if message.outcome != "alwaysAllow" or message.scope == "once":
        return ()
    scope = message.scope
    own = [suggestion for suggestion in asked.suggestions if suggestion.destination == scope]
    found = {suggestion.rule: suggestion for suggestion in own or asked.suggestions}
    return tuple(RuleSuggestion(rule, scope, suggestion.behavior) for rule, suggestion in found.items())


def plan(message: m.PlanApprovalAnswer) -> c.PlanAnswered:
    match message.option:
        case "smart" | "default":
            return c.PlanAnswered(message.request_id, True, mode=message.option, feedback=message.feedback)
        case "keep":
            return c.PlanAnswered(message.request_id, False, mode="plan")
        case "feedback":
            return c.PlanAnswered(message.request_id, False, mode="plan", feedback=message.feedback)
