"""Calls to a server that speaks as the client does: the answer passes byte for byte, as fast as the client reads."""

from collections.abc import Awaitable, Callable, Mapping
from random import random
from typing import Final

import anyio
import msgspec

from weft.errors import ProviderError, TransportError, TransportTimeout
from weft.protocols.anthropic_messages import VERSION
from weft.protocols.failures import failure, failure_of_answer
from weft.providers.retry import RetryPolicy, next_retry
from weft.proxy.live import LiveCall
from weft.proxy.meter import Meter
from weft.proxy.question import with_model
from weft.proxy.scrub import Scrubber
from weft.schema.stream import StreamFailed
from weft.transports.http import USER_AGENT, HttpClient, HttpResponse
from weft.transports.http_server import Exchange

_MAX_ERROR: Final = 1 << 20
_UP: Final = ("accept", "anthropic-beta", "anthropic-version", "content-type", "idempotency-key", "openai-beta")
"""What of a client's head goes on. Its credentials, cookies and marks of identity do not."""
_NOT_DOWN: Final = (
    "alt-svc", "connection", "keep-alive", "location", "proxy-authenticate", "proxy-authorization", "set-cookie",
    "set-cookie2", "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "www-authenticate",
)  # fmt: skip


class Refused(msgspec.Struct, frozen=True):
    """An error answer of the server, read whole."""

    status: int
    headers: dict[str, str]
    body: bytes
    failed: StreamFailed


class Forwarder:
    """Asks again on overload; a key that was refused is renewed once."""

    def __init__(
        self,
        http: HttpClient,
        policy: RetryPolicy,
        fallback: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._http = http
        self._policy = policy
        self._fallback = fallback
        self._sleep = sleep

    async def run(self, call: LiveCall, exchange: Exchange) -> None:
        answer = await self._ask(call, exchange)
        if isinstance(answer, StreamFailed):
            await call.fail(exchange, answer)
        elif isinstance(answer, Refused):
            await self._refuse(call, exchange, answer)
        else:
            async with answer:
                await _relay(call, exchange, answer)

    async def _ask(self, call: LiveCall, exchange: Exchange) -> HttpResponse | Refused | StreamFailed:
        attempt = overloads = 0
        while True:
            found = await self._with_key(call)
            failed = found.failed if isinstance(found, Refused) else found
            if not isinstance(failed, StreamFailed):
                return failed
            attempt += 1
            overloads += failed.error == "overloaded"
            # A key is renewed or not; asking again with the same one does not help.
            again = msgspec.structs.replace(failed, retryable=failed.retryable and failed.status != 401)
            fallback = self._fallback if self._fallback != call.question.model else None
            retry = next_retry(
                self._policy, again, attempt=attempt, overloads=overloads, fallback=fallback, luck=random()
            )
            if retry is None:
                return found
            if retry.fallback is not None:
                call.question = with_model(call.question, retry.fallback)
                attempt = overloads = 0
            await call.tell(exchange, retry)
            await self._sleep(retry.delay)

    async def _with_key(self, call: LiveCall) -> HttpResponse | Refused | StreamFailed:
        credential = call.upstream.credential
        try:
            key = await credential.key()
            found = await self._send(call, key)
            if isinstance(found, Refused) and found.status == 401 and key and await credential.renew(key):
                found = await self._send(call, await credential.key())
            return found
        except ProviderError as error:
            return failure(error.kind, str(error), hint=error.hint)
        except TransportTimeout as error:
            return failure("timeout", str(error))
        except TransportError as error:
            return failure("connection", str(error))

    async def _send(self, call: LiveCall, key: str | None) -> HttpResponse | Refused:
        query = call.request.target.partition("?")[2]
        target = call.route.target + (f"?{query}" if query else "")
        headers = {**up_headers(call.request.headers, call.upstream.dialect), **call.upstream.authorization(key)}
        response = await self._http.send(call.route.method, call.upstream.url(target), headers, call.question.body)
        call.request_id = response.headers.get("request-id") or response.headers.get("x-request-id") or ""
        if response.status < 300:
            return response
        async with response:
            body = await response.read(_MAX_ERROR)
        status, found = response.status, response.headers
        if status < 400:
            # A redirect would take the key, or the client, to another place.
            status, body = 502, b""
        failed = failure_of_answer(status, found, body, server=call.upstream.name)
        return Refused(status, found, body, failed)

    async def _refuse(self, call: LiveCall, exchange: Exchange, answer: Refused) -> None:
        """As the server said it, without what must not be said."""
        if exchange.started or not answer.body:
            await call.fail(exchange, answer.failed)
            return
        call.error = answer.failed.error
        call.answered(answer.status)
        call.keep(answer.body)
        scrub = call.scrubber()
        headers = down_headers(answer.headers, scrub.text)
        headers["content-length"] = str(len(answer.body))
        await exchange.respond(answer.status, scrub.clean(answer.body), headers)


async def _relay(call: LiveCall, exchange: Exchange, response: HttpResponse) -> None:
    scrub = call.scrubber()
    streams = "event-stream" in response.headers.get("content-type", "")
    if exchange.started and not streams:
        await call.fail(exchange, failure("protocol", "the server does not stream", status=502))
        return
    call.answered(response.status)
    meter = call.meter = Meter(call.upstream.dialect, stream=streams, prompt=call.prompt)
    if not exchange.started:
        headers = down_headers(response.headers, scrub.text)
        if call.retries:
            headers["x-weft-retries"] = str(call.retries)
        await exchange.start(response.status, headers, hold=response.begun)
    framed = streams and response.chunked and exchange.takes_chunks and call.kept is None
    try:
        if framed:
            await _pass_chunks(exchange, response, meter, scrub)
        else:
            await _pass_bytes(call, exchange, response, meter, scrub)
    except TransportError as error:
        # The client sees what it would have seen: a connection that ends in the middle.
        call.error = "timeout" if isinstance(error, TransportTimeout) else "cut"
        await exchange.cut()
        return
    await exchange.write(scrub.finish())
    await exchange.end()


async def _pass_bytes(
    call: LiveCall, exchange: Exchange, response: HttpResponse, meter: Meter, scrub: Scrubber
) -> None:
    while data := await response.receive():
        meter.feed(data)
        call.keep(data)
        await exchange.write(scrub.feed(data))


async def _pass_chunks(exchange: Exchange, response: HttpResponse, meter: Meter, scrub: Scrubber) -> None:
    """The fast way of a stream: its chunks go on as they are. No secret lies in two of them, since each ends a line."""
    while True:
        chunks, plain = await response.receive_framed()
        if chunks:
            meter.feed(chunks)
            await exchange.write_raw(scrub.clean(chunks))
        if plain:
            meter.feed(plain)
            await exchange.write(scrub.feed(plain))
        if not (chunks or plain):
            return


def up_headers(given: Mapping[str, str], dialect: str) -> dict[str, str]:
    headers = {name: given[name] for name in _UP if name in given}
    headers["user-agent"] = USER_AGENT
    if dialect == "anthropic":
        headers.setdefault("anthropic-version", VERSION)
    return headers


def down_headers(given: Mapping[str, str], clean: Callable[[str], str]) -> dict[str, str]:
    return {name: clean(value) for name, value in given.items() if name not in _NOT_DOWN}
