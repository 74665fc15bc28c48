"""What the two ends of every MCP transport of ours have in common, as the package wants to see them."""

from types import TracebackType
from typing import Protocol, Self

import anyio
import mcp_types
from mcp.shared.message import SessionMessage


class Receives(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...


class End:
    """One end of a transport that is closed elsewhere: leaving it does nothing."""

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return None


class Iterated:
    """Makes an end with `receive` one that can be looped over."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self: Receives) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def decode(data: bytes | str) -> SessionMessage:
    """
    Raises:
        ValueError: it is not JSON-RPC.
    """
    return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(data, by_name=False))


def encode(item: SessionMessage) -> str:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True)
