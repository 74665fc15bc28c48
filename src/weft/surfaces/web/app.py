"""The application: the page's own files, one socket, and the guard around both."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from weft.surfaces.web.apps import PATH, serve_app
from weft.surfaces.web.guard import Ancestors, App, Guard, Keys
from weft.surfaces.web.hub import Hub
from weft.surfaces.web.page import serve_page
from weft.transports.asgi import HEAD_LIMIT, LoopbackServer

STATIC: Final = Path(__file__).parent / "static"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def make_app(hub: Hub, keys: Keys, port: int, ancestors: Ancestors) -> App:
    """The guarded application. Only the files listed at start are served, by name; no path is ever joined."""
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}

    async def index(request: Request) -> Response:
        return FileResponse(files["index.html"], media_type=TYPES[".html"])

    async def static(request: Request) -> Response:
        path = files.get(request.path_params["name"])
        if path is None:
            return PlainTextResponse("Not found", status_code=404)
        return FileResponse(path, media_type=TYPES[path.suffix])

    async def app(request: Request) -> Response:
        return await serve_app(request, ancestors.names)

    async def socket(websocket: WebSocket) -> None:
        await serve_page(websocket, hub, keys)

    routes = [
        Route("/", index),
        Route("/static/{name}", static),
        Route(PATH + "{name}", app),
        WebSocketRoute("/socket", socket),
    ]
    return Guard(Starlette(routes=routes), keys, port, ancestors)


class WebHost:
    """A hub on a port of its own. `link` gives one-time addresses; `serve` goes on until it is cancelled.
    `ancestors` may show the page in a frame.

    Raises:
        UsageError: an ancestor that cannot be allowed.
        TransportError: the port is taken.
    """

    def __init__(
        self, hub: Hub, *, port: int = 0, ancestors: Iterable[str] = (), head_limit: float = HEAD_LIMIT
    ) -> None:
        self._ancestors = Ancestors(ancestors)
        self._hub = hub
        self._keys = Keys()
        self._server = LoopbackServer(port, head_limit=head_limit)

    @property
    def port(self) -> int:
        return self._server.port

    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}{self._keys.new_link()}"

    async def serve(self) -> None:
        try:
            async with self._hub:
                await self._server.serve(make_app(self._hub, self._keys, self.port, self._ancestors))
        finally:
            self._server.close()
