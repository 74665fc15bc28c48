"""What a page sends: the rows of seed 001 §10, with its spelling, and those that it did not have.

    seed 001   ready recheckCli pickFiles listWorkspaceFiles readFiles openFile sendMessage toolApproval
               questionAnswer planApproval cancelCurrent newConversation switchConversation deleteConversation
               clearConversation setMode setThink setModel setWorkspaceFolder
    ours       wakeAgent inputAnswer editQueued renameConversation forkConversation searchConversations
               olderMessages rewind exportConversation compact stopTask serverAction setAgent getPanel
               setSetting removeRule addFolder newLink completePrompt

Messages about a conversation name it; an answer counts only for a request that is open in that conversation.
"""

from typing import Final, Literal, TypeAlias

import msgspec

from weft.errors import RemoteProtocolError
from weft.schema.content import Json
from weft.schema.events import Mode


class PageMessage(msgspec.Struct, frozen=True, tag_field="type", rename="camel", kw_only=True):
    """The base of all. `request` is given back with the reply, where there is one."""

    request: int | None = None


class InConversation(PageMessage, frozen=True):
    conversation: str


class Ready(PageMessage, frozen=True, tag="ready"):
    """First on each socket. `seen` has the last chunk that this page saw of each conversation it shows."""

    seen: dict[str, int] = {}


class RecheckCli(PageMessage, frozen=True, tag="recheckCli"):
    pass


class PickFiles(PageMessage, frozen=True, tag="pickFiles"):
    """The contents of one folder of the workspace, for choosing files."""

    folder: str = ""


class ListWorkspaceFiles(PageMessage, frozen=True, tag="listWorkspaceFiles"):
    query: str = ""
    limit: int = 50


class ReadFiles(PageMessage, frozen=True, tag="readFiles"):
    paths: tuple[str, ...]


class OpenFile(PageMessage, frozen=True, tag="openFile"):
    path: str
    line: int | None = None


class Attachment(msgspec.Struct, frozen=True, rename="camel"):
    """An image (`media_type` and base64 `data`), a text that was dropped in (`name` and `text`), or a `path`."""

    name: str = ""
    path: str = ""
    text: str | None = None
    media_type: str = ""
    data: str = ""


class SendMessage(InConversation, frozen=True, tag="sendMessage"):
    """A page that does not know whether its message arrived sends it again, with the same `key`: it counts once."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    steer: bool = False
    context: bool = True
    key: str = ""


class ToolApproval(InConversation, frozen=True, tag="toolApproval"):
    """`scope` is how long an allow holds: this once, this conversation, here (this project), or always.
    `hunks` are the parts of the diff that are wanted; None is all of it. `input` replaces the input."""

    request_id: str
    outcome: Literal["allow", "alwaysAllow", "reject"]
    scope: Literal["once", "session", "local", "project", "user"] = "once"
    input: Json | None = None
    hunks: tuple[int, ...] | None = None
    reason: str = ""
    stop: bool = False


class QuestionAnswer(InConversation, frozen=True, tag="questionAnswer"):
    request_id: str
    answers: dict[str, str] = {}
    declined: bool = False


class PlanApprovalAnswer(InConversation, frozen=True, tag="planApproval"):
    request_id: str
    option: Literal["smart", "default", "keep", "feedback"]
    feedback: str = ""


class InputAnswer(InConversation, frozen=True, tag="inputAnswer"):
    request_id: str
    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


class WakeAgent(InConversation, frozen=True, tag="wakeAgent"):
    """The person begins to write: the agent is started, so that its commands and models are known."""


class CancelCurrent(InConversation, frozen=True, tag="cancelCurrent"):
    drop_queue: bool = False


class NewConversation(PageMessage, frozen=True, tag="newConversation"):
    folder: str = ""
    agent: str = ""


class SwitchConversation(InConversation, frozen=True, tag="switchConversation"):
    """With `keep`, the conversations that the page already shows go on being sent to it."""

    seen: int | None = None
    keep: bool = False


class DeleteConversation(InConversation, frozen=True, tag="deleteConversation"):
    pass


class ClearConversation(InConversation, frozen=True, tag="clearConversation"):
    pass


class RenameConversation(InConversation, frozen=True, tag="renameConversation"):
    title: str


class ForkConversation(InConversation, frozen=True, tag="forkConversation"):
    message_id: str | None = None


class SearchConversations(PageMessage, frozen=True, tag="searchConversations"):
    query: str


class OlderMessages(InConversation, frozen=True, tag="olderMessages"):
    before: str


class SetMode(InConversation, frozen=True, tag="setMode"):
    mode: Mode


class SetThink(InConversation, frozen=True, tag="setThink"):
    think: bool
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class SetModel(InConversation, frozen=True, tag="setModel"):
    model: str | None


class SetAgent(InConversation, frozen=True, tag="setAgent"):
    """Before the first prompt only."""

    agent: str


class SetWorkspaceFolder(InConversation, frozen=True, tag="setWorkspaceFolder"):
    folder: str


class EditQueued(InConversation, frozen=True, tag="editQueued"):
    """`text` replaces the waiting prompt; None takes it back."""

    id: str
    text: str | None = None


class Rewind(InConversation, frozen=True, tag="rewind"):
    message_id: str
    files: bool = True
    messages: bool = True


class ExportConversation(InConversation, frozen=True, tag="exportConversation"):
    format: Literal["markdown", "json"] = "markdown"


class Compact(InConversation, frozen=True, tag="compact"):
    instructions: str = ""


class StopTask(InConversation, frozen=True, tag="stopTask"):
    task: str


class ServerAction(InConversation, frozen=True, tag="serverAction"):
    server: str
    action: Literal["enable", "disable", "reconnect"]


class AppCall(InConversation, frozen=True, tag="appCall"):
    """The page of an MCP App calls a tool of its own server; `server` is what the host said of that page."""

    call: str
    server: str
    tool: str
    arguments: Json = {}


class CompletePrompt(InConversation, frozen=True, tag="completePrompt"):
    """What could come next after `text`, the prompt up to the cursor, where only the agent knows."""

    text: str


class GetPanel(PageMessage, frozen=True, tag="getPanel"):
    panel: str
    folder: str = ""


class SetSetting(PageMessage, frozen=True, tag="setSetting"):
    key: str
    value: object
    layer: Literal["user", "project", "local"] = "user"
    folder: str = ""


class RemoveRule(PageMessage, frozen=True, tag="removeRule"):
    rule: str
    behavior: Literal["allow", "deny", "ask"]
    layer: str
    folder: str = ""


class AddFolder(PageMessage, frozen=True, tag="addFolder"):
    folder: str


class NewLink(PageMessage, frozen=True, tag="newLink"):
    """Another one-time link, for another browser."""


HostMessage: TypeAlias = (
    Ready
    | RecheckCli
    | PickFiles
    | ListWorkspaceFiles
    | ReadFiles
    | OpenFile
    | NewConversation
    | SearchConversations
    | GetPanel
    | SetSetting
    | RemoveRule
    | AddFolder
    | NewLink
)
AnswerMessage: TypeAlias = ToolApproval | QuestionAnswer | PlanApprovalAnswer | InputAnswer
ChoiceMessage: TypeAlias = SetMode | SetThink | SetModel | SetAgent | SetWorkspaceFolder
ConversationMessage: TypeAlias = (
    AnswerMessage
    | ChoiceMessage
    | SendMessage
    | WakeAgent
    | CancelCurrent
    | SwitchConversation
    | DeleteConversation
    | ClearConversation
    | RenameConversation
    | ForkConversation
    | OlderMessages
    | EditQueued
    | Rewind
    | ExportConversation
    | Compact
    | StopTask
    | ServerAction
    | AppCall
    | CompletePrompt
)
FromPage: TypeAlias = HostMessage | ConversationMessage

_decoder: Final = msgspec.json.Decoder(FromPage)


def decode_message(data: str | bytes) -> FromPage:
    """
    Raises:
        RemoteProtocolError: not one of ours, or nested beyond reason.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise RemoteProtocolError(f"a page sent something that is not a message: {error}") from None
