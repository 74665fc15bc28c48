"""The loopback end of a login: one request from the browser, on 127.0.0.1 alone, and then it is gone."""

import html
import socket
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup

from weft.errors import TransportError

MAX_REQUEST = 16_384
PAGE = """<!doctype html><meta charset="utf-8"><title>Weft</title>
<body style="font-family:sans-serif;max-width:40em;margin:4em auto"><h1>{title}</h1><p>{text}</p></body>"""


class CallbackServer:
    """Entered, it listens; `wait` gives the parameters that the browser came back with; left, it is closed.

    A request must be a GET for our path with our own Host; anything else gets 404 and changes nothing. The first
    good one is the only one.

    Raises:
        TransportError: on entering, when the port is taken.
    """

    def __init__(self, *, port: int = 0, path: str = "/callback") -> None:
        self._port = port
        self._path = path
        self._params: dict[str, str] | None = None
        self._came = anyio.Event()
        self._group: TaskGroup | None = None
        self._listener: Listener[SocketStream] | None = None
        self.redirect_uri = ""

    async def __aenter__(self) -> Self:
        try:
            listener = self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self._port)
        except OSError as error:
            raise TransportError(f"port {self._port} on 127.0.0.1 cannot be used for the login: {error}") from error
        self._port = int(listener.extra(SocketAttribute.local_port))
        self.redirect_uri = f"http://127.0.0.1:{self._port}{self._path}"
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(listener.serve, self._answer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._group is None or self._listener is None:
            return None
        self._group.cancel_scope.cancel()
        done = await self._group.__aexit__(kind, error, trace)
        await self._listener.aclose()
        return done

    async def wait(self) -> dict[str, str]:
        await self._came.wait()
        return self._params or {}

    async def _answer(self, stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(10):
                try:
                    status, title, text = self._take(await self._head(stream))
                    body = PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
                    await stream.send(
                        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
                        f"Content-Length: {len(body)}\r\nConnection: close\r\nCache-Control: no-store\r\n"
                        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
                        "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\r\n".encode()
                        + body
                    )
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def _head(self, stream: SocketStream) -> str:
        data = b""
        while b"\r\n\r\n" not in data and len(data) < MAX_REQUEST:
            data += await stream.receive()
        return data.partition(b"\r\n\r\n")[0].decode("latin-1")

    def _take(self, head: str) -> tuple[str, str, str]:
        line, *fields = head.split("\r\n")
        method, _, rest = line.partition(" ")
        target = rest.partition(" ")[0]
        hosts = [value.strip() for name, _, value in (f.partition(":") for f in fields) if name.lower() == "host"]
        allowed = {f"127.0.0.1:{self._port}", f"localhost:{self._port}"}
        url = urlsplit(target)
        if method != "GET" or url.path != self._path or len(hosts) != 1 or hosts[0] not in allowed:
            return "404 Not Found", "Not here", "This is not a page."
        if self._params is not None:
            return "410 Gone", "Already used", "This login is over. Start it again."
        params = {name: values[0] for name, values in parse_qs(url.query).items()}
        if not {"code", "error"} & params.keys():
            return "400 Bad Request", "Something is missing", "The server sent no code."
        self._params = params
        self._came.set()
        if "error" in params:
            return "200 OK", "The login failed", params.get("error_description") or params["error"]
        return "200 OK", "You are logged in", "You can close this page and go back to Weft."


def free_port() -> int:
    """A port on 127.0.0.1 that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
