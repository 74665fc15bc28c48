"""An MCP server that wants a login, and its authorization server, on one loopback port: good, or bad as told.

`wrong` names what it does wrong: nopkce, ssrf (metadata at `other`), badres (another resource), javascript (such an
authorization endpoint), issuer (metadata names another issuer), iss (the redirect does), state, scopes (it always
wants one more), redirect (the endpoint redirects to `other`), expired (the first token ends at once), error (the
login fails), elsewhere (its metadata is at /custom/metadata alone).
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

import anyio
from anyio.abc import TaskGroup

from weft.transports.asgi import LoopbackServer

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


class FakeOAuth:
    """`async with` it; `requests` has (method, path, authorization, body) of everything that came."""

    def __init__(self, *wrong: str, other: str = "") -> None:
        self.wrong = set(wrong)
        self.other = other
        self.requests: list[tuple[str, str, str, str]] = []
        self.tokens = 0
        self.challenge = ""
        self._listener = LoopbackServer()
        self.base = f"http://127.0.0.1:{self._listener.port}"
        self._group: TaskGroup | None = None

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._listener.serve, self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._group is not None
        self._group.cancel_scope.cancel()
        done = await self._group.__aexit__(kind, error, trace)
        self._listener.close()
        return done

    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.requests]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = bool(part.get("more_body"))
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
        self.requests.append((scope["method"], scope["path"], headers.get("authorization", ""), body.decode()))
        status, reply, extra = self._answer(scope["method"], scope["path"], query, headers, body)
        data = b"" if reply is None else json.dumps(reply).encode()
        head = {"content-type": "application/json", "content-length": str(len(data)), **extra}
        raw = [(name.encode(), value.encode()) for name, value in head.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": data})

    def _answer(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
    ) -> tuple[int, Any, dict[str, str]]:
        if path == "/mcp":
            return self._mcp(method, headers, body)
        if path.startswith("/.well-known/oauth-protected-resource"):
            resource = "http://127.0.0.1:1/other" if "badres" in self.wrong else self.url
            return 200, {"resource": resource, "authorization_servers": [self.base]}, {}
        if path == "/custom/metadata" or (path.startswith("/.well-known/") and "elsewhere" not in self.wrong):
            return 200, self._metadata(), {}
        if path == "/register":
            given = json.loads(body)
            kept = {"client_id": "client-1", "redirect_uris": given["redirect_uris"]}
            return 201, {**kept, "token_endpoint_auth_method": "none"}, {}
        if path == "/authorize":
            return 302, None, {"location": self._redirect(query)}
        if path == "/token":
            self.tokens += 1
            life = -10 if "expired" in self.wrong and self.tokens == 1 else 3600
            token = {"access_token": f"token-{self.tokens}", "token_type": "Bearer", "refresh_token": "again"}
            return 200, {**token, "expires_in": life}, {}
        return 404, {}, {}

    def _metadata(self) -> dict[str, Any]:
        issuer = "https://evil.example" if "issuer" in self.wrong else self.base
        found: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "response_types_supported": ["code"],
            "authorization_response_iss_parameter_supported": True,
        }
        if "javascript" in self.wrong:
            found["authorization_endpoint"] = "javascript:alert(1)"
        if "nopkce" not in self.wrong:
            found["code_challenge_methods_supported"] = ["S256"]
        return found

    def _redirect(self, query: dict[str, str]) -> str:
        self.challenge = query.get("code_challenge", "")
        if "error" in self.wrong:
            params = {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
        else:
            params = {"code": "code-1", "iss": "https://evil.example" if "iss" in self.wrong else self.base}
        params["state"] = "guessed" if "state" in self.wrong else query["state"]
        return f"{query['redirect_uri']}?{urlencode(params)}"

    def _mcp(self, method: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, dict[str, str]]:
        if "redirect" in self.wrong and headers.get("authorization"):
            return 307, None, {"location": f"{self.other}/mcp"}
        if not headers.get("authorization", "").startswith("Bearer token-"):
            return 401, {}, {"www-authenticate": f'Bearer resource_metadata="{self._where()}"'}
        if "scopes" in self.wrong:
            more = f'Bearer error="insufficient_scope", scope="s{self.tokens}", resource_metadata="{self._where()}"'
            return 403, {}, {"www-authenticate": more}
        if method != "POST":
            return 405, {}, {}
        message = json.loads(body)
        if "id" not in message:
            return 202, None, {}
        number = message["id"]
        if message["method"] == "initialize":
            hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            return 200, _reply(number, {**hello, "serverInfo": {"name": "fake", "version": "1"}}), {}
        if message["method"] == "tools/list":
            tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
            return 200, _reply(number, {"tools": tools}), {}
        if message["method"] == "tools/call":
            return 200, _reply(number, {"content": [{"type": "text", "text": "hello"}]}), {}
        return 200, {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "what?"}}, {}

    def _where(self) -> str:
        if "ssrf" in self.wrong:
            return f"{self.other}/internal"
        return f"{self.base}/.well-known/oauth-protected-resource/mcp"


def _reply(number: object, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}
