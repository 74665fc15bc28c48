"""The Anthropic Messages API: at its own address, or at any other that speaks it."""

from collections.abc import AsyncIterator, Mapping
from typing import Final, cast

import msgspec

from weft.errors import TransportError, UsageError
from weft.protocols.anthropic_messages import (
    VERSION,
    MessagesDecoder,
    count_body,
    decode_whole,
    encode_request,
)
from weft.providers.catalogue import LONG_CONTEXT, Catalogue, ModelFacts, catalogue
from weft.providers.exchange import Dialect, exchange
from weft.schema.content import Json
from weft.schema.messages import Request, ThinkingConfig
from weft.schema.stream import StreamEvent
from weft.schema.wire import encode
from weft.transports.http import HttpClient, HttpLimits

BASE_URL: Final = "https://api.anthropic.com"
_BUDGET: Final = 31_999
_LONG_SUFFIX: Final = "[1m]"
_INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
_TASK_BUDGETS = "task-budgets-2026-03-13"
_OURS: Final = ("user-agent", "host", "content-length", "transfer-encoding", "connection")
_DIALECT: Final = Dialect(
    decoder=lambda request_id: MessagesDecoder(request_id=request_id),
    whole=lambda body, request_id: decode_whole(body, request_id=request_id),
)


class AnthropicProvider:
    """One assistant message after the other from `base_url`. `key` goes into `x-api-key`, `token` into
    `Authorization: Bearer`; a local server may need neither."""

    name = "anthropic"

    def __init__(
        self,
        *,
        key: str | None = None,
        token: str | None = None,
        base_url: str = BASE_URL,
        headers: Mapping[str, str] | None = None,
        betas: tuple[str, ...] = (),
        limits: HttpLimits | None = None,
        env: Mapping[str, str] | None = None,
        known: Catalogue | None = None,
    ) -> None:
        self._base = base_url.rstrip("/").removesuffix("/v1")
        self._headers = {
            "anthropic-version": VERSION,
            **({"x-api-key": key} if key else {}),
            **({"authorization": f"Bearer {token}"} if token else {}),
            **{name.lower(): value for name, value in (headers or {}).items() if name.lower() not in _OURS},
        }
        self._betas = betas
        self._known = known or catalogue()
        self._http = HttpClient(limits=limits, env=env)

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        fitted, headers = self._prepare(request)
        url = f"{self._base}/v1/messages"
        return exchange(self._http, url, headers, encode_request(fitted), _DIALECT)

    async def count_tokens(self, request: Request) -> int | None:
        fitted, headers = self._prepare(request)
        headers = {"content-type": "application/json", **headers}
        try:
            url = f"{self._base}/v1/messages/count_tokens"
            async with await self._http.send("POST", url, headers, encode(count_body(fitted))) as response:
                body = await response.read(65536)
                value = cast(object, msgspec.json.decode(body)) if response.status == 200 else None
        except (TransportError, msgspec.DecodeError, UnicodeError):
            return None
        count = cast(Json, value).get("input_tokens") if isinstance(value, dict) else None
        return count if isinstance(count, int) else None

    async def aclose(self) -> None:
        await self._http.aclose()

    def _prepare(self, request: Request) -> tuple[Request, dict[str, str]]:
        facts = self._known.facts(request.model, request.betas)
        fitted = fit(request, facts)
        betas = [*self._betas, *request.betas, *facts.betas]
        if request.model.endswith(_LONG_SUFFIX) and (facts.long_context or not facts.known):
            betas.append(LONG_CONTEXT)
        if fitted.thinking.kind == "enabled" and fitted.tools and facts.thinking == "budget":
            betas.append(_INTERLEAVED)
        if request.task_budget is not None:
            betas.append(_TASK_BUDGETS)
        unique = ",".join(dict.fromkeys(beta for beta in betas if beta))
        return fitted, {**self._headers, **({"anthropic-beta": unique} if unique else {})}


def fit(request: Request, facts: ModelFacts) -> Request:
    """The same question within what the model can do: its output limit and its kind of thinking."""
    limit = min(request.max_tokens, facts.max_output) if facts.max_output else request.max_tokens
    return msgspec.structs.replace(
        request,
        model=request.model.removesuffix(_LONG_SUFFIX),
        max_tokens=limit,
        thinking=_thinking(request.thinking, facts) if facts.known else request.thinking,
    )


def _thinking(wanted: ThinkingConfig, facts: ModelFacts) -> ThinkingConfig:
    effort = wanted.effort if facts.effort else None
    if wanted.kind == "disabled" or not facts.thinking:
        return ThinkingConfig(effort=effort)
    if facts.thinking == "adaptive":
        return ThinkingConfig("adaptive", None, effort, wanted.display)
    return ThinkingConfig("enabled", wanted.budget or _BUDGET, effort)


def read_headers(text: str) -> dict[str, str]:
    """`ANTHROPIC_CUSTOM_HEADERS`: one `Name: value` a line.

    Raises:
        UsageError: a line is not of that form.
    """
    headers: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError(
                f"ANTHROPIC_CUSTOM_HEADERS has a line without a colon: {name.strip()[:20]!r}",
                hint="Write one `Name: value` a line.",
            )
        headers[name.strip()] = value.strip()
    return headers
