"""What a server may ask of us (a person's input, a model's answer, the folders), answered in the package's types."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

import mcp_types
from mcp.client.session import ClientRequestContext

from weft.mcp.asking import form_message, required_missing, url_message, with_defaults
from weft.mcp.catalogue import list_of, table_of
from weft.mcp.options import HostOptions, LogLine, SampleReply, SampleRequest
from weft.mcp.results import IMAGES
from weft.mcp.schema_check import problem
from weft.mcp.visible import visible
from weft.schema.content import AnyBlock, Base64Source, Image, Json, Text, ToolResult, ToolUse
from weft.schema.messages import Message, ToolSpec

log = logging.getLogger(__name__)

REFUSED = -1
"""The protocol's code for "the person said no"."""


class Answers:
    """The callbacks of one server. `pause` stops the clocks of its calls while a person thinks."""

    def __init__(
        self,
        server: str,
        options: HostOptions,
        pause: Callable[[], AbstractContextManager[None]],
        on_log: Callable[[LogLine], None],
    ) -> None:
        self._server = server
        self._options = options
        self._pause = pause
        self._on_log = on_log
        self._may_sample = False
        self.samplings: list[SampleRequest] = []

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        ask = self._options.ask_input
        if ask is None:
            return mcp_types.ElicitResult(action="decline")
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            shown = url_message(params.message, params.url)
            if shown is None:
                return _error(mcp_types.INVALID_PARAMS, "only https addresses are opened")
            with self._pause():
                answer = await ask(self._server, shown, url=params.url, visit=params.elicitation_id or "")
            return mcp_types.ElicitResult(action=answer.action)
        schema = cast("Json", params.requested_schema)
        with self._pause():
            answer = await ask(self._server, form_message(params.message, schema), schema=schema)
        if answer.action != "accept":
            return mcp_types.ElicitResult(action=answer.action)
        content = with_defaults(schema, answer.content)
        if required_missing(schema, content) or problem(schema, content):
            return mcp_types.ElicitResult(action="cancel")
        return mcp_types.ElicitResult.model_validate({"action": "accept", "content": content})

    async def visited(self, error: Exception) -> bool:
        """Whether a call failed because the person had to go somewhere first, and they have now: it may be made again,
        once. The person says yes when they are done."""
        ask = self._options.ask_input
        if getattr(error, "code", None) != mcp_types.URL_ELICITATION_REQUIRED or ask is None:
            return False
        places = [table_of(item) for item in list_of(table_of(getattr(error, "data", None)).get("elicitations"))]
        for place in places[:5]:
            url = str(place.get("url", ""))
            shown = url_message(str(place.get("message", "")), url)
            if shown is None:
                return False
            with self._pause():
                words = f"{shown}\nSay yes when you are done there."
                answer = await ask(self._server, words, url=url, visit=str(place.get("elicitationId", "")))
            if answer.action != "accept":
                return False
        return bool(places)

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools | mcp_types.ErrorData:
        model = self._options.sample
        if model is None:
            return _error(mcp_types.INVALID_REQUEST, "no model is offered")
        if len(self.samplings) >= self._options.sample_max_calls:
            return _error(REFUSED, "this server has asked the model too often")
        request = self._sample_request(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if not await self._consent(request):
            return _error(REFUSED, "the person declined")
        self.samplings.append(request)
        reply = await model(request)
        return _sample_result(reply, with_tools=bool(request.tools))

    async def _consent(self, request: SampleRequest) -> bool:
        if self._may_sample:
            return True
        ask = self._options.ask_input
        if ask is None:
            return False
        text = "\n".join(f"{message.role}: {visible(message.text)[:2000]}" for message in request.messages)
        tools = f"\nwith the tools: {', '.join(visible(tool.name) for tool in request.tools)}" if request.tools else ""
        words = (
            f"The server {visible(self._server)!r} asks your model (at most {request.max_tokens} tokens, "
            f"on your account):\n{visible(request.system)}\n{text}{tools}"
        )
        always = {"type": "boolean", "title": "Allow this server's requests for this session", "default": False}
        with self._pause():
            answer = await ask(self._server, words, schema={"type": "object", "properties": {"always": always}})
        self._may_sample = answer.action == "accept" and (answer.content or {}).get("always") is True
        return answer.action == "accept"

    def _sample_request(self, raw: Json) -> SampleRequest:
        """The request within our limits. `includeContext` is never honoured: no server sees another's context."""
        tokens = raw.get("maxTokens")
        hints = list_of(table_of(raw.get("modelPreferences")).get("hints"))
        temperature = raw.get("temperature")
        return SampleRequest(
            server=self._server,
            messages=tuple(_message(table_of(item)) for item in list_of(raw.get("messages"))),
            system=str(raw.get("systemPrompt") or ""),
            max_tokens=max(1, min(tokens if isinstance(tokens, int) else 1024, self._options.sample_max_tokens)),
            temperature=float(temperature) if isinstance(temperature, int | float) else None,
            stop_sequences=tuple(str(item) for item in list_of(raw.get("stopSequences"))),
            hints=tuple(str(table_of(item).get("name", "")) for item in hints),
            tools=tuple(
                ToolSpec(str(tool["name"]), str(tool.get("description") or ""), table_of(tool.get("inputSchema")))
                for tool in map(table_of, list_of(raw.get("tools")))
            ),
            tool_choice=table_of(raw.get("toolChoice")) or None,
        )

    async def roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult | mcp_types.ErrorData:
        """The granted folders only, each as it really is: a symlink is resolved first."""
        folders = self._options.roots() if self._options.roots else (self._options.cwd,)
        found: list[mcp_types.Root] = []
        for folder in folders:
            real = folder.resolve()
            found.append(mcp_types.Root.model_validate({"uri": real.as_uri(), "name": real.name or "/"}))
        return mcp_types.ListRootsResult(roots=found)

    async def log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        data = params.data if isinstance(params.data, str) else str(params.data)
        self._on_log(LogLine(self._server, params.level, visible(data)[:4000]))


def _error(code: int, message: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=code, message=message)


def _message(raw: Json) -> Message:
    content = raw.get("content")
    parts = list_of(content) or [content]
    blocks = tuple(_block(table_of(part)) for part in parts)
    return Message("assistant" if raw.get("role") == "assistant" else "user", blocks)


def _block(raw: Json) -> AnyBlock:
    match raw.get("type"):
        case "image" if raw.get("mimeType") in IMAGES:
            return Image(Base64Source(str(raw["mimeType"]), str(raw.get("data", ""))))
        case "tool_use":
            return ToolUse(str(raw.get("id", "")), str(raw.get("name", "")), table_of(raw.get("input")))
        case "tool_result":
            inner = tuple(_block(table_of(item)) for item in list_of(raw.get("content")))
            return ToolResult(str(raw.get("toolUseId", "")), inner, raw.get("isError") is True)
        case "text":
            return Text(str(raw.get("text", "")))
        case kind:
            return Text(f"[{kind} content]")


def _sample_result(
    reply: SampleReply, *, with_tools: bool
) -> mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools:
    content: list[Json] = []
    for block in reply.content:
        match block:
            case Text(text=text):
                content.append({"type": "text", "text": text})
            case ToolUse(id=use_id, name=name, input=given):
                content.append({"type": "tool_use", "id": use_id, "name": name, "input": given})
            case _:
                continue
    whole: Json = {"role": "assistant", "model": reply.model, "stopReason": reply.stop_reason}
    if with_tools:
        return mcp_types.CreateMessageResultWithTools.model_validate({**whole, "content": content})
    text = "\n".join(str(part["text"]) for part in content if part["type"] == "text")
    return mcp_types.CreateMessageResult.model_validate({**whole, "content": {"type": "text", "text": text}})
