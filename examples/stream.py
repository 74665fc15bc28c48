"""Text as it is written."""

import anyio

import weft
from weft.schema.events import Streamed
from weft.schema.stream import BlockDelta, TextDelta


async def main() -> None:
    async for event in weft.query("Say hello in three languages."):
        match event:
            case Streamed(delta=BlockDelta(delta=TextDelta(text=text))):
                print(text, end="", flush=True)
            case _:
                pass
    print()


anyio.run(main)
