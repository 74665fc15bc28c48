"""An iterator over something that must be left again, safe to break out of.

A generator must not yield from inside a task group: a `break` in the caller's loop would tear its scopes. So the
thing lives in a task of its own, which the iterator owns and ends.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import anyio

Thing = TypeVar("Thing")
Item = TypeVar("Item")


async def owned(
    thing: AbstractAsyncContextManager[Thing], play: Callable[[Thing], AsyncIterator[Item]]
) -> AsyncIterator[Item]:
    """What `play` yields while `thing` is open."""
    send, receive = anyio.create_memory_object_stream[Item](64)

    async def run() -> None:
        async with send, thing as opened:
            async for item in play(opened):
                await send.send(item)

    task = asyncio.ensure_future(run())
    try:
        while True:
            try:
                yield await receive.receive()
            except anyio.EndOfStream:
                break
        await task
    finally:
        receive.close()
        if not task.done():
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
