"""MCP over a WebSocket, one JSON message a frame; the subprotocol is `mcp`."""

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage

from weft.errors import TransportError
from weft.transports.mcp_streams import End, Iterated, decode, encode

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MAX_FRAME = 32 << 20
OPEN_LIMIT = 30.0


class WebSocketTransport:
    """Entered, it gives the pair of streams; left, the socket is closed. Redirects are not followed.

    Raises:
        TransportError: on entering, when the server does not take the connection.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], user_agent: str, max_frame: int = MAX_FRAME) -> None:
        self._url = url
        self._headers = dict(headers)
        self._user_agent = user_agent
        self._max_frame = max_frame
        self._socket: ClientConnection | None = None

    async def __aenter__(self) -> tuple["FrameReader", "FrameWriter"]:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException
        from websockets.typing import Subprotocol

        try:
            self._socket = await connect(
                self._url,
                additional_headers=self._headers,
                user_agent_header=self._user_agent,
                subprotocols=[Subprotocol("mcp")],
                max_size=self._max_frame,
                open_timeout=OPEN_LIMIT,
                close_timeout=2,
                proxy=None,
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            raise TransportError(f"cannot connect to {self._url}: {error}") from error
        return FrameReader(self._socket), FrameWriter(self._socket)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        if self._socket is not None:
            with anyio.move_on_after(3, shield=True):
                await self._socket.close()
        return None


class FrameReader(End, Iterated):
    """Messages from the socket; frames that are not JSON-RPC are left out."""

    def __init__(self, socket: "ClientConnection") -> None:
        self._socket = socket
        self.problem = ""

    async def receive(self) -> SessionMessage | Exception:
        from websockets.exceptions import ConnectionClosed

        while True:
            try:
                frame = await self._socket.recv()
            except ConnectionClosed as closed:
                self.problem = str(closed)
                raise anyio.EndOfStream from closed
            try:
                return decode(frame)
            except ValueError:
                continue


class FrameWriter(End):
    def __init__(self, socket: "ClientConnection") -> None:
        self._socket = socket

    async def send(self, item: SessionMessage, /) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(encode(item))
        except ConnectionClosed as closed:
            raise anyio.BrokenResourceError from closed
