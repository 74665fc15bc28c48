"""Serves an ASGI application on 127.0.0.1, and nowhere else. uvicorn is loaded when a server is made."""

import contextlib
import socket
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from typing import Any

import anyio

from weft.errors import TransportError

AsgiApp = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]
MOST_FRAME = 32 * 1024 * 1024
"""Bytes of one WebSocket message: a few pasted pictures."""
MOST_HEAD = 64 * 1024
MOST_PEERS = 256
HEAD_LIMIT = 10.0
"""Seconds in which the head of a request must be whole, from the connection or from its first byte on."""
GRACE = 2


class LoopbackServer:
    """A listening socket from the first moment, so that `port` is known before the application is made.

    Raises:
        TransportError: the port is taken.
    """

    def __init__(self, port: int = 0, *, head_limit: float = HEAD_LIMIT) -> None:
        self._head_limit = head_limit
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError as error:
            self._socket.close()
            hint = "Leave the port out to be given a free one."
            raise TransportError(f"Port {port} cannot be used: {error.strerror}", hint=hint) from None
        self._socket.listen(128)
        self._socket.setblocking(False)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def address(self) -> str:
        return str(self._socket.getsockname()[0])

    async def serve(self, app: AsgiApp) -> None:
        """Until it is cancelled; then open requests get a moment to end."""
        import uvicorn

        from weft.transports.heads import limited_heads

        class Server(uvicorn.Server):
            """Signals belong to whoever started us."""

            @contextlib.contextmanager
            def capture_signals(self) -> Generator[None]:
                yield

        server = Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                http=limited_heads(self._head_limit),
                ws="websockets-sansio",
                ws_max_size=MOST_FRAME,
                ws_per_message_deflate=False,  # the wire is this machine's memory
                ws_ping_interval=20.0,
                ws_ping_timeout=20.0,
                h11_max_incomplete_event_size=MOST_HEAD,
                limit_concurrency=MOST_PEERS,
                timeout_keep_alive=10,
                timeout_graceful_shutdown=GRACE,
                server_header=False,
                proxy_headers=False,
            )
        )
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_with_scope, server)
            with anyio.CancelScope(shield=True):
                await server.serve(sockets=[self._socket])
            group.cancel_scope.cancel()

    async def _end_with_scope(self, server: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True

    def close(self) -> None:
        self._socket.close()
