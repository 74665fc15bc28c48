"""What the fake model servers share: scripts, faults of the wire, and the record of what was asked.

They speak the real wire on 127.0.0.1, so that a program under test cannot tell them from a provider.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias, cast

import anyio
import msgspec

from weft.errors import ProviderErrorKind, RemoteProtocolError
from weft.protocols.anthropic_server import ServedRequest
from weft.protocols.fold import unfold
from weft.schema.content import AnyBlock, Json, Text, ToolUse
from weft.schema.messages import Reply, Usage
from weft.schema.stream import StreamEvent, StreamFailed
from weft.schema.wire import block_from
from weft.transports.http_server import Exchange, HttpServer, ServerLimits

log = logging.getLogger(__name__)
_BATCH = 65536


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a script, with what goes wrong on its way. Plain cues (a string, a block, blocks) mean the same
    without faults."""

    blocks: tuple[AnyBlock, ...] = (Text("ok"),)
    usage: Usage = Usage(input_tokens=100, output_tokens=20)
    stop_reason: str | None = None
    model: str | None = None
    piece: int = 24
    """Characters in a delta; 0 sends blocks whole."""
    delay: float = 0.0
    """Seconds before each event."""
    status: int = 200
    headers: dict[str, str] = {}
    body: bytes | None = None
    """Sent as it is instead of a reply."""
    error: ProviderErrorKind | None = None
    """An error body of this kind; in the middle of a stream with `error_after`."""
    message: str = "the script says so"
    error_after: int | None = None
    """Events before an error event."""
    cut_after: int | None = None
    """Events before the socket closes in the middle of the next one."""
    hang_after: int | None = None
    """Events before silence."""


Cue: TypeAlias = "str | AnyBlock | Sequence[AnyBlock] | Answer"
Script: TypeAlias = "Sequence[Cue | Callable[[Json], Cue]] | Callable[[Json], Cue]"


def fail(
    status: int,
    error: ProviderErrorKind = "server_error",
    message: str = "the script says so",
    *,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error answer. `headers` may hold a `retry-after`."""
    return Answer(status=status, error=error, message=message, headers=dict(headers or {}))


def web_page(status: int = 200) -> Answer:
    """What a captive portal or a wrong address answers with."""
    page = b"<!DOCTYPE html><html><title>Sign in</title></html>"
    return Answer(status=status, body=page, headers={"content-type": "text/html"})


class Recorded(msgspec.Struct, frozen=True):
    """A request as it came. `body` is empty where it was not a JSON object."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json


class FakeServer:
    """Answers from a script; a subclass knows the dialect. `requests` has every model request, in order."""

    def __init__(
        self,
        script: Script = (),
        *,
        port: int = 0,
        key: str | None = None,
        cycle: bool = False,
        extra: Mapping[str, object] | None = None,
        models: Sequence[str] = ("fake-model",),
    ) -> None:
        self._script = script
        self._key = key
        self._cycle = cycle
        self._extra = dict(extra or {})
        self._models = tuple(models)
        self._server = HttpServer(self._handle, port=port, limits=ServerLimits(write=3600.0))
        self.requests: list[Recorded] = []
        self.others: list[Recorded] = []

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def connections(self) -> int:
        """How many were made so far: a client that keeps its own makes one."""
        return self._server.connections

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._server.__aexit__(kind, error, trace)

    # --- the dialect ---------------------------------------------------------------------------------------------

    def _is_question(self, path: str) -> bool:
        raise NotImplementedError

    def _decode(self, body: bytes, headers: Mapping[str, str]) -> ServedRequest:
        raise NotImplementedError

    def _encoder(self, body: Json) -> Callable[[StreamEvent], bytes]:
        raise NotImplementedError

    def _whole(self, reply: Reply) -> bytes:
        raise NotImplementedError

    def _error(self, failed: StreamFailed) -> tuple[int, bytes]:
        raise NotImplementedError

    def _rest(self, path: str, body: Json) -> object:
        """The JSON of another address, or None."""
        return None

    # --- answering -----------------------------------------------------------------------------------------------

    async def _handle(self, exchange: Exchange) -> None:
        request = exchange.request
        recorded = Recorded(request.method, request.path, request.headers, _object(request.body))
        if self._key is not None and not self._has_key(request.headers):
            await self._respond(exchange, *self._error(StreamFailed("authentication_failed", "the key is wrong")))
        elif request.method == "POST" and self._is_question(request.path):
            self.requests.append(recorded)
            await self._answer(exchange, recorded)
        else:
            self.others.append(recorded)
            found = self._extra.get(request.path, self._rest(request.path, recorded.body))
            await self._respond(exchange, 404 if found is None else 200, msgspec.json.encode(found or {}))

    def _has_key(self, headers: Mapping[str, str]) -> bool:
        return self._key in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))

    async def _answer(self, exchange: Exchange, recorded: Recorded) -> None:
        try:
            served = self._decode(exchange.request.body, recorded.headers)
        except RemoteProtocolError as error:
            await self._respond(exchange, *self._error(StreamFailed("invalid_request", str(error))))
            return
        answer = self._next(recorded.body)
        if answer.body is not None:
            await self._respond(exchange, answer.status, answer.body, answer.headers)
        elif answer.error is not None and answer.error_after is None:
            status = answer.status if answer.status >= 400 else None
            failed = StreamFailed(answer.error, answer.message, status)
            await self._respond(exchange, *self._error(failed), answer.headers)
        else:
            reply = self._reply(answer, served.request.model)
            if served.stream:
                await self._stream(exchange, answer, reply, recorded.body)
            else:
                await self._respond(exchange, 200, self._whole(reply), answer.headers)

    async def _respond(
        self, exchange: Exchange, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        await exchange.respond(status, body, {"content-type": "application/json", **(headers or {})})

    async def _stream(self, exchange: Exchange, answer: Answer, reply: Reply, body: Json) -> None:
        head = {"content-type": "text/event-stream", "request-id": f"req_{len(self.requests):03}", **answer.headers}
        await exchange.start(answer.status, head)
        encode = self._encoder(body)
        batch = bytearray()
        for count, event in enumerate(unfold(reply, piece=answer.piece)):
            data = encode(event)
            fault = self._fault(answer, count)
            if answer.delay or fault:
                await exchange.write_raw(bytes(batch))
                batch.clear()
                await anyio.sleep(answer.delay)
            if fault:
                await self._fail_in_stream(exchange, answer, fault, data, encode)
                return
            # Every event is a chunk of its own, as a real server's are; writing them together is only faster.
            batch += b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            if len(batch) > _BATCH or answer.delay:
                await exchange.write_raw(bytes(batch))
                batch.clear()
        await exchange.write_raw(bytes(batch))
        await exchange.end()

    def _fault(self, answer: Answer, count: int) -> str:
        if answer.cut_after is not None and count >= answer.cut_after:
            return "cut"
        if answer.hang_after is not None and count >= answer.hang_after:
            return "hang"
        return "error" if answer.error_after is not None and count >= answer.error_after else ""

    async def _fail_in_stream(
        self, exchange: Exchange, answer: Answer, fault: str, data: bytes, encode: Callable[[StreamEvent], bytes]
    ) -> None:
        if fault == "cut":
            await exchange.write(data[: len(data) // 2])
            await exchange.cut()
        elif fault == "hang":
            await anyio.sleep_forever()
        else:
            await exchange.write(encode(StreamFailed(answer.error or "server_error", answer.message)))
            await exchange.end()

    def _next(self, body: Json) -> Answer:
        place = len(self.requests) - 1
        if callable(self._script):
            return as_answer(self._script(body))
        if self._cycle and self._script:
            place %= len(self._script)
        if place >= len(self._script):
            text = f"the script has {len(self._script)} replies; this is one more"
            return fail(400, "invalid_request", text)
        cue = self._script[place]
        return as_answer(cue(body) if callable(cue) else cue)

    def _reply(self, answer: Answer, model: str) -> Reply:
        number = len(self.requests)
        blocks = tuple(
            msgspec.structs.replace(block, id=f"toolu_{number:03}_{place}")
            if isinstance(block, ToolUse) and not block.id
            else block
            for place, block in enumerate(answer.blocks)
        )
        asked = any(isinstance(block, ToolUse) for block in blocks)
        return Reply(
            id=f"msg_{number:03}",
            model=answer.model or model,
            content=blocks,
            stop_reason=answer.stop_reason or ("tool_use" if asked else "end_turn"),
            usage=answer.usage,
        )


def as_answer(cue: Cue) -> Answer:
    if isinstance(cue, Answer):
        return cue
    if isinstance(cue, str):
        return Answer(blocks=(Text(cue),))
    return Answer(blocks=tuple(cue) if isinstance(cue, Sequence) else (cue,))


def _object(body: bytes) -> Json:
    try:
        value = cast(object, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeError):
        return {}
    return cast(Json, value) if isinstance(value, dict) else {}


class _Scripted(msgspec.Struct):
    """An item of a script file: a reply, or what goes wrong instead. The names are those of `Answer`."""

    text: str | None = None
    blocks: list[Json] = []
    usage: Usage = Usage(input_tokens=100, output_tokens=20)
    stop_reason: str | None = None
    model: str | None = None
    piece: int = 24
    delay: float = 0.0
    status: int = 200
    headers: dict[str, str] = {}
    body: str | None = None
    error: ProviderErrorKind | None = None
    message: str = "the script says so"
    error_after: int | None = None
    cut_after: int | None = None
    hang_after: int | None = None


def read_script(path: Path) -> list[Cue]:
    """A JSON list; each item is a text or an object with the fields of `Answer`, blocks in the API's spelling."""
    return list(_items(msgspec.json.decode(path.read_bytes(), type=list[str | _Scripted])))


def _items(items: Sequence[str | _Scripted]) -> Iterator[Cue]:
    for item in items:
        if isinstance(item, str):
            yield item
            continue
        texts = (Text(item.text),) if item.text is not None else ()
        blocks = texts + tuple(block_from(block) for block in item.blocks)
        fields = {
            name: getattr(item, name) for name in item.__struct_fields__ if name not in ("text", "blocks", "body")
        }
        yield Answer(blocks=blocks, body=item.body.encode() if item.body is not None else None, **fields)


def serve_from_command_line(make: Callable[..., FakeServer], name: str) -> None:
    """`python -m weft.testing.<name>`: serves until it is ended; the first line of standard output is the address."""
    import argparse
    import sys

    parser = argparse.ArgumentParser(prog=f"python -m weft.testing.{name}", description=make.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="a JSON list of replies; without it every answer is 'ok'")
    parser.add_argument("--cycle", action="store_true", help="begin again after the last reply")
    parser.add_argument("--key", help="refuse requests without this key")
    arguments = parser.parse_args()
    script: list[Cue] = read_script(arguments.script) if arguments.script else ["ok"]

    async def serve() -> None:
        cycle = arguments.cycle or not arguments.script
        async with make(script, port=arguments.port, key=arguments.key, cycle=cycle) as server:
            sys.stdout.write(server.url + "\n")
            sys.stdout.flush()
            await anyio.sleep_forever()

    try:
        anyio.run(serve)
    except KeyboardInterrupt:
        return
