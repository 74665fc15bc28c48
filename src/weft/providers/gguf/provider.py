"""A GGUF file as a provider: the child is started with the first request and shared with every other conversation."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from weft.errors import TransportError
from weft.protocols.openai_chat import ChatOptions
from weft.providers.openai import OpenAIProvider
from weft.schema.messages import Request
from weft.schema.stream import StreamEvent, StreamFailed
from weft.transports import llama_child
from weft.transports.http import HttpLimits

_LIMITS: Final = HttpLimits(first_byte=1800.0, idle=600.0)
"""A long prompt on a small machine takes minutes before its first token."""
_TOUCH: Final = 10.0


class GgufProvider:
    """`folder` is where the child's state stands; see `transports.llama_child`."""

    def __init__(self, model: Path, *, folder: Path, env: Mapping[str, str]) -> None:
        self.name = "gguf"
        self._model = model
        self._folder = folder
        self._env = env
        self._open: tuple[str, OpenAIProvider] | None = None

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        try:
            inner = await self._provider()
        except TransportError as error:
            yield StreamFailed(
                "connection", str(error), hint=llama_child.HINT if "not installed" in str(error) else None
            )
            return
        place = llama_child.state_file(self._model, self._folder)
        asked = msgspec.structs.replace(request, model=self._model.stem)
        touched = monotonic()
        async for event in inner.stream(asked):
            if monotonic() - touched > _TOUCH:
                touched = monotonic()
                llama_child.touch(place)
            yield event

    async def _provider(self) -> OpenAIProvider:
        found = await llama_child.running(self._model, self._folder, self._env)
        if self._open is None or self._open[0] != found.token:
            if self._open is not None:
                await self._open[1].aclose()
            inner = OpenAIProvider(
                key=found.token,
                base_url=f"{found.url}/v1",
                name=self.name,
                options=ChatOptions(constraint="grammar"),
                limits=_LIMITS,
            )
            self._open = (found.token, inner)
        return self._open[1]

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None:
        """The child stays for others, and ends when nobody comes."""
        if self._open is not None:
            await self._open[1].aclose()
            self._open = None
