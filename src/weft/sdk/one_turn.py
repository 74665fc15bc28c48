"""`weft.query`: one prompt, one turn."""

from collections.abc import AsyncIterator, Generator
from typing import Any

from weft.schema.content import Content
from weft.schema.events import AgentEvent
from weft.sdk.client import Answer, Client
from weft.sdk.options import Options
from weft.sdk.owned import owned


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

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return owned(Client(self._options), self._play)

    async def _play(self, client: Client) -> AsyncIterator[AgentEvent]:
        await client.send(self._prompt)
        async for event in client.receive():
            yield event


def query(prompt: str | Content, options: Options | None = None, **more: Any) -> Query:
    """One prompt to a new session (or to `options.resume`). Keyword arguments are fields of `Options`."""
    import msgspec

    chosen = options or Options()
    return Query(prompt, msgspec.structs.replace(chosen, **more) if more else chosen)
