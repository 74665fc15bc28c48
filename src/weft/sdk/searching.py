"""A web search by the model's own provider: one small request with its server tool, apart from the conversation."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import msgspec

from weft.agent.turn import Turn
from weft.errors import ToolError
from weft.schema.content import Json, Text, Unknown
from weft.schema.messages import Message, Reply, Request, ToolSpec
from weft.schema.stream import StreamDone, StreamFailed
from weft.settings.layers import as_list, as_object
from weft.tools.port import Found, Hit, Search

if TYPE_CHECKING:
    from weft.sdk.workbench import Workbench

SERVER_TOOL = "web_search_20250305"
MAX_USES = 5
WORDS = "Search the web for what is asked and say in a few sentences what the results hold. Name the sources."


def provider_search(bench: "Workbench") -> Search | None:
    """None where the provider has no search of its own, or where the settings turn it off with
    `"webSearch": {"provider": false}`."""
    ground = bench.ground
    if ground.provider().name != "anthropic":
        return None
    if as_object(ground.settings.values.get("webSearch")).get("provider") is False:
        return None

    async def search(query: str, allowed: tuple[str, ...], blocked: tuple[str, ...]) -> Found:
        bench.limits.check_budget()
        request = to_request(ground.state.model, query, allowed, blocked)
        started = time.monotonic()
        async for event in ground.provider().stream(request):
            if isinstance(event, StreamDone):
                _count(bench, event.reply, time.monotonic() - started, bench.turn())
                return to_found(event.reply)
            if isinstance(event, StreamFailed):
                raise ToolError(f"the provider's search failed: {event.message}")
        raise ToolError("the provider's search gave no answer")

    return search


def to_request(model: str, query: str, allowed: tuple[str, ...], blocked: tuple[str, ...]) -> Request:
    server: Json = {"type": SERVER_TOOL, "name": "web_search", "max_uses": MAX_USES}
    if allowed:
        server["allowed_domains"] = list(allowed)
    if blocked:
        server["blocked_domains"] = list(blocked)
    return Request(
        model=model,
        messages=(Message("user", (Text(f"{WORDS}\n\n{query}"),)),),
        tools=(ToolSpec("web_search", "", {}, server=server),),
        max_tokens=4096,
    )


def _count(bench: "Workbench", reply: Reply, seconds: float, turn: Turn | None) -> None:
    cost = bench.ledger.add(reply.model, reply.usage, seconds)
    if turn is not None:
        turn.usage += reply.usage
        turn.cost += cost or 0.0
        turn.api_seconds += seconds


def to_found(reply: Reply) -> Found:
    """
    Raises:
        ToolError: the search itself failed; the sentence has the provider's code.
    """
    hits: dict[str, Hit] = {}
    problem = ""
    for block in _results(reply):
        content = block.get("content")
        error = as_object(content).get("error_code")
        problem = problem or (error if isinstance(error, str) else "")
        for row in map(as_object, as_list(content)):
            url, title = row.get("url"), row.get("title")
            if isinstance(url, str) and url:
                age = row.get("page_age")
                hits.setdefault(url, Hit(title if isinstance(title, str) else url, url, str(age) if age else ""))
    if problem and not hits:
        raise ToolError(f"the provider's search failed: {problem}")
    return Found(hits=tuple(hits.values()), text=reply.text.strip())


def _results(reply: Reply) -> Iterator[Json]:
    for block in reply.content:
        if isinstance(block, Unknown):
            value = cast("object", msgspec.json.decode(block.raw))
            if as_object(value).get("type") == "web_search_tool_result":
                yield as_object(value)
