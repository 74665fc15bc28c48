"""A model without a network: it says again what it was told last."""

from collections.abc import AsyncIterator, Sequence

from weft.extend.api import ChatMessage, Host, ModelOffer, ModelOptions, TextPart, ToolCallPart


class Parrot:
    async def models(self, host: Host) -> Sequence[ModelOffer]:
        return (ModelOffer(id="parrot-1", name="Parrot", max_input_tokens=100_000, tool_calling=True),)

    async def respond(
        self, model: ModelOffer, messages: Sequence[ChatMessage], options: ModelOptions, host: Host
    ) -> AsyncIterator[TextPart | ToolCallPart]:
        said = [part.value for part in messages[-1].content if isinstance(part, TextPart)]
        if options.tool_mode == "required":
            yield ToolCallPart("call_1", options.tools[0].name, {})
            return
        for word in (said[-1] if said else "").split(" "):
            yield TextPart(word + " ")

    async def count_tokens(self, model: ModelOffer, text: str) -> int:
        return len(text.split())
