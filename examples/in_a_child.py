"""The agent in a process of its own; the tool stays in this one."""

import os

import anyio

import weft


@weft.tool(read_only=True)
async def my_process() -> int:
    """The number of the process that this program runs in."""
    return os.getpid()


async def main() -> None:
    options = weft.Options(own_tools=[my_process], process=True)
    async with weft.Client(options) as client:
        answer = await client.ask("In which process does my program run?")
        print(answer.text)


anyio.run(main)
