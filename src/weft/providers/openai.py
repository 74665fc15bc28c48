"""Any server that speaks OpenAI's chat completions: vLLM, LM Studio, llama.cpp, Ollama, OpenRouter, OpenAI itself."""

from collections.abc import AsyncIterator, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from weft.protocols.openai_chat import ChatOptions, encode_request
from weft.protocols.openai_stream import ChatDecoder, decode_whole
from weft.providers.catalogue import Catalogue, catalogue
from weft.providers.exchange import Dialect, exchange
from weft.schema.messages import Request
from weft.schema.stream import StreamEvent
from weft.transports.http import HttpClient, HttpLimits

BASE_URL: Final = "https://api.openai.com/v1"
_OURS: Final = ("user-agent", "host", "content-length", "transfer-encoding", "connection")
_DIALECT: Final = Dialect(
    decoder=lambda request_id: ChatDecoder(request_id=request_id),
    whole=lambda body, request_id: decode_whole(body, request_id=request_id),
)


class OpenAIProvider:
    """One assistant message after the other from `base_url`, which ends in `/v1` where it has no path of its own."""

    def __init__(
        self,
        *,
        key: str | None = None,
        base_url: str = BASE_URL,
        name: str = "openai",
        headers: Mapping[str, str] | None = None,
        options: ChatOptions | None = None,
        limits: HttpLimits | None = None,
        env: Mapping[str, str] | None = None,
        known: Catalogue | None = None,
    ) -> None:
        self.name = name
        self._base = with_version(base_url)
        self._headers = {
            **({"authorization": f"Bearer {key}"} if key else {}),
            **{name.lower(): value for name, value in (headers or {}).items() if name.lower() not in _OURS},
        }
        self._options = options or _options_for(self._base)
        self._known = known or catalogue()
        self._http = HttpClient(limits=limits, env=env)

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        facts = self._known.facts(request.model)
        limit = min(request.max_tokens, facts.max_output) if facts.max_output else request.max_tokens
        body = encode_request(msgspec.structs.replace(request, max_tokens=limit), self._options)
        return exchange(self._http, f"{self._base}/chat/completions", self._headers, body, _DIALECT)

    async def count_tokens(self, request: Request) -> int | None:
        """This API has no count."""
        return None

    async def aclose(self) -> None:
        await self._http.aclose()


def with_version(base_url: str) -> str:
    """A bare origin is meant with `/v1`; any other path is taken as it is."""
    base = base_url.rstrip("/")
    return base if urlsplit(base).path else f"{base}/v1"


def _options_for(base_url: str) -> ChatOptions:
    if (urlsplit(base_url).hostname or "") == "api.openai.com":
        return ChatOptions(limit_field="max_completion_tokens")
    return ChatOptions()
