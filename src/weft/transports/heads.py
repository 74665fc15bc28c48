"""A time limit for the heads of requests. A peer that sends one byte a minute would hold its place for ever."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def limited_heads(seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol, which closes a connection whose request is not whole within `seconds`."""

    class LimitedHeads(H11Protocol):
        head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._head_is_there()
            elif self.head_timer is None:
                self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_there()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self.head_timer = self.loop.call_later(seconds, self._too_slow)

        def _head_is_there(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

        def _too_slow(self) -> None:
            self.head_timer = None
            if not self.transport.is_closing():
                self.transport.write(TOO_SLOW)
                self.transport.close()

    return LimitedHeads
