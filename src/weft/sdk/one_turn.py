"""`weft.query`: one prompt, one turn."""

import asyncio
from collections.abc import AsyncIterator, Generator
from typing import Any

from anyio.abc import ObjectReceiveStream

from weft.schema.content import Content
from weft.schema.events import AgentEvent
from weft.sdk.client import Answer, Client
from weft.sdk.options import Options


class Query:
    """A turn that has not begun. Await it for the `Answer`, or iterate it for its events:

    answer = await weft.query("…")
    async for event in weft.query("…"): ...
    """

    def __init__(self, prompt: str | Content, options: Options) -> None:
        self._prompt = prompt
        self._options = options

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._answer().__await__()

    async def _answer(self) -> Answer:
        async with Client(self._options) as client:
            return await client.ask(self._prompt)

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """The session has a task of its own here, so that a `break` in the caller's loop cannot tear its scopes: a
        generator must not yield from inside a task group. The task ends with the generator."""
        import anyio

        send, receive = anyio.create_memory_object_stream[AgentEvent](64)

        async def play() -> None:
            async with send, Client(self._options) as client:
                await client.send(self._prompt)
                async for event in client.receive():
                    await send.send(event)

        task = asyncio.ensure_future(play())
        try:
            async for event in _drain(receive):
                yield event
            await task
        finally:
            receive.close()
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _drain(stream: ObjectReceiveStream[AgentEvent]) -> AsyncIterator[AgentEvent]:
    import anyio

    while True:
        try:
            yield await stream.receive()
        except anyio.EndOfStream:
            return


def query(prompt: str | Content, options: Options | None = None, **more: Any) -> Query:
    """One prompt to a new session (or to `options.resume`). Keyword arguments are fields of `Options`."""
    import msgspec

    chosen = options or Options()
    return Query(prompt, msgspec.structs.replace(chosen, **more) if more else chosen)
