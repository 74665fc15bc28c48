"""Calls to a server that speaks another dialect than the client: a request of ours in between, by the same protocols
that the providers use."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import msgspec

from weft.errors import ProviderError, RemoteProtocolError, TransportError
from weft.protocols.failures import failure
from weft.protocols.fold import Fold, merge_usage
from weft.providers.anthropic import AnthropicProvider
from weft.providers.catalogue import Catalogue
from weft.providers.openai import OpenAIProvider
from weft.providers.port import Provider
from weft.providers.retry import RetryingProvider, RetryPolicy
from weft.proxy.live import LiveCall
from weft.proxy.routes import VOICES, model_ids
from weft.proxy.upstream import Upstream
from weft.schema.messages import Request
from weft.schema.stream import MessageDelta, MessageStart, Retry, StreamDone, StreamEvent, StreamFailed
from weft.schema.wire import encode
from weft.sessions import tokens
from weft.transports.http import HttpClient, HttpLimits
from weft.transports.http_server import Exchange


class KeyedProvider:
    """A `Provider` whose key may change from one call to the next; one that was refused is renewed once. A failure in
    the middle of a message is final: its beginning is with the client already."""

    def __init__(self, upstream: Upstream, *, limits: HttpLimits, env: Mapping[str, str], known: Catalogue) -> None:
        self.name = upstream.name
        self._upstream = upstream
        self._limits = limits
        self._env = env
        self._known = known
        self._key: str | None = None
        self._inner: Provider | None = None

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        credential = self._upstream.credential
        renewed = begun = False
        while True:
            failed: StreamFailed | None = None
            try:
                key = await credential.key()
                inner = await self._open(key)
            except ProviderError as error:
                yield failure(error.kind, str(error), hint=error.hint, retryable=False)
                return
            events = inner.stream(request)
            try:
                async for event in events:
                    if isinstance(event, StreamFailed):
                        failed = event
                        break
                    begun = True
                    yield event
            finally:
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
            if failed is None:
                return
            if failed.status == 401 and key and not (begun or renewed):
                renewed = True
                if await self._renew(key):
                    continue
            final = begun or failed.status == 401
            yield msgspec.structs.replace(failed, retryable=failed.retryable and not final)
            return

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            await inner.aclose()

    async def _renew(self, key: str) -> bool:
        try:
            return await self._upstream.credential.renew(key)
        except ProviderError:
            return False

    async def _open(self, key: str | None) -> Provider:
        if self._inner is not None and key == self._key:
            return self._inner
        await self.aclose()
        up, self._key = self._upstream, key
        if up.dialect == "anthropic":
            self._inner = AnthropicProvider(
                key=None if up.credential.bearer else key,
                token=key if up.credential.bearer else None,
                base_url=up.base_url,
                headers=up.headers,
                limits=self._limits,
                env=self._env,
                known=self._known,
            )
        else:
            self._inner = OpenAIProvider(
                key=key,
                base_url=up.base_url,
                name=up.name,
                headers=up.headers,
                limits=self._limits,
                env=self._env,
                known=self._known,
            )
        return self._inner


class Translator:
    def __init__(self, provider: KeyedProvider, policy: RetryPolicy, fallback: str | None = None) -> None:
        self._provider = RetryingProvider(provider, policy=policy, fallback=fallback)

    async def aclose(self) -> None:
        await self._provider.aclose()

    async def run(self, call: LiveCall, exchange: Exchange) -> None:
        try:
            served = call.voice.decode(call.question.body, call.request.headers)
        except RemoteProtocolError as error:
            await call.fail(exchange, failure("invalid_request", str(error), status=400))
            return
        request = msgspec.structs.replace(served.request, model=call.question.model)
        events = self._provider.stream(request)
        try:
            if served.stream:
                await _stream(call, exchange, events)
            else:
                await _whole(call, exchange, events)
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()


async def _stream(call: LiveCall, exchange: Exchange, events: AsyncIterator[StreamEvent]) -> None:
    encoder = call.voice.encoder(call.question.body)
    scrub = call.scrubber()
    async for event in events:
        if isinstance(event, Retry):
            _note(call, event)
            await call.tell(exchange, event)
            continue
        if isinstance(event, StreamFailed):
            call.request_id = event.request_id or ""
            await call.fail(exchange, event)
            return
        _count(call, event)
        if not call.first_byte:
            call.answered(200)
            # A key that was renewed for this answer is a secret too.
            scrub = call.scrubber()
        if not exchange.started:
            await exchange.start(200, {"content-type": "text/event-stream", "cache-control": "no-store"})
        data = encoder(event)
        call.keep(data)
        await exchange.write(scrub.feed(data))
    await exchange.write(scrub.finish())
    await exchange.end()


async def _whole(call: LiveCall, exchange: Exchange, events: AsyncIterator[StreamEvent]) -> None:
    fold = Fold()
    async for event in events:
        if isinstance(event, StreamFailed):
            call.request_id = event.request_id or ""
            await call.fail(exchange, event)
            return
        if isinstance(event, Retry):
            _note(call, event)
            call.retries += 1
        _count(call, event)
        fold.feed(event)
    call.answered(200)
    headers = {"content-type": "application/json"}
    if call.retries:
        headers["x-weft-retries"] = str(call.retries)
    body = call.voice.whole(fold.reply())
    call.keep(body)
    await exchange.respond(200, call.scrubber().clean(body), headers)


def _note(call: LiveCall, retry: Retry) -> None:
    if retry.fallback is not None:
        call.question = msgspec.structs.replace(call.question, model=retry.fallback)


def _count(call: LiveCall, event: StreamEvent) -> None:
    match event:
        case MessageStart(usage=usage) | MessageDelta(usage=usage):
            call.usage = merge_usage(call.usage, usage)
        case StreamDone(reply=reply):
            call.usage = merge_usage(call.usage, reply.usage)
            call.request_id = reply.request_id or call.request_id
        case _:
            pass


def count_tokens(call: LiveCall) -> bytes:
    """The answer to a count where the server behind has none: our own, some 15 % off at most.

    Raises:
        RemoteProtocolError: it is not a Messages request.
    """
    request = VOICES["anthropic"].decode(call.question.body, call.request.headers).request
    counted = tokens.of_messages(request.messages)
    counted += sum(tokens.of_text(part.text) for part in request.system)
    counted += sum(tokens.of_text(encode(tool).decode()) for tool in request.tools)
    return msgspec.json.encode({"input_tokens": counted})


async def list_models(upstream: Upstream, http: HttpClient) -> list[str]:
    """
    Raises:
        ProviderError: the server gives no list, or there is no key.
    """
    headers = upstream.authorization(await upstream.credential.key())
    if upstream.dialect == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    try:
        async with await http.send("GET", upstream.url("/models"), headers) as response:
            body = await response.read()
    except TransportError as error:
        raise ProviderError(str(error), kind="connection") from None
    if response.status != 200:
        raise ProviderError(f"{upstream.name} answered {response.status}", kind="server_error", status=502)
    return model_ids(body)
