"""A model that says what a script tells it to: for tests, for `weft demo`, and for people who build on Weft."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio.lowlevel
import msgspec

from weft.errors import ProviderErrorKind
from weft.protocols.fold import unfold
from weft.schema.content import AnyBlock, Json, Text, Thinking, ToolUse
from weft.schema.messages import Reply, Request, Usage
from weft.schema.stream import BlockDelta, StreamEvent, StreamFailed


def say(text: str) -> Text:
    return Text(text)


def think(text: str, signature: str = "scripted") -> Thinking:
    return Thinking(text, signature)


def call(name: str, input: Json | None = None, *, id: str = "", **arguments: object) -> ToolUse:
    """A tool use; an empty id is given one when it is played."""
    return ToolUse(id, name, {**(input or {}), **arguments})


class Line(msgspec.Struct, frozen=True):
    """One reply of the script."""

    blocks: tuple[AnyBlock, ...]
    usage: Usage = Usage(input_tokens=100, output_tokens=20)
    stop_reason: str | None = None
    model: str | None = None


class Fail(msgspec.Struct, frozen=True):
    """A request that fails instead."""

    error: ProviderErrorKind = "server_error"
    message: str = "the script says so"
    status: int | None = 500
    partial: tuple[AnyBlock, ...] = ()


Cue: TypeAlias = str | AnyBlock | Sequence[AnyBlock] | Line | Fail
Script: TypeAlias = Sequence[Cue | Callable[[Request], Cue]]


class ScriptedProvider:
    """Plays one cue for each request, in order; after the last one it fails, so that a test sees a turn too many.

    A cue may be a function of the request. `requests` has every request that was made. `gate`, when given, is
    awaited before each piece of text, so that a test decides when the stream goes on.
    """

    name = "scripted"

    def __init__(
        self, script: Script, *, chunk: int = 24, gate: Callable[[], Awaitable[None]] | None = None, cycle: bool = False
    ) -> None:
        self._script = list(script)
        self._chunk = chunk
        self._gate = gate
        self._cycle = cycle
        self._played = 0
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        cue = self._next(request)
        await anyio.lowlevel.checkpoint()
        if isinstance(cue, Fail):
            yield StreamFailed(cue.error, cue.message, cue.status, partial=cue.partial)
            return
        reply = self._reply(cue, request)
        for event in unfold(reply, piece=self._chunk):
            if self._gate is not None and isinstance(event, BlockDelta):
                await self._gate()
            else:
                await anyio.lowlevel.checkpoint()
            yield event

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None:
        return

    def _next(self, request: Request) -> Line | Fail:
        place = self._played % len(self._script) if self._cycle else self._played
        self._played += 1
        if place >= len(self._script):
            return Fail("invalid_request", f"The script has {len(self._script)} replies; this is one more.", 400)
        cue = self._script[place]
        made = cue(request) if callable(cue) else cue
        if isinstance(made, Line | Fail):
            return made
        if isinstance(made, str):
            return Line((Text(made),))
        return Line(tuple(made) if isinstance(made, Sequence) else (made,))

    def _reply(self, line: Line, request: Request) -> Reply:
        blocks = tuple(
            msgspec.structs.replace(block, id=f"toolu_{self._played:03}_{place}")
            if isinstance(block, ToolUse) and not block.id
            else block
            for place, block in enumerate(line.blocks)
        )
        asked = any(isinstance(block, ToolUse) for block in blocks)
        stop = line.stop_reason or ("tool_use" if asked else "end_turn")
        return Reply(
            id=f"msg_{self._played:03}",
            model=line.model or request.model,
            content=blocks,
            stop_reason=stop,
            usage=line.usage,
        )
