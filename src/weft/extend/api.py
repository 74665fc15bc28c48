"""What plug-in code imports: the types it gets and gives. `docs/plugins.md` shows them at work.

A tool is a class with `invoke(input, call)`, and `prepare(input, call)` where it wants its own words before it runs;
or just an async function `(input, call)`. A participant is an async function `(request, context, stream)`, or a class
with `handle`, `followups` and `feedback`. Cancellation is the usual one of asyncio: clean up, and let it pass.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from weft.errors import ToolError, WeftError
from weft.extend.stream import ResponseStream
from weft.schema.content import Json
from weft.tools.port import ToolContext

__all__ = [
    "AgentOffer",
    "AgentProvider",
    "Call",
    "ChatContext",
    "ChatMessage",
    "ChatRequest",
    "ChatResult",
    "Data",
    "Feedback",
    "Followup",
    "Host",
    "HttpServer",
    "Json",
    "JsonPart",
    "LanguageModelError",
    "LanguageModels",
    "Link",
    "Model",
    "ModelOffer",
    "ModelOptions",
    "ModelProvider",
    "ModelResponse",
    "Part",
    "Prepared",
    "Reference",
    "RequestTurn",
    "ResponseStream",
    "ResponseTurn",
    "ServerProvider",
    "StdioServer",
    "TextPart",
    "ToolCallPart",
    "ToolContext",
    "ToolError",
    "ToolInformation",
    "ToolReference",
    "ToolResult",
    "ToolResultPart",
]

# --- parts --------------------------------------------------------------------------------------------------


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    value: str


class JsonPart(msgspec.Struct, frozen=True, tag="json"):
    value: object


class Data(msgspec.Struct, frozen=True, tag="data"):
    """Bytes of a kind: pictures are shown to the model, text is read, the rest is named."""

    data: bytes
    mime: str


class Link(msgspec.Struct, frozen=True, tag="link"):
    """A file (`path` or `path:line`) or an address."""

    target: str
    label: str = ""


class ToolCallPart(msgspec.Struct, frozen=True, tag="tool_call"):
    call_id: str
    name: str
    input: Json


class ToolResultPart(msgspec.Struct, frozen=True, tag="tool_result"):
    call_id: str
    content: tuple[TextPart | JsonPart | Data | Link, ...]
    is_error: bool = False


Part: TypeAlias = TextPart | JsonPart | Data | Link

# --- tools --------------------------------------------------------------------------------------------------


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the model reads (`parts`); `data` is for programs, `display` a sentence for people instead of the parts."""

    parts: tuple[Part, ...] = ()
    display: str = ""
    data: object = None


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """`message` is shown while the tool runs; `title` and `confirmation` (Markdown) when the person is asked."""

    message: str = ""
    title: str = ""
    confirmation: str = ""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool. The result should fit into `token_budget`; what does not is kept in a file, and the model
    is told where."""

    host: "Host"
    context: ToolContext
    token_budget: int
    count_tokens: Callable[[str], int]

    @property
    def cwd(self) -> Path:
        return self.context.session.cwd

    def progress(self, message: str = "", *, fraction: float | None = None, output: str = "") -> None:
        from weft.tools.port import Progress

        self.context.progress(Progress(message=message, fraction=fraction, output=output))


class ToolInformation(msgspec.Struct, frozen=True):
    """A tool that there is in this session, whoever brought it."""

    name: str
    description: str
    input_schema: Json
    tags: tuple[str, ...] = ()


# --- models -------------------------------------------------------------------------------------------------


class LanguageModelError(WeftError):
    """`code` is NoPermissions, Blocked, NotFound or Unknown."""

    def __init__(self, message: str, code: Literal["NoPermissions", "Blocked", "NotFound", "Unknown"]) -> None:
        super().__init__(message)
        self.code = code


class ChatMessage(msgspec.Struct, frozen=True):
    """There is no system role: what a model should be told stands in the first message."""

    role: Literal["user", "assistant"]
    content: tuple[TextPart | Data | ToolCallPart | ToolResultPart, ...]
    name: str = ""

    @staticmethod
    def user(text: str, *, name: str = "") -> "ChatMessage":
        return ChatMessage("user", (TextPart(text),), name)

    @staticmethod
    def assistant(text: str, *, name: str = "") -> "ChatMessage":
        return ChatMessage("assistant", (TextPart(text),), name)


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`tool_mode` required makes the model call one of the tools; it takes exactly one tool."""

    tools: tuple[ToolInformation, ...] = ()
    tool_mode: Literal["auto", "required"] = "auto"
    model_options: Json = {}


class ModelResponse(Protocol):
    """`stream` gives parts as they come; `text` the text alone. Read one of them, once."""

    @property
    def stream(self) -> AsyncIterator[TextPart | ToolCallPart]: ...

    @property
    def text(self) -> AsyncIterator[str]: ...


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def vendor(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def max_input_tokens(self) -> int: ...

    def send(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolInformation] = (),
        tool_mode: Literal["auto", "required"] = "auto",
        justification: str = "",
        model_options: Json | None = None,
    ) -> AbstractAsyncContextManager[ModelResponse]:
        """
        Raises:
            LanguageModelError: the person said no (NoPermissions), there is no such model (NotFound), it refused
                (Blocked), or failed.
        """
        ...

    async def count_tokens(self, text: str | ChatMessage) -> int: ...


class LanguageModels(Protocol):
    """The models and tools of the session, for plug-ins."""

    @property
    def tools(self) -> tuple[ToolInformation, ...]: ...

    async def invoke_tool(self, name: str, input: Json) -> ToolResult:
        """Runs a tool through hooks, rules and the person, like a call of the model.

        Raises:
            ToolError: there is no such tool, it was refused, or it failed; the sentence says which.
        """
        ...

    async def select(self, *, vendor: str = "", family: str = "", version: str = "", id: str = "") -> list[Model]:
        """Those that fit; none is a normal answer."""
        ...

    def can_send(self) -> bool | None:
        """Whether the person lets this plug-in use models; None when they were not asked yet."""
        ...


class Host(Protocol):
    """What a plug-in may ask of Weft."""

    @property
    def plugin(self) -> str: ...

    @property
    def lm(self) -> LanguageModels: ...

    @property
    def folders(self) -> tuple[Path, ...]: ...

    @property
    def storage(self) -> Path:
        """A folder of the plug-in's own in Weft's home; it is made when it is asked for."""
        ...

    @property
    def settings(self) -> Json:
        """The person's settings for this plug-in: `plugins.<name>`."""
        ...

    def set_context(self, key: str, value: object) -> None:
        """Sets a key that `when` clauses see, as `<plug-in>.<key>`. None takes it away."""
        ...

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Runs something beside the session, until it ends or the session does. A failure is logged."""
        ...


class ModelOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A model of a plug-in."""

    id: str
    name: str = ""
    family: str = ""
    version: str = ""
    max_input_tokens: int
    max_output_tokens: int = 4096
    tooltip: str = ""
    detail: str = ""
    image_input: bool = False
    tool_calling: bool = False


class ModelProvider(Protocol):
    """`models` may be asked often and must be cheap. `respond` yields parts; a WeftError becomes the failure."""

    async def models(self, host: Host) -> Sequence[ModelOffer]: ...

    def respond(
        self, model: ModelOffer, messages: Sequence[ChatMessage], options: ModelOptions, host: Host
    ) -> AsyncIterator[TextPart | ToolCallPart]: ...

    async def count_tokens(self, model: ModelOffer, text: str) -> int: ...


# --- servers and agents -------------------------------------------------------------------------------------


class StdioServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is started as a command. A variable that is None is taken out of its environment."""

    label: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str | None] = {}
    cwd: str = ""
    version: str = ""


class HttpServer(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    url: str
    headers: Mapping[str, str] = {}
    version: str = ""


class ServerProvider(Protocol):
    """`resolve`, where there is one, sees each server last: it may add a key, or return None to leave it out."""

    async def servers(self, host: Host) -> Sequence[StdioServer | HttpServer]: ...


class AgentOffer(msgspec.Struct, frozen=True, kw_only=True):
    """An agent definition: the fields that a file of `.claude/agents` has."""

    name: str
    description: str
    prompt: str
    fields: Json = {}


class AgentProvider(Protocol):
    """Asked again before each turn, so it must be cheap; what it returns last is what counts."""

    def agents(self, host: Host) -> Sequence[AgentOffer]: ...


# --- participants -------------------------------------------------------------------------------------------


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the prompt points at: a file. `range` are the places of its first and last character + 1."""

    id: str
    value: str
    range: tuple[int, int] | None = None
    model_description: str = ""


class ToolReference(msgspec.Struct, frozen=True):
    name: str
    range: tuple[int, int] | None = None


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`prompt` is without `@name` and `/command`."""

    prompt: str
    command: str = ""
    references: tuple[Reference, ...] = ()
    tool_references: tuple[ToolReference, ...] = ()
    model: Model | None = None
    host: Host


class ChatResult(msgspec.Struct, frozen=True, kw_only=True):
    """`error` says why it did not work. `metadata` is kept with the turn."""

    error: str = ""
    filtered: bool = False
    metadata: Json = {}


class RequestTurn(msgspec.Struct, frozen=True, tag="request"):
    prompt: str
    participant: str
    command: str = ""
    references: tuple[Reference, ...] = ()
    tool_references: tuple[ToolReference, ...] = ()


class ResponseTurn(msgspec.Struct, frozen=True, tag="response"):
    response: str
    participant: str
    command: str = ""
    result: ChatResult = ChatResult()


class ChatContext(msgspec.Struct, frozen=True):
    """What was said between the person and this participant, the oldest first."""

    history: tuple[RequestTurn | ResponseTurn, ...] = ()


class Followup(msgspec.Struct, frozen=True, kw_only=True):
    prompt: str
    label: str = ""
    participant: str = ""
    command: str = ""


class Feedback(msgspec.Struct, frozen=True):
    """`helpful` is what the person says of the last answer; `words` what they added."""

    result: ChatResult
    helpful: bool
    words: str = ""
