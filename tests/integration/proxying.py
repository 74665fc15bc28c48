"""What the tests of the proxy share: a proxy before a fake server, and a client that sees every byte."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import anyio
import msgspec

from weft.providers.retry import RetryPolicy
from weft.proxy.calls import Call, CallLog
from weft.proxy.credentials import Credential, EnvKey
from weft.proxy.nonces import Grant
from weft.proxy.policy import Policy
from weft.proxy.server import Proxy, ProxyOptions
from weft.proxy.upstream import Dialect, Upstream
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_openai import FakeOpenAI
from weft.transports.http import HttpClient, HttpResponse

KEY = "sk-real-0123456789abcdef"
QUICK = RetryPolicy(max_retries=2, first=0.001, patience=10.0, overloads_before_fallback=2)
Fake = FakeAnthropic | FakeOpenAI


def upstream(server: Fake, credential: Credential | None = None) -> Upstream:
    dialect: Dialect = "anthropic" if isinstance(server, FakeAnthropic) else "openai"
    return Upstream(
        name=dialect,
        dialect=dialect,
        base_url=server.url,
        credential=credential or EnvKey("KEY", {"KEY": KEY}),
    )


class Stage:
    """A proxy, a nonce and a client. `seen` has every byte that the client got."""

    def __init__(
        self,
        *servers: Fake,
        policy: Policy | None = None,
        credential: Credential | None = None,
        upstreams: Sequence[Upstream] = (),
        **options: Any,
    ) -> None:
        self.log = CallLog()
        found = upstreams or [upstream(one, credential) for one in servers]
        self.proxy = Proxy(found, msgspec.structs.replace(ProxyOptions(retries=QUICK), **options), log=self.log)
        self.policy = policy
        self.http = HttpClient()
        self.seen = bytearray()

    async def __aenter__(self) -> Self:
        await self.proxy.__aenter__()
        self.grant: Grant = self.proxy.issue("tester", self.policy)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.http.aclose()
        return await self.proxy.__aexit__(kind, error, trace)

    async def ask(
        self,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "",
    ) -> "Answered":
        async with await self.open(path, body, headers=headers, method=method) as response:
            data = await response.read()
        self.seen += repr(response.headers).encode() + data
        return Answered(response.status, response.headers, data)

    async def open(
        self,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "",
    ) -> HttpResponse:
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        given = {"x-api-key": self.grant.nonce, "content-type": "application/json"} if headers is None else headers
        with anyio.fail_after(30):
            return await self.http.send(
                method or ("GET" if body is None else "POST"), self.proxy.url + path, given, data
            )

    def calls(self) -> list[Call]:
        return list(self.log.read())


class Answered(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.data)

    @property
    def events(self) -> list[Any]:
        """The JSON of each event of a stream."""
        rows = [line[5:].strip() for line in self.data.split(b"\n") if line.startswith(b"data:")]
        return [msgspec.json.decode(row) for row in rows if row != b"[DONE]"]


def messages(model: str = "claude-haiku-4-5", *, stream: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": stream,
        **more,
    }


def chat(model: str = "gpt-x", *, stream: bool = True, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream, **more}
