"""Models that plug-ins offer, as providers of ours: the agent itself can run on them."""

import uuid
from collections.abc import AsyncIterator

from weft.errors import ProviderError
from weft.extend.api import ChatMessage, Host, ModelOffer, ModelOptions, ModelProvider, TextPart, ToolInformation
from weft.extend.failures import sentence
from weft.extend.models import to_chat
from weft.protocols.fold import unfold_block
from weft.schema.content import AnyBlock, Text, ToolUse, text_of
from weft.schema.messages import Message, Reply, Request, Usage
from weft.schema.stream import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    StreamDone,
    StreamEvent,
    StreamFailed,
    TextDelta,
)
from weft.sessions import tokens


class PluginProvider:
    """Implements `providers.port.Provider` on a plug-in's model. The system prompt goes in front of the first
    message, because plug-in models know no system role."""

    def __init__(self, vendor: str, source: ModelProvider, offer: ModelOffer, host: Host) -> None:
        self.name = vendor
        self._source = source
        self._offer = offer
        self._host = host

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reply_id = f"msg_{uuid.uuid4().hex}"
        yield MessageStart(reply_id, request.model)
        blocks: list[AnyBlock] = []
        text: list[str] = []
        try:
            async for part in self._source.respond(self._offer, self._messages(request), _options(request), self._host):
                if isinstance(part, TextPart):
                    if not text:
                        yield BlockStart(len(blocks), Text(""))
                    text.append(part.value)
                    yield BlockDelta(len(blocks), TextDelta(part.value))
                    continue
                if text:
                    yield BlockStop(len(blocks))
                    blocks.append(Text("".join(text)))
                    text = []
                use = ToolUse(part.call_id, part.name, part.input)
                for event in unfold_block(len(blocks), use):
                    yield event
                blocks.append(use)
        except ProviderError as error:
            yield StreamFailed(error.kind, str(error), error.status, partial=tuple(blocks))
            return
        except Exception as error:  # noqa: BLE001 - a plug-in's failure is an answer, logged by `sentence`
            yield StreamFailed("server_error", sentence(self._host.plugin, error), partial=tuple(blocks))
            return
        if text:
            yield BlockStop(len(blocks))
            blocks.append(Text("".join(text)))
        reply = self._reply(reply_id, request, tuple(blocks))
        yield MessageDelta(reply.stop_reason, None, reply.usage)
        yield StreamDone(reply)

    async def count_tokens(self, request: Request) -> int | None:
        text = "\n".join(text_of(message.content) for message in request.messages)
        return await self._source.count_tokens(self._offer, text)

    async def aclose(self) -> None:
        return

    def _reply(self, reply_id: str, request: Request, blocks: tuple[AnyBlock, ...]) -> Reply:
        asked = sum(tokens.of_text(text_of(message.content)) for message in request.messages)
        usage = Usage(input_tokens=asked, output_tokens=tokens.of_text(text_of(blocks)))
        stop = "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn"
        return Reply(id=reply_id, model=request.model, content=blocks, stop_reason=stop, usage=usage)

    def _messages(self, request: Request) -> tuple[ChatMessage, ...]:
        system = "\n\n".join(part.text for part in request.system)
        messages = list(request.messages)
        if system and messages:
            messages[0] = Message(messages[0].role, (Text(system), *messages[0].content))
        return tuple(to_chat(message) for message in messages)


def _options(request: Request) -> ModelOptions:
    tools = tuple(ToolInformation(tool.name, tool.description, tool.input_schema) for tool in request.tools)
    required = (request.tool_choice or {}).get("type") in ("tool", "any")
    return ModelOptions(
        tools=tools, tool_mode="required" if required else "auto", model_options={"max_tokens": request.max_tokens}
    )
