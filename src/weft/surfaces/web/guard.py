"""Who may talk to the page's host: a browser of this machine that followed the one-time link, and nobody else.

Every request and every upgrade is checked: the Host header (a name that was rebound to 127.0.0.1 has another), the
Origin (a page from elsewhere has another), and a cookie that only the link gives. Loopback alone proves nothing.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types weft"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cache-control", b"no-store"),
)
OPEN: Final = "/open/"
FRAMED: Final = "/app/"
"""Pages of MCP Apps: they bring a stricter policy of their own, and stand in a frame of ours."""
LINKS: Final = 8
"""One-time links that may wait to be followed."""


class Keys:
    """The cookie's value, and the one-time links. Both die with the process."""

    def __init__(self) -> None:
        self._session = secrets.token_urlsafe(32)
        self._links: list[str] = []

    def new_link(self) -> str:
        """The path of a link that works once."""
        key = secrets.token_urlsafe(32)
        self._links = [*self._links[-(LINKS - 1) :], key]
        return OPEN + key

    def use_link(self, key: str) -> str | None:
        """The cookie's value for a link that was not followed yet; it does not work again."""
        for known in self._links:
            if hmac.compare_digest(known.encode(), key.encode("utf-8", "replace")):
                self._links.remove(known)
                return self._session
        return None

    def knows(self, value: str) -> bool:
        return hmac.compare_digest(self._session.encode(), value.encode("utf-8", "replace"))


class Guard:
    """Wraps the application. Refusals are short and say nothing about what is behind them."""

    def __init__(self, app: App, keys: Keys, port: int) -> None:
        self._app = app
        self._keys = keys
        self._cookie = f"weft-{port}"
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = _headers(scope["headers"])
        if not self._local(headers, upgrade=scope["type"] == "websocket"):
            await _refuse(scope, send, 403, "This address is for a browser on this machine.")
        elif scope["type"] == "http" and scope["path"].startswith(OPEN):
            await self._open(scope, headers, send)
        elif not self._known(headers):
            await _refuse(scope, send, 401, "Open the link that `weft web` printed. It works once.")
        else:
            await self._app(scope, receive, _hardened(send, framed=scope["path"].startswith(FRAMED)))

    def _local(self, headers: dict[str, list[str]], *, upgrade: bool) -> bool:
        if len(headers.get("host", ())) != 1 or headers["host"][0] not in self._hosts:
            return False
        origins = headers.get("origin", [])
        if upgrade and not origins:
            return False
        if any(origin != f"http://{headers['host'][0]}" for origin in origins):
            return False
        site = headers.get("sec-fetch-site", ["same-origin"])
        return site[0] in ("same-origin", "none") or (site[0] == "cross-site" and _navigates(headers) and not upgrade)

    def _known(self, headers: dict[str, list[str]]) -> bool:
        return any(self._keys.knows(value) for value in _cookies(headers, self._cookie))

    async def _open(self, scope: Scope, headers: dict[str, list[str]], send: Send) -> None:
        value = self._keys.use_link(scope["path"][len(OPEN) :])
        if value is None and not self._known(headers):
            await _refuse(scope, send, 401, "This link was used already. Run `weft web` again for a new one.")
            return
        answer: list[tuple[bytes, bytes]] = [*HEADERS]
        if value is not None:
            cookie = f"{self._cookie}={value}; Path=/; HttpOnly; SameSite=Strict"
            answer.append((b"set-cookie", cookie.encode()))
        # A redirect would be part of a navigation that began elsewhere (a terminal, a mail), and a browser does not
        # send a Strict cookie along with that. A page that goes on by itself is a navigation of our own.
        body = (
            b'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
            b'<link rel="icon" href="data:,"><title>Weft</title>'
        )
        answer += [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": answer})
        await send({"type": "http.response.body", "body": body})


def _navigates(headers: dict[str, list[str]]) -> bool:
    """A person followed a link to us from elsewhere: harmless, and without the cookie they see a refusal."""
    return headers.get("sec-fetch-mode", [""])[0] == "navigate" and headers.get("sec-fetch-dest", [""])[0] == "document"


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, value in raw:
        out.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return out


def _cookies(headers: dict[str, list[str]], name: str) -> list[str]:
    found: list[str] = []
    for line in headers.get("cookie", ()):
        try:
            jar = SimpleCookie(line)
        except CookieError:
            continue
        if name in jar:
            found.append(jar[name].value)
    return found


def _hardened(send: Send, *, framed: bool = False) -> Send:
    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())} if framed else set[bytes]()
            keeps = framed and b"content-security-policy" in own
            left_out = {b"content-security-policy", b"x-frame-options"} if keeps else set[bytes]()
            ours = [pair for pair in HEADERS if pair[0] not in left_out]
            names = {name for name, _ in ours}
            message["headers"] = [pair for pair in message.get("headers", ()) if pair[0] not in names]
            message["headers"] += ours
        await send(message)

    return hardened


async def _refuse(scope: Scope, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4000 + status, "reason": text})
        return
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
