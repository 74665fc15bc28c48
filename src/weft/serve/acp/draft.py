"""A client that may speak the draft of version 2, as our version 1 agent hears it."""

from collections import deque
from typing import Any

import msgspec

from weft.protocols.acp.draft2 import Draft2
from weft.transports.messages import MessageStream


class DraftStream:
    """A `MessageStream` around another: frames are translated once the client has asked for version 2."""

    def __init__(self, inner: MessageStream) -> None:
        self._inner = inner
        self._draft = Draft2()
        self._ready: deque[bytes] = deque()

    async def send(self, message: str | bytes) -> None:
        if not self._draft.active:
            await self._inner.send(message)
            return
        for frame in self._draft.from_agent(msgspec.json.decode(message, type=dict[str, Any])):
            await self._inner.send(msgspec.json.encode(frame))

    async def receive(self) -> str | bytes | None:
        while not self._ready:
            message = await self._inner.receive()
            if message is None:
                return None
            try:
                frame = msgspec.json.decode(message, type=dict[str, Any])
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return message
            for_agent, for_client = self._draft.from_client(frame)
            for answer in for_client:
                await self._inner.send(msgspec.json.encode(answer))
            self._ready.extend(msgspec.json.encode(one) for one in for_agent)
        return self._ready.popleft()

    async def close(self) -> None:
        await self._inner.close()
