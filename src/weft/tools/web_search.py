"""WebSearch: through the provider's own search, or an endpoint from the settings; off otherwise."""

import os
import time
from typing import Annotated, cast
from urllib.parse import quote_plus, urlsplit

import anyio
import msgspec
from msgspec import Meta

from weft.errors import ToolError, WeftError
from weft.schema.content import Json
from weft.schema.display import LinksView
from weft.tools.port import Found, Hit, Result, Tool, ToolContext

TIMEOUT = 30.0
MAX_HITS = 20


class WebSearchArgs(msgspec.Struct, frozen=True):
    query: Annotated[str, Meta(description="What to look for.", min_length=2)]
    allowed_domains: Annotated[tuple[str, ...], Meta(description="Only results from these.")] = ()
    blocked_domains: Annotated[tuple[str, ...], Meta(description="No results from these.")] = ()


class WebSearch(Tool[WebSearchArgs]):
    name = "WebSearch"
    args = WebSearchArgs
    kind = "fetch"
    group = "readonly"
    read_only = True

    def title(self, args: WebSearchArgs) -> str:
        return f"Search the web for {args.query}"

    async def run(self, args: WebSearchArgs, context: ToolContext) -> Result:
        if args.allowed_domains and args.blocked_domains:
            raise ToolError("give allowed_domains or blocked_domains, not both")
        started = time.monotonic()
        try:
            with anyio.fail_after(TIMEOUT):
                found = await self._find(args, context)
        except TimeoutError:
            raise ToolError(f"the search took longer than {TIMEOUT:g} seconds") from None
        except WeftError as error:
            raise error if isinstance(error, ToolError) else ToolError(str(error)) from error
        hits = [hit for hit in found.hits if _wanted(hit.url, args)][:MAX_HITS]
        lines = [f"{index}. {hit.title}\n   {hit.url}\n   {hit.snippet}".rstrip() for index, hit in enumerate(hits, 1)]
        content = [{"title": hit.title, "url": hit.url} for hit in hits]
        return Result(
            content="\n".join([*lines, *([f"\n{found.text}"] if found.text else [])]) or "Nothing was found.",
            display=(LinksView(tuple((hit.title, hit.url) for hit in hits)),),
            data={
                "query": args.query,
                "results": [{"tool_use_id": context.use.id, "content": content}],
                "durationSeconds": round(time.monotonic() - started, 3),
            },
        )

    async def _find(self, args: WebSearchArgs, context: ToolContext) -> Found:
        if context.search is not None:
            return await context.search(args.query, args.allowed_domains, args.blocked_domains)
        endpoint = context.settings.get("webSearch")
        url = cast("Json", endpoint).get("url") if isinstance(endpoint, dict) else endpoint
        if not isinstance(url, str) or not url:
            raise ToolError(
                "web search is off: the model's provider offers none, and no endpoint is set. "
                'A person can set one as "webSearch": {"url": "https://search.example/search?format=json&q={query}"}.'
            )
        headers = cast("Json", endpoint).get("headers") if isinstance(endpoint, dict) else None
        own = cast("dict[str, str]", headers) if isinstance(headers, dict) else {}
        return Found(hits=tuple(await _ask(url, own, args.query)))


async def _ask(url: str, headers: dict[str, str], query: str) -> list[Hit]:
    """The endpoint is the person's own choice, so it may be on this machine."""
    from weft.transports.http import HttpClient, HttpLimits

    words = quote_plus(query)
    address = url.replace("{query}", words) if "{query}" in url else f"{url}{'&' if '?' in url else '?'}q={words}"
    limits = HttpLimits(connect=10, send=10, first_byte=25, idle=15)
    async with HttpClient(limits=limits, env=os.environ) as client:
        async with await client.send("GET", address, {"accept": "application/json", **headers}) as answer:
            body = await answer.read(2 * 1024 * 1024)
            if answer.status != 200:
                raise ToolError(f"the search endpoint answered with status {answer.status}")
    try:
        return to_hits(msgspec.json.decode(body))
    except msgspec.DecodeError as error:
        raise ToolError(f"the search endpoint did not answer with JSON: {error}") from error


def to_hits(answer: object) -> list[Hit]:
    """Results as the usual engines name them: a list, or a list below `results`, `web`, `items` or `data`."""
    while isinstance(answer, dict):
        found = cast("Json", answer)
        answer = next((found[key] for key in ("results", "web", "items", "organic", "data") if key in found), None)
    hits: list[Hit] = []
    for each in cast("list[object]", answer) if isinstance(answer, list) else []:
        if not isinstance(each, dict):
            continue
        row = cast("Json", each)
        url = _first(row, "url", "link", "href")
        if url.startswith(("http://", "https://")):
            snippet = _first(row, "content", "snippet", "description", "text")
            hits.append(Hit(_first(row, "title", "name") or url, url, snippet[:500]))
    return hits


def _first(row: Json, *names: str) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value), "")


def _wanted(url: str, args: WebSearchArgs) -> bool:
    host = urlsplit(url).hostname or ""

    def under(domain: str) -> bool:
        domain = domain.lower().lstrip(".")
        return host == domain or host.endswith("." + domain)

    if args.allowed_domains:
        return any(map(under, args.allowed_domains))
    return not any(map(under, args.blocked_domains))
