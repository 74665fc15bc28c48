"""The auth proxy: listens on this machine, takes a nonce, asks the real server with the real key.

async with Proxy(upstreams) as proxy:
    grant = proxy.issue("claude")
    env = proxy.environment(grant, os.environ)
"""

import logging
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Final, Self

import msgspec

from weft import __version__
from weft.errors import ProviderError, RemoteProtocolError, UsageError
from weft.protocols.failures import failure
from weft.providers.catalogue import Catalogue, catalogue
from weft.providers.costs import price
from weft.providers.resolve import limits_from
from weft.providers.retry import RetryPolicy
from weft.proxy.calls import CallLog
from weft.proxy.environment import child_environment
from weft.proxy.forward import Forwarder
from weft.proxy.live import LiveCall
from weft.proxy.nonces import Grant, Nonces
from weft.proxy.policy import Policy, Refusal
from weft.proxy.question import Question, read_question, with_model
from weft.proxy.routes import VOICES, Route, find_route, spoken
from weft.proxy.tracing import Spans
from weft.proxy.translate import KeyedProvider, Translator, count_tokens, list_models
from weft.proxy.upstream import Dialect, Upstream, pick
from weft.schema.messages import Usage
from weft.schema.stream import StreamFailed
from weft.sessions import tokens
from weft.transports.http import HttpClient
from weft.transports.http_server import Exchange, HttpServer, ServerLimits

_log = logging.getLogger(__name__)
RETRIES: Final = RetryPolicy(max_retries=2, patience=10.0, overloads_before_fallback=2)
"""Few: most clients ask again themselves."""
_KEPT: Final = 16
"""Connections to a server that wait for the next call: agents make several at once."""


class ProxyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`models` says which model answers for which name: pattern to model, the first that fits; the model may begin
    with an upstream's name and a colon. `bodies` puts requests and answers into the log."""

    port: int = 0
    models: dict[str, str] = {}
    fallback: str | None = None
    bodies: bool = False
    retries: RetryPolicy = RETRIES
    limits: ServerLimits = ServerLimits()


class Proxy:
    """Entered, it listens; left, every call has ended and every nonce is worthless."""

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        options: ProxyOptions | None = None,
        *,
        log: CallLog | None = None,
        spans: Spans | None = None,
        env: Mapping[str, str] | None = None,
        known: Catalogue | None = None,
    ) -> None:
        if not upstreams:
            raise UsageError(
                "there is no server to ask: no key is set and no address was given",
                hint="Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one with --upstream.",
            )
        self.upstreams = tuple(upstreams)
        self.options = options or ProxyOptions()
        self._log = log
        self._spans = spans
        self._known = known or catalogue()
        self._nonces = Nonces(self._price)
        limits, env = limits_from(env or {}), env or {}
        self._http = HttpClient(limits=limits, env=env, keep=_KEPT)
        self._forwarder = Forwarder(self._http, self.options.retries, self.options.fallback)
        self._translators = {
            one.name: Translator(
                KeyedProvider(one, limits=limits, env=env, known=self._known),
                self.options.retries,
                self.options.fallback,
            )
            for one in self.upstreams
        }
        self._server = HttpServer(self._handle, port=self.options.port, limits=self.options.limits)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._nonces = Nonces(self._price)
        try:
            return await self._server.__aexit__(kind, error, trace)
        finally:
            await self._http.aclose()
            for one in self._translators.values():
                await one.aclose()
            if self._spans is not None:
                self._spans.close()

    def issue(self, who: str, policy: Policy | None = None) -> Grant:
        """A nonce for one child."""
        return self._nonces.issue(who, policy)

    def revoke(self, grant: Grant) -> None:
        self._nonces.revoke(grant)

    def environment(
        self, grant: Grant, base: Mapping[str, str], dialects: Sequence[Dialect] = ("anthropic", "openai")
    ) -> dict[str, str]:
        """The child's variables: `base` without credentials, and the nonce."""
        secrets = [secret for one in self.upstreams for secret in one.secrets()]
        return child_environment(base, self.url, grant.nonce, secrets=secrets, dialects=dialects)

    def _price(self, model: str, usage: Usage) -> float | None:
        return price(model, usage, self._known)

    # --- a request -----------------------------------------------------------------------------------------------

    async def _handle(self, exchange: Exchange) -> None:
        request = exchange.request
        route = find_route(request)
        if request.path == "/health":
            body = msgspec.json.encode({"status": "ok", "version": __version__})
            await exchange.respond(200, body, {"content-type": "application/json"})
            return
        grant = self._grant(request.headers)
        if grant is None:
            await _say(exchange, failure("authentication_failed", "this proxy needs a key that is valid now"))
        elif route is None:
            await _say(exchange, failure("invalid_request", "this proxy has no such address", status=404))
        elif request.method != route.method:
            await _say(exchange, failure("invalid_request", f"this address takes {route.method}", status=405))
        elif route.kind == "models":
            await self._models(exchange, route, grant)
        else:
            await self._ask(exchange, route, grant)

    def _grant(self, headers: Mapping[str, str]) -> Grant | None:
        """From the headers alone: an address ends up in logs and histories."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = (headers.get("x-api-key", ""), token.strip() if scheme.lower() == "bearer" else "")
        found = [self._nonces.find(one) for one in given if one]
        return next((one for one in found if one is not None), None)

    async def _ask(self, exchange: Exchange, route: Route, grant: Grant) -> None:
        try:
            asked = read_question(exchange.request.body)
            upstream, question = self._choose(asked, route, grant)
        except RemoteProtocolError as error:
            await _say(exchange, failure("invalid_request", str(error), status=400))
            return
        call = LiveCall(exchange.request, route, grant, upstream, question, asked.model)
        call.kept = bytearray() if self.options.bodies else None
        translated = upstream.dialect != route.dialect
        if translated and route.kind == "other":
            words = f"{upstream.name} does not speak this dialect, and this address is not translated"
            await _say(exchange, failure("invalid_request", words, status=404))
            return
        if route.kind == "count" and translated:
            await self._count(exchange, call)
            return
        if not await self._admit(exchange, call):
            return
        try:
            if translated:
                await self._translators[upstream.name].run(call, exchange)
            else:
                await self._forwarder.run(call, exchange)
        finally:
            done = call.finish(self._log)
            if self._spans is not None:
                self._spans.record(done, end_ns=time.time_ns())

    def _choose(self, asked: Question, route: Route, grant: Grant) -> tuple[Upstream, Question]:
        model = next((to for one, to in self.options.models.items() if fnmatchcase(asked.model, one)), asked.model)
        name, colon, rest = model.partition(":")
        named = next((one for one in self.upstreams if colon and rest and one.name == name), None)
        model = rest if named is not None else model
        upstream = named or pick(self.upstreams, route.dialect, model, self._known)
        if model != asked.model or grant.account.policy.models:
            return upstream, with_model(asked, model)
        return upstream, asked

    async def _admit(self, exchange: Exchange, call: LiveCall) -> bool:
        """Nothing goes to a server before the policy said yes."""
        account = call.grant.account
        if account.policy != Policy():
            call.prompt = tokens.of_text(call.question.body.decode("utf-8", "replace"))
        prompt = 0 if call.route.kind == "count" else call.prompt
        found = account.admit(call.asked, call.question.model, prompt, free=call.upstream.local)
        if isinstance(found, Refusal):
            failed = failure(found.kind, found.message, retryable=False, retry_after=found.retry_after)
            await call.fail(exchange, failed)
            call.finish(self._log)
            return False
        call.reserved = found
        return True

    async def _count(self, exchange: Exchange, call: LiveCall) -> None:
        try:
            body = count_tokens(call)
        except RemoteProtocolError as error:
            await _say(exchange, failure("invalid_request", str(error), status=400))
            return
        await exchange.respond(200, body, {"content-type": "application/json"})

    async def _models(self, exchange: Exchange, route: Route, grant: Grant) -> None:
        upstream = next((one for one in self.upstreams if one.dialect == route.dialect), self.upstreams[0])
        allowed = grant.account.policy.models
        if upstream.dialect == route.dialect and not allowed:
            call = LiveCall(exchange.request, route, grant, upstream, Question("", False, b""), "")
            await self._forwarder.run(call, exchange)
            return
        try:
            found = await list_models(upstream, self._http)
        except ProviderError as error:
            await _say(exchange, failure(error.kind, str(error), status=error.status))
            return
        ids = [id for id in found if not allowed or any(fnmatchcase(id, one) for one in allowed)]
        wanted = route.target.removeprefix("/models").removeprefix("/")
        if wanted and wanted not in ids:
            await _say(exchange, failure("model_not_found", f"there is no model {wanted!r} here"))
            return
        body = VOICES[route.dialect].models([wanted] if wanted else ids)
        await exchange.respond(200, body, {"content-type": "application/json"})


async def _say(exchange: Exchange, failed: StreamFailed) -> None:
    """A refusal of the proxy itself. It repeats nothing of what the client sent but names of models."""
    status, body = VOICES[spoken(exchange.request)].error(failed)
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    await exchange.respond(status, body, headers)
