"""Who gets the small-model profile: what the catalogue says, else the model's size, else a probe.

The probe asks the model for one trivial call through its own tool-calling API. A model that answers with the right
call, in the right field, is an agent as it is; every other gets the profile. The verdict is kept on disk.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import anyio
import msgspec

from weft.providers.catalogue import ModelFacts
from weft.providers.port import Provider
from weft.schema.content import Json, Text
from weft.schema.messages import Message, Request, SystemPart, ToolSpec
from weft.schema.stream import StreamDone, StreamEvent

SMALL: Final = 4_500_000_000
"""Weights up to which a model is small: those of three billion and fewer fail as agents with an API of tools."""
_BILLIONS: Final = re.compile(r"(?<![\d.a-z])(\d+(?:\.\d+)?)\s*b(?![a-z])", re.I)
_MILLIONS: Final = re.compile(r"(?<![\d.a-z])(\d+)\s*m(?![a-z])", re.I)
_LIMIT: Final = 120.0


def parameters_in(name: str) -> int:
    """`qwen2.5-coder:1.5b` has 1,500,000,000; 0 when the name says nothing."""
    sizes = [float(size) * 1e9 for size in _BILLIONS.findall(name)] or [
        float(size) * 1e6 for size in _MILLIONS.findall(name)
    ]
    return int(max(sizes, default=0))


def decided(facts: ModelFacts, wish: str = "") -> bool | None:
    """True for the profile, False for the model's own tool calls, None when only a probe can tell. `wish` is the
    person's (`WEFT_PROFILE`)."""
    said = wish if wish in ("small", "full") else facts.profile
    if said:
        return said == "small"
    if facts.tools is False:
        return True
    size = facts.parameters or parameters_in(facts.id)
    return size <= SMALL if size else None


async def probe(provider: Provider, model: str) -> bool | None:
    """True when the model needs the profile; None when it did not answer at all."""
    schema: Json = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    request = Request(
        model,
        (Message("user", (Text("Read the file notes.txt with the tool read_file. Call the tool now."),)),),
        system=(SystemPart("You are an agent. Use the tools."),),
        tools=(
            ToolSpec("read_file", "Reads a file and gives its text.", schema),
            ToolSpec("delete_file", "Deletes a file.", schema),
        ),
        max_tokens=120,
        temperature=0.0,
    )
    with anyio.move_on_after(_LIMIT):
        async for event in provider.stream(request):
            if isinstance(event, StreamDone):
                uses = event.reply.tool_uses
                path = str(uses[0].input.get("path", "")) if len(uses) == 1 else ""
                return not (len(uses) == 1 and uses[0].name == "read_file" and path.endswith("notes.txt"))
    return None


class ProbedProvider:
    """Decides on the first request and stays with it. `place` is where verdicts are kept, `key` whose it is."""

    def __init__(self, inner: Provider, small: Provider, *, model: str, place: Path, key: str) -> None:
        self.name = inner.name
        self._inner = inner
        self._small = small
        self._model = model
        self._place = place
        self._key = key
        self._verdict: bool | None = read_verdicts(place).get(key)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        if self._verdict is None:
            self._verdict = await probe(self._inner, self._model)
            if self._verdict is not None:
                write_verdict(self._place, self._key, small=self._verdict)
        chosen: Provider = self._small if self._verdict else self._inner
        async for event in chosen.stream(request):
            yield event

    async def count_tokens(self, request: Request) -> int | None:
        return None

    async def aclose(self) -> None:
        await self._inner.aclose()
        await self._small.aclose()


def read_verdicts(place: Path) -> dict[str, bool]:
    try:
        return msgspec.json.decode(place.read_bytes(), type=dict[str, bool])
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return {}


def write_verdict(place: Path, key: str, *, small: bool) -> None:
    """A home that cannot be written is no reason to fail: the model is probed again next time."""
    fresh = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(msgspec.json.encode({**read_verdicts(place), key: small}))
        fresh.replace(place)
    except OSError:
        return
