"""A call under way: what it asks, whom, and what is known of its answer so far. Its end is counted and logged once."""

import logging
import time

from weft.errors import SettingsError
from weft.proxy.calls import MAX_BODY, Call, CallLog, now
from weft.proxy.meter import Meter
from weft.proxy.nonces import Grant
from weft.proxy.policy import Reserved
from weft.proxy.question import Question
from weft.proxy.routes import VOICES, Route, Voice
from weft.proxy.scrub import Scrubber
from weft.proxy.upstream import Upstream
from weft.schema.messages import Usage
from weft.schema.stream import Retry, StreamFailed
from weft.transports.http_server import Exchange, HttpRequest

_log = logging.getLogger(__name__)
GONE = 499
"""The status in the log of a call whose client went away."""


class LiveCall:
    def __init__(
        self, request: HttpRequest, route: Route, grant: Grant, upstream: Upstream, question: Question, asked: str
    ) -> None:
        self.request = request
        self.route = route
        self.grant = grant
        self.upstream = upstream
        self.question = question
        self.asked = asked
        self.prompt = len(question.body) // 4
        """Tokens of the prompt, a guess."""
        self.reserved: Reserved | None = None
        self.status = GONE
        self.error = ""
        self.retries = 0
        self.request_id = ""
        self.usage = Usage()
        self.meter: Meter | None = None
        self.first_byte = 0.0
        self.kept: bytearray | None = None
        """The answer, where bodies are logged."""
        self._begun = time.monotonic()
        self._stamp = now()

    @property
    def voice(self) -> Voice:
        return VOICES[self.route.dialect]

    def scrubber(self) -> Scrubber:
        """Made when the answer begins: a key that was renewed by then is among the secrets."""
        return Scrubber(self.upstream.secrets())

    def answered(self, status: int) -> None:
        self.status = status
        self.first_byte = time.monotonic() - self._begun

    def keep(self, data: bytes) -> None:
        if self.kept is not None and len(self.kept) < MAX_BODY:
            self.kept += data

    async def tell(self, exchange: Exchange, retry: Retry) -> None:
        """A client that waits for a stream hears of each retry; one that waits for a whole answer need not."""
        self.retries += 1
        if not self.question.stream:
            return
        if not exchange.started:
            await exchange.start(200, {"content-type": "text/event-stream", "cache-control": "no-store"})
        await exchange.write(self.voice.waiting(retry))

    async def fail(self, exchange: Exchange, failed: StreamFailed) -> None:
        """The end, as an error of the client's dialect."""
        self.error = failed.error
        scrub = self.scrubber()
        if exchange.started:
            self.status = failed.status or 502
            await exchange.write(scrub.clean(self.voice.error_event(failed)))
            await exchange.end()
            return
        status, body = self.voice.error(failed)
        self.answered(status)
        headers = {"content-type": "application/json"}
        if failed.retry_after is not None:
            headers["retry-after"] = str(max(1, round(failed.retry_after)))
        elif not failed.retryable:
            headers["x-should-retry"] = "false"
        self.keep(body)
        await exchange.respond(status, scrub.clean(body), headers)

    def finish(self, log: CallLog | None) -> Call:
        """Counts and logs; called once, also when the call was cancelled."""
        seconds = time.monotonic() - self._begun
        estimated = False
        if self.meter is not None:
            self.usage, estimated = self.meter.result()
        model = self.question.model
        dollars: float | None = 0.0
        if self.reserved is not None:
            local = self.upstream.local
            dollars = self.grant.account.settle(self.reserved, model, self.usage, seconds, free=local)
        scrub = Scrubber((*self.upstream.secrets(), self.grant.nonce))
        bodies = self.kept is not None
        call = Call(
            time=self._stamp,
            who=self.grant.who,
            nonce=self.grant.id,
            dialect=self.route.dialect,
            upstream=self.upstream.name,
            path=self.request.path,
            model=scrub.text(model),
            asked="" if self.asked == model else scrub.text(self.asked),
            status=self.status,
            error=self.error,
            stream=self.question.stream,
            input_tokens=self.usage.input_tokens,
            output_tokens=self.usage.output_tokens,
            cache_read_tokens=self.usage.cache_read_input_tokens,
            cache_write_tokens=self.usage.cache_creation_input_tokens,
            dollars=dollars,
            estimated=estimated,
            first_byte=round(self.first_byte, 4),
            duration=round(seconds, 4),
            retries=self.retries,
            request_id=scrub.text(self.request_id),
            request=_shown(scrub, self.question.body) if bodies else "",
            response=_shown(scrub, bytes(self.kept or b"")) if bodies else "",
        )
        if log is not None:
            try:
                log.write(call)
            except SettingsError as error:
                _log.warning("%s", error)
        return call


def _shown(scrub: Scrubber, body: bytes) -> str:
    return scrub.clean(body)[:MAX_BODY].decode("utf-8", "replace")
