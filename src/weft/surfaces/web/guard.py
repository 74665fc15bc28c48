"""Who may talk to the page's host: a browser of this machine that followed the one-time link, and nobody else.

Every request and every upgrade is checked: the Host header (a name that was rebound to 127.0.0.1 has another), the
Origin (a page from elsewhere has another), and a cookie that only the link gives. Loopback alone proves nothing.

Nobody may show the page in a frame, except those that the person named (`Ancestors`): an editor's webview, say.
"""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qsl

from weft.errors import UsageError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types weft"
)
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cache-control", b"no-store"),
)
OPEN: Final = "/open/"
FRAMED: Final = "/app/"
"""Pages of MCP Apps: they bring a stricter policy of their own, and stand in a frame of ours."""
EDITORS: Final = {"vscode": ("vscode-webview:", "vscode-file:")}
"""A frame is shown only when every one of its ancestors is allowed; VS Code's webviews stand in its workbench."""
_SOURCE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?)?")
LOOKS: Final = {"theme": ("light", "dark"), "lang": ("en", "zh")}
"""What an editor may add to a link: `?theme=dark&lang=zh`."""
LINKS: Final = 8
"""One-time links that may wait to be followed."""


class Ancestors:
    """Who may show the page in a frame: `vscode`, schemes (`vscode-webview:`) and origins (`http://localhost:3000`).

    Raises:
        UsageError: one is neither, or would let any page of the web in.
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self.names = tuple(dict.fromkeys(source for name in named for source in _sources(name)))

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """All that every answer has. The older header knows no names: it is for those who may not at all."""
        places = " ".join(self.names) or "'none'"
        own = ((b"content-security-policy", f"{POLICY}; frame-ancestors {places}".encode()), *HEADERS)
        return own if self.names else (*own, (b"x-frame-options", b"DENY"))


def _sources(name: str) -> tuple[str, ...]:
    if name in EDITORS:
        return EDITORS[name]
    if not _SOURCE.fullmatch(name) or name.lower() in ("http:", "https:", "file:", "data:", "blob:"):
        hint = f"Name an editor ({', '.join(EDITORS)}), a scheme such as vscode-webview:, or http://localhost:3000."
        raise UsageError(f"{name!r} cannot be allowed to show the page.", hint=hint)
    return (name,)


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

    def __init__(self, app: App, keys: Keys, port: int, ancestors: Ancestors | None = None) -> None:
        self._app = app
        self._keys = keys
        self._framed = bool(ancestors)
        self._headers = (ancestors or Ancestors()).headers
        self._cookie = f"weft-{port}"
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = _headers(scope["headers"])
        if not self._local(headers, upgrade=scope["type"] == "websocket"):
            await self._refuse(scope, send, 403, "This address is for a browser on this machine.")
        elif scope["type"] == "http" and scope["path"].startswith(OPEN):
            await self._open(scope, headers, send)
        elif not self._known(headers):
            await self._refuse(scope, send, 401, "Open the link that `weft web` printed. It works once.")
        else:
            await self._app(scope, receive, _hardened(send, self._headers, framed=scope["path"].startswith(FRAMED)))

    def _local(self, headers: dict[str, list[str]], *, upgrade: bool) -> bool:
        if len(headers.get("host", ())) != 1 or headers["host"][0] not in self._hosts:
            return False
        origins = headers.get("origin", [])
        if upgrade and not origins:
            return False
        if any(origin != f"http://{headers['host'][0]}" for origin in origins):
            return False
        site = headers.get("sec-fetch-site", ["same-origin"])
        if site[0] in ("same-origin", "none"):
            return True
        # A frame that the policy does not allow is not shown by the browser, whatever we answer.
        places = ("document", "iframe") if self._framed else ("document",)
        return not upgrade and site[0] in ("cross-site", "same-site") and _navigates(headers, places)

    def _known(self, headers: dict[str, list[str]]) -> bool:
        return any(self._keys.knows(value) for value in _cookies(headers, self._cookie))

    async def _open(self, scope: Scope, headers: dict[str, list[str]], send: Send) -> None:
        value = self._keys.use_link(scope["path"][len(OPEN) :])
        if value is None and not self._known(headers):
            await self._refuse(scope, send, 401, "This link was used already. Run `weft web` again for a new one.")
            return
        answer: list[tuple[bytes, bytes]] = [*self._headers]
        if value is not None:
            # A Strict cookie is not sent in a frame of another site. The one for frames is kept apart for each site
            # at the top (Partitioned), so no other site's frame has it; browsers take Secure from 127.0.0.1.
            framed = self._framed and headers.get("sec-fetch-dest", [""])[0] == "iframe"
            kind = "SameSite=None; Secure; Partitioned" if framed else "SameSite=Strict"
            cookie = f"{self._cookie}={value}; Path=/; HttpOnly; {kind}"
            answer.append((b"set-cookie", cookie.encode()))
        # A redirect would be part of a navigation that began elsewhere (a terminal, a mail), and a browser does not
        # send a Strict cookie along with that. A page that goes on by itself is a navigation of our own.
        body = (
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/{_looks(scope)}">'
            '<link rel="icon" href="data:,"><title>Weft</title>'
        ).encode()
        answer += [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": answer})
        await send({"type": "http.response.body", "body": body})

    async def _refuse(self, scope: Scope, send: Send, status: int, text: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4000 + status, "reason": text})
            return
        body = text.encode()
        own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": [*own, *self._headers]})
        await send({"type": "http.response.body", "body": body})


def _looks(scope: Scope) -> str:
    asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
    known = [f"{name}={asked[name]}" for name, values in LOOKS.items() if asked.get(name) in values]
    return f"?{'&amp;'.join(known)}" if known else ""


def _navigates(headers: dict[str, list[str]], places: tuple[str, ...]) -> bool:
    """A person followed a link to us from elsewhere: harmless, and without the cookie they see a refusal."""
    return headers.get("sec-fetch-mode", [""])[0] == "navigate" and headers.get("sec-fetch-dest", [""])[0] in places


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


def _hardened(send: Send, headers: Headers, *, framed: bool = False) -> Send:
    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())} if framed else set[bytes]()
            keeps = framed and b"content-security-policy" in own
            left_out = {b"content-security-policy", b"x-frame-options"} if keeps else set[bytes]()
            ours = [pair for pair in headers if pair[0] not in left_out]
            names = {name for name, _ in ours}
            message["headers"] = [pair for pair in message.get("headers", ()) if pair[0] not in names]
            message["headers"] += ours
        await send(message)

    return hardened
