"""What goes into an agent: `Command`, a closed union. Each surface maps its clicks, keys and frames to these.

Answers name the `request_id` of the event that asked; an answer to an unknown or closed request is ignored.
"""

from typing import Literal, TypeAlias

import msgspec

from weft.schema.content import Content, Json
from weft.schema.events import Mode, RuleSuggestion
from weft.schema.messages import ThinkingConfig


class BaseCommand(msgspec.Struct, frozen=True, tag_field="command", omit_defaults=True):
    """The base of all commands; the tag on a wire of ours is the class name."""


class Prompt(BaseCommand, frozen=True, tag=True):
    """Something for the agent to do. While a turn runs it waits, or joins the turn after the next tool results
    when `steer` is true. `verbatim` content is not read for `/`, `@`, `!` or `#`."""

    content: str | Content
    id: str = ""
    steer: bool = True
    verbatim: bool = False
    synthetic: bool = False
    origin: str = "human"


class DropPrompt(BaseCommand, frozen=True, tag=True):
    """Takes a waiting prompt back; `replace` puts another text in its place."""

    id: str
    replace: str | None = None


class Cancel(BaseCommand, frozen=True, tag=True):
    """Ends the running turn, if there is one. Waiting prompts stay unless `drop_queue`."""

    drop_queue: bool = False


class PermissionAnswered(BaseCommand, frozen=True, tag=True):
    """`input` replaces the tool's input; it is checked again. `rules` are written before the tool runs.
    `message` is the reason of a denial, for the model. `interrupt` ends the turn as well."""

    request_id: str
    behavior: Literal["allow", "deny"]
    input: Json | None = None
    rules: tuple[RuleSuggestion, ...] = ()
    message: str = ""
    interrupt: bool = False
    mode: Mode | None = None
    directories: tuple[str, ...] = ()


class QuestionAnswered(BaseCommand, frozen=True, tag=True):
    """Answers by question text; several choices are joined by ", ". `declined` says that the person will not."""

    request_id: str
    answers: dict[str, str] = {}
    declined: bool = False


class PlanAnswered(BaseCommand, frozen=True, tag=True):
    """Approves the plan and goes on in `mode`, or keeps planning, with `feedback` for the model."""

    request_id: str
    approved: bool
    mode: Mode = "default"
    feedback: str = ""


class InputGiven(BaseCommand, frozen=True, tag=True):
    """Answers an `InputRequested`, once, while it is open. `content` is the filled form of an accepted one."""

    request_id: str
    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


class SetMode(BaseCommand, frozen=True, tag=True):
    """Any time; the next tool call is judged by it. A mode that policy forbids changes nothing."""

    mode: Mode


class SetModel(BaseCommand, frozen=True, tag=True):
    """`None` goes back to the default."""

    model: str | None


class SetThinking(BaseCommand, frozen=True, tag=True):
    """Any time; the next request uses it."""

    thinking: ThinkingConfig


class SetTitle(BaseCommand, frozen=True, tag=True):
    """Any time; the conversation is listed under it."""

    title: str


class Compact(BaseCommand, frozen=True, tag=True):
    """Between turns, or queued behind the one that runs. `instructions` say what the summary must keep."""

    instructions: str = ""


class Rewind(BaseCommand, frozen=True, tag=True):
    """Back to before the user message `message_id`: its files, the conversation, or both."""

    message_id: str
    files: bool = True
    conversation: bool = True


class StopTask(BaseCommand, frozen=True, tag=True):
    """While the task runs: it is ended, and `TaskChanged` tells so. For one that has ended it does nothing."""

    task_id: str


class ServerCommand(BaseCommand, frozen=True, tag=True):
    """An MCP server is switched on or off, or connected again."""

    server: str
    action: Literal["enable", "disable", "reconnect"]


class AppCall(BaseCommand, frozen=True, tag=True):
    """The page of an MCP App calls a tool of its own server. It goes through the gate like a call of the model's; its
    result comes as `ToolEnded` with this id, and never joins the history."""

    id: str
    server: str
    tool: str
    arguments: Json = {}


class Complete(BaseCommand, frozen=True, tag=True):
    """What could come next after `text`, the prompt up to the cursor? Answered by `Reported` with a `Completed` of this
    id, empty on any doubt. It is for what only the agent knows: arguments of servers' prompts, servers' resources. An
    agent that cannot complete says nothing."""

    id: str
    text: str


Answer: TypeAlias = PermissionAnswered | QuestionAnswered | PlanAnswered | InputGiven
Command: TypeAlias = (
    Prompt
    | DropPrompt
    | Cancel
    | Answer
    | SetMode
    | SetModel
    | SetThinking
    | SetTitle
    | Compact
    | Rewind
    | StopTask
    | ServerCommand
    | AppCall
    | Complete
)
