"""ToolSearch: finds tools that are told of by name only, and makes them callable with their schemas."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.tools.port import AnyTool, Result, Tool, ToolContext


class ToolSearchArgs(msgspec.Struct, frozen=True):
    query: Annotated[str, Meta(description='Words to look for, or "select:Name1,Name2" for tools by exact name.')]
    max_results: Annotated[int, Meta(description="How many at most.", ge=1, le=50)] = 5


async def _nobody() -> tuple[str, ...]:
    return ()


class ToolSearch(Tool[ToolSearchArgs]):
    name = "ToolSearch"
    args = ToolSearchArgs
    kind = "search"
    group = "readonly"
    read_only = True

    def __init__(
        self,
        deferred: Callable[[], Iterable[AnyTool]],
        reveal: Callable[[Iterable[str]], None],
        arrive: Callable[[], Awaitable[tuple[str, ...]]] = _nobody,
    ) -> None:
        """`arrive` waits for servers that are still starting, and names the tools that came with them."""
        self._deferred = deferred
        self._reveal = reveal
        self._arrive = arrive

    @property
    def manual(self) -> str:
        return (
            "Finds tools that you know by name only and loads their definitions; they can be called from the next "
            'step on. Search by words, put a + before a word that must be there, or load by name with "select:Name". '
            "Servers that are still starting are waited for, and their tools can be called afterwards."
        )

    def title(self, args: ToolSearchArgs) -> str:
        return f"Look for tools: {args.query}"

    async def run(self, args: ToolSearchArgs, context: ToolContext) -> Result:
        arrived = await self._arrive()
        tools = {tool.name: tool for tool in self._deferred()}
        if args.query.startswith("select:"):
            wanted = [name.strip() for name in args.query.removeprefix("select:").split(",")]
            found = [tools[name] for name in wanted if name in tools]
        else:
            found = _ranked(args.query, tools.values())[: args.max_results]
        self._reveal([tool.name for tool in found])
        rows = [{"name": tool.name, "description": tool.manual, "input_schema": tool.input_schema} for tool in found]
        text = "\n".join(msgspec.json.encode(row).decode() for row in rows)
        came = [name for name in arrived if name not in tools]
        if came:
            text = f"These tools can be called from the next step on: {', '.join(came)}\n{text}".rstrip()
        return Result(
            content=text or f"No tool matches. There are {len(tools)} to look for: {', '.join(list(tools)[:100])}",
            data={"matches": [row["name"] for row in rows], "total": len(tools)},
        )


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


def _ranked(query: str, tools: Iterable[AnyTool]) -> list[AnyTool]:
    """Words in the name count more than words in the manual; a word with + must be there."""
    needed = [word for part in query.split() if part.startswith("+") for word in _words(part)]
    asked = _words(query)
    scored: list[tuple[float, str, AnyTool]] = []
    for tool in tools:
        name, manual = _words(tool.name), _words(tool.manual)
        both = " ".join((*name, *manual))
        if any(word not in both for word in needed):
            continue
        score = sum(10 * (word in name) + 4 * any(word in part for part in name) + (word in manual) for word in asked)
        if score:
            scored.append((-score, tool.name, tool))
    return [tool for _, _, tool in sorted(scored, key=lambda row: row[:2])]
