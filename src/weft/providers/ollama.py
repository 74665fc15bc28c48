"""Ollama through its own chat API, for plain messages whose answers must fit a schema."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from weft.protocols.ollama_chat import OllamaDecoder, decode_whole, encode_request
from weft.providers.exchange import Dialect, exchange
from weft.schema.messages import Request
from weft.schema.stream import StreamEvent
from weft.transports.http import HttpClient, HttpLimits

_DIALECT: Final = Dialect(
    decoder=lambda request_id: OllamaDecoder(),
    whole=lambda body, request_id: decode_whole(body, request_id=request_id),
)


class OllamaProvider:
    """`base_url` is the server's origin. `window` is the context that it is asked for: 0 leaves it its own."""

    def __init__(
        self,
        base_url: str,
        *,
        window: int = 0,
        limits: HttpLimits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = "ollama"
        self._base = base_url.rstrip("/")
        self._window = window
        self._http = HttpClient(limits=limits, env=env)

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        body = encode_request(request, window=self._window)
        return exchange(self._http, f"{self._base}/api/chat", {}, body, _DIALECT)

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None:
        await self._http.aclose()
