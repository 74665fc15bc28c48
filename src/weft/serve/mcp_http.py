"""Weft's tools over streamable HTTP, for clients on this machine alone.

It binds 127.0.0.1 and wants a token: as a bearer token, or as a part of the path for clients that can only be given
an address. Host and Origin are checked before anything is read.
"""

import hmac
import secrets
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from weft.serve.mcp import make_server
from weft.transports.asgi import AsgiApp, LoopbackServer

if TYPE_CHECKING:
    from weft.serve.mcp import Desk

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Guard:
    """Lets through what names us, comes from no web page, and knows the token."""

    def __init__(self, app: AsgiApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host") not in self._hosts or not self._is_own(headers.get("origin")):
            await _refuse(send, 403)
            return
        path = self._inside(str(scope["path"]), headers.get("authorization", ""))
        if path is None:
            await _refuse(send, 401)
            return
        await self._app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _is_own(self, origin: str | None) -> bool:
        return origin is None or urlsplit(origin).netloc in self._hosts

    def _inside(self, path: str, authorization: str) -> str | None:
        """The path without the token; None without a token."""
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.encode(), self._token.encode()):
            return path
        parts = path.split("/", 2)
        if len(parts) == 3 and hmac.compare_digest(parts[1].encode(), self._token.encode()):
            return f"/{parts[2]}"
        return None


async def _refuse(send: Send, status: int) -> None:
    head: list[tuple[bytes, bytes]] = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
    if status == 401:
        head.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": b""})


async def serve_http(desk: "Desk", port: int) -> None:
    """Until it is cancelled. The address with the token is the first line of standard output."""
    listener = LoopbackServer(port)
    token = secrets.token_urlsafe(24)
    server = make_server(desk)
    app = server.streamable_http_app(host="127.0.0.1")
    sys.stdout.write(f"http://127.0.0.1:{listener.port}/{token}/mcp\n")
    sys.stdout.flush()
    try:
        async with desk.tasks, server.session_manager.run():
            await listener.serve(Guard(app, listener.port, token))
    finally:
        listener.close()
