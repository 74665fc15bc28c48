"""The model API of plug-ins: select, send, count. Each request needs the person's consent and the session's budget."""

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal

import msgspec

from weft.errors import WeftError
from weft.extend.api import (
    ChatMessage,
    Data,
    JsonPart,
    LanguageModelError,
    Link,
    Model,
    Part,
    TextPart,
    ToolCallPart,
    ToolInformation,
    ToolResultPart,
)
from weft.providers.port import Provider
from weft.schema.content import AnyBlock, Base64Source, Image, Json, Text, ToolResult, ToolUse
from weft.schema.messages import Message, Reply, Request, ToolSpec
from weft.schema.stream import BlockDelta, Retry, StreamDone, StreamFailed, TextDelta
from weft.sessions import tokens

_VERSION: Final = re.compile(r"(.*?)[-:@](v?\d[\w.-]*)")
MAX_OUTPUT: Final = 4_096


class ModelFactsView(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is, for choosing one."""

    id: str
    name: str
    vendor: str
    family: str
    version: str
    max_input_tokens: int
    max_output_tokens: int = MAX_OUTPUT


class Access(msgspec.Struct, kw_only=True):
    """What sending needs of the session."""

    consent: Callable[[str, str], Awaitable[bool]]
    """(plug-in, justification)"""
    open: Callable[[str], Awaitable[tuple[Provider, str]]]
    """The provider of a model, and the id that it knows it by."""
    account: Callable[[Reply, float], None] = lambda _reply, _seconds: None
    before: Callable[[], None] = lambda: None
    """Raises when the session's budget is spent."""


def split_id(id: str) -> tuple[str, str]:
    """Family and version, from the way models are named: `claude-sonnet-4-5` is `claude-sonnet` in version `4-5`."""
    found = _VERSION.fullmatch(re.sub(r"-\d{8}$", "", id))
    return (found[1], found[2]) if found is not None else (id, "")


class SessionModel:
    """One model, for one plug-in."""

    def __init__(self, facts: ModelFactsView, plugin: str, access: Access) -> None:
        self._facts = facts
        self._plugin = plugin
        self._access = access

    def __repr__(self) -> str:
        return f"Model({self._facts.vendor}/{self._facts.id})"

    @property
    def name(self) -> str:
        return self._facts.name

    @property
    def id(self) -> str:
        return self._facts.id

    @property
    def vendor(self) -> str:
        return self._facts.vendor

    @property
    def family(self) -> str:
        return self._facts.family

    @property
    def version(self) -> str:
        return self._facts.version

    @property
    def max_input_tokens(self) -> int:
        return self._facts.max_input_tokens

    @asynccontextmanager
    async def send(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolInformation] = (),
        tool_mode: Literal["auto", "required"] = "auto",
        justification: str = "",
        model_options: Json | None = None,
    ) -> AsyncGenerator["SentRequest"]:
        if tool_mode == "required" and len(tools) != 1:
            raise LanguageModelError("tool mode `required` takes exactly one tool", "Unknown")
        if not await self._access.consent(self._plugin, justification):
            raise LanguageModelError(f"the person does not let {self._plugin} use models", "NoPermissions")
        self._access.before()
        provider, model = await self._opened()
        request = to_request(model, messages, tools, tool_mode, model_options or {}, self._facts.max_output_tokens)
        sent = SentRequest(provider, request, self._access)
        try:
            yield sent
        finally:
            await sent.aclose()

    async def count_tokens(self, text: str | ChatMessage) -> int:
        """The provider's own count where it has one; ours otherwise."""
        message = ChatMessage.user(text) if isinstance(text, str) else text
        provider, model = await self._opened()
        counted = await provider.count_tokens(to_request(model, (message,), (), "auto", {}, MAX_OUTPUT))
        return counted if counted is not None else sum(tokens.of_text(_plain(part)) for part in message.content)

    async def _opened(self) -> tuple[Provider, str]:
        try:
            return await self._access.open(self._facts.id)
        except WeftError as error:
            raise LanguageModelError(f"{self._facts.id} cannot be reached: {error}", "NotFound") from error


class SentRequest:
    """A request on its way. `stream` and `text` read the same answer: use one of them, once."""

    def __init__(self, provider: Provider, request: Request, access: Access) -> None:
        self._provider = provider
        self._request = request
        self._access = access
        self._running: AsyncIterator[TextPart | ToolCallPart] | None = None

    @property
    def stream(self) -> AsyncIterator[TextPart | ToolCallPart]:
        self._running = self._parts()
        return self._running

    @property
    def text(self) -> AsyncIterator[str]:
        return self._texts()

    async def aclose(self) -> None:
        close = getattr(self._running, "aclose", None)
        if close is not None:
            await close()

    async def _texts(self) -> AsyncIterator[str]:
        async for part in self.stream:
            if isinstance(part, TextPart):
                yield part.value

    async def _parts(self) -> AsyncIterator[TextPart | ToolCallPart]:
        started = time.monotonic()
        told = 0
        async for event in self._provider.stream(self._request):
            match event:
                case BlockDelta(delta=TextDelta(text=text)):
                    told += 1
                    yield TextPart(text)
                case Retry() if told:
                    raise LanguageModelError("the answer was cut and cannot be taken up again", "Unknown")
                case StreamDone(reply=reply):
                    self._access.account(reply, time.monotonic() - started)
                    if reply.stop_reason == "refusal":
                        raise LanguageModelError("the model refused to answer", "Blocked")
                    for use in reply.tool_uses:
                        yield ToolCallPart(use.id, use.name, use.input)
                    return
                case StreamFailed(message=message, error=kind):
                    raise LanguageModelError(message, "NotFound" if kind == "model_not_found" else "Unknown")
                case _:
                    continue


def choose(
    models: Sequence[Model], *, vendor: str = "", family: str = "", version: str = "", id: str = ""
) -> list[Model]:
    """Those that fit all that is given."""
    return [
        model
        for model in models
        if (not vendor or model.vendor == vendor)
        and (not family or model.family == family)
        and (not version or model.version == version)
        and (not id or model.id == id)
    ]


# --- to the session's own types -------------------------------------------------------------------------------


def to_request(
    model: str,
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolInformation],
    tool_mode: Literal["auto", "required"],
    options: Json,
    limit: int,
) -> Request:
    wanted, temperature = options.get("max_tokens"), options.get("temperature")
    choice: Json | None = {"type": "tool", "name": tools[0].name} if tool_mode == "required" else None
    return Request(
        model=model,
        messages=tuple(Message(one.role, tuple(to_block(part) for part in one.content)) for one in messages),
        tools=tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools),
        max_tokens=min(wanted, limit) if isinstance(wanted, int) and wanted > 0 else limit,
        tool_choice=choice,
        temperature=float(temperature) if isinstance(temperature, int | float) else None,
    )


def to_block(part: Part | ToolCallPart | ToolResultPart) -> AnyBlock:
    match part:
        case TextPart(value=value):
            return Text(value)
        case JsonPart(value=value):
            return Text(msgspec.json.encode(value).decode())
        case Link(target=target, label=label):
            return Text(f"{label}: {target}" if label else target)
        case Data(data=data, mime=mime) if mime.startswith("image/"):
            import base64

            return Image(Base64Source(mime, base64.b64encode(data).decode()))
        case Data(data=data):
            return Text(data.decode("utf-8", "replace"))
        case ToolCallPart(call_id=call_id, name=name, input=input):
            return ToolUse(call_id, name, input)
        case ToolResultPart(call_id=call_id, content=content, is_error=is_error):
            return ToolResult(call_id, tuple(to_block(one) for one in content), is_error=is_error)


def to_chat(message: Message) -> ChatMessage:
    """A message of ours for a plug-in's model; what it cannot take is left out."""
    parts: list[TextPart | Data | ToolCallPart | ToolResultPart] = []
    for block in message.content:
        match block:
            case Text(text=text):
                parts.append(TextPart(text))
            case Image(source=Base64Source(media_type=kind, data=data)):
                import base64

                parts.append(Data(base64.b64decode(data), kind))
            case ToolUse(id=id, name=name, input=input):
                parts.append(ToolCallPart(id, name, input))
            case ToolResult(tool_use_id=id, content=content, is_error=is_error):
                texts = [content] if isinstance(content, str) else [b.text for b in content if isinstance(b, Text)]
                parts.append(ToolResultPart(id, tuple(TextPart(text) for text in texts), is_error))
            case _:
                continue
    return ChatMessage(message.role, tuple(parts))


def _plain(part: Part | ToolCallPart | ToolResultPart) -> str:
    match part:
        case TextPart(value=value):
            return value
        case ToolResultPart(content=content):
            return "\n".join(_plain(one) for one in content)
        case ToolCallPart(input=input):
            return msgspec.json.encode(input).decode()
        case JsonPart(value=value):
            return msgspec.json.encode(value).decode()
        case Link(target=target):
            return target
        case Data(data=data):
            return "" if part.mime.startswith("image/") else data.decode("utf-8", "replace")
