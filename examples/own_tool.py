"""A Python function as a tool: it runs in this process, its arguments come from its annotations."""

from typing import Annotated

import anyio
import msgspec

import weft

STOCK = {"apples": 12, "pears": 0}


@weft.tool(read_only=True)
async def stock(item: Annotated[str, msgspec.Meta(description="the plural name of a fruit")]) -> str:
    """How many of an item are in stock."""
    return f"{STOCK.get(item, 0)} {item}"


async def main() -> None:
    answer = await weft.query("Are there any apples?", own_tools=[stock], tools=[])
    print(answer.text)


anyio.run(main)
