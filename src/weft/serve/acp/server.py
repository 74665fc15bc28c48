"""`weft acp`: one client on standard input and output, or many on a WebSocket at `/acp`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from weft.serve.acp.agent import AcpAgent
from weft.serve.acp.request import OpenSession
from weft.sessions.port import SessionStore
from weft.transports.messages import MessageStream
from weft.transports.stdio import stdio_stream

if TYPE_CHECKING:
    from weft.transports.websocket import WebSocketStream

PATH = "/acp"
_PONG_LIMIT = 5.0


class PacedSocket:
    """A WebSocket that, when `paced`, sends each frame only after the one before it has been taken.

    iFlow's JS SDK listens for one message at a time and loses whatever arrives together with it. A ping behind each
    frame tells when the client has come round again; time alone does not, whatever the pause. Binary frames are no
    part of ACP and are skipped.
    """

    def __init__(self, socket: "WebSocketStream") -> None:
        self._socket = socket
        self._sending = anyio.Lock()
        self.paced = False

    async def send(self, message: str | bytes) -> None:
        if not self.paced:
            await self._socket.send(message)
            return
        async with self._sending:
            await self._socket.send(message)
            await self._socket.ping(timeout=_PONG_LIMIT)

    async def receive(self) -> str | bytes | None:
        while True:
            message = await self._socket.receive()
            if not isinstance(message, bytes):
                return message

    async def close(self) -> None:
        await self._socket.close()


async def serve_stdio(open_session: OpenSession, store: SessionStore, draft: bool = False) -> None:
    """Until standard input is closed. `draft` lets clients have the draft of version 2."""
    await serve_stream(_drafted(stdio_stream(), draft), open_session, store)


def _drafted(stream: MessageStream, draft: bool) -> MessageStream:
    if not draft:
        return stream
    from weft.serve.acp.draft import DraftStream

    return DraftStream(stream)


async def serve_stream(stream: MessageStream, open_session: OpenSession, store: SessionStore) -> None:
    await AcpAgent(stream, open_session, store).run()


async def serve_websocket(
    open_session: OpenSession,
    store: SessionStore,
    *,
    port: int,
    token: str | None,
    origins: tuple[str, ...] = (),
    deflate: bool = True,
    draft: bool = False,
    listening: Callable[[int], None] | None = None,
) -> None:
    """Until it is cancelled. `listening` is told the port."""
    from weft.transports.websocket import Access, WebSocketServer

    async def handle(socket: "WebSocketStream") -> None:
        stream = PacedSocket(socket)
        agent = AcpAgent(_drafted(stream, draft), open_session, store, greets=True, on_dialect=lambda: _pace(stream))
        await agent.run()

    access = Access(token=token, origins=origins, paths=(PATH, PATH + "/"))
    async with WebSocketServer(
        handle, access=access, port=port, deflate=deflate, response_headers=_connection_id
    ) as server:
        if listening:
            listening(server.port)
        await anyio.sleep_forever()


def _connection_id() -> dict[str, str]:
    import uuid

    return {"Acp-Connection-Id": str(uuid.uuid4())}


def _pace(stream: PacedSocket) -> None:
    stream.paced = True
