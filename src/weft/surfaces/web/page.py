"""One page's socket: what it sends is acted on in order, and what is for it goes out in batches."""

import logging
from collections import deque

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from weft.errors import RemoteProtocolError, WeftError
from weft.surfaces.web import messages as m
from weft.surfaces.web.desk import Desk
from weft.surfaces.web.frames import Problem, Reply, batch, encode_frame
from weft.surfaces.web.guard import Keys
from weft.surfaces.web.hub import Hub

log = logging.getLogger(__name__)

MOST_WAITING = 16_000_000
"""Characters that may wait for a page. One that is slower loses its socket, comes back and asks for what it missed."""
GATHER = 0.01
"""Seconds between two messages to a page: with many conversations at once, what comes meanwhile goes in the next."""
MOST_BROKEN = 5
"""Messages that are no messages before a page is sent away."""
SLOW = 4013
BROKEN = 4002


class Page:
    """A `Viewer`. `push` never waits."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._waiting: deque[str] = deque()
        self._size = 0
        self._some = anyio.Event()
        self._slow = False

    def push(self, frame: str) -> None:
        if self._slow:
            return
        self._waiting.append(frame)
        self._size += len(frame)
        if self._size > MOST_WAITING:
            self._slow = True
            self._waiting.clear()
        self._some.set()

    async def write(self) -> None:
        """Sends what waits, as one message, and again, until the socket is gone or too slow."""
        soonest = 0.0
        while True:
            await self._some.wait()
            await anyio.sleep_until(soonest)
            self._some = anyio.Event()
            if self._slow:
                await self._socket.close(SLOW, "too slow")
                return
            frames = list(self._waiting)
            self._waiting.clear()
            self._size = 0
            if frames:
                await self._socket.send_text(batch(frames))
            soonest = anyio.current_time() + GATHER


async def serve_page(socket: WebSocket, hub: Hub, keys: Keys) -> None:
    """From the upgrade to the end of the socket."""
    await socket.accept()
    page = Page(socket)
    hub.join(page)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_write, page, group.cancel_scope)
            await _read(socket, page, hub, Desk(hub, page, keys))
            group.cancel_scope.cancel()
    finally:
        hub.leave(page)


async def _write(page: Page, scope: anyio.CancelScope) -> None:
    try:
        await page.write()
    except (WebSocketDisconnect, RuntimeError) as error:
        log.debug("a page went away: %s", error)
    scope.cancel()


async def _read(socket: WebSocket, page: Page, hub: Hub, desk: Desk) -> None:
    broken = 0
    while True:
        try:
            data = await socket.receive_text()
        except (WebSocketDisconnect, RuntimeError, KeyError):
            return
        try:
            message = m.decode_message(data)
        except RemoteProtocolError as error:
            broken += 1
            page.push(encode_frame(Problem(message=str(error)[:300])))
            if broken >= MOST_BROKEN:
                await socket.close(BROKEN, "not our protocol")
                return
            continue
        if isinstance(message, m.SendMessage | m.WakeAgent | m.RecheckCli):
            # Looking for an agent may take long, and the page has other things to say meanwhile.
            hub.group.start_soon(act, desk, page, message)
        else:
            await act(desk, page, message)


async def act(desk: Desk, page: Page, message: m.FromPage) -> None:
    try:
        await desk.handle(message)
    except WeftError as error:
        text = error.whole
        _say_no(page, message, text)
    except Exception as error:  # the boundary to a page: its message may fail, the others go on
        log.exception("a page's %s failed", type(message).__name__)
        _say_no(page, message, f"This failed: {error}")


def _say_no(page: Page, message: m.FromPage, text: str) -> None:
    if message.request is not None:
        page.push(encode_frame(Reply(request=message.request, error=text)))
        return
    conversation = message.conversation if isinstance(message, m.InConversation) else None
    page.push(encode_frame(Problem(message=text, conversation=conversation)))
