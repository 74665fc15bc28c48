"""Participants: `@name /command` hands the turn to a plug-in's handler."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from weft.errors import ToolError
from weft.extend.api import (
    ChatContext,
    ChatRequest,
    ChatResult,
    Feedback,
    Followup,
    Model,
    Reference,
    RequestTurn,
    ResponseTurn,
    ToolReference,
)
from weft.extend.disambiguate import guess
from weft.extend.failures import sentence
from weft.extend.host import PluginHost
from weft.extend.manifest import CommandEntry, Manifest, ParticipantEntry
from weft.extend.references import Named, read
from weft.extend.registry import Registry
from weft.extend.stream import ResponseStream
from weft.extend.tools import PluginTools
from weft.schema.content import Json

OURSELVES = "weft"
MOST_TURNS = 200


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that goes to a participant. `guessed` says that it named none."""

    manifest: Manifest
    entry: ParticipantEntry
    named: Named
    text: str
    guessed: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    result: ChatResult
    followups: tuple[Followup, ...] = ()


class Participants:
    """Who can be asked, what was said between them and the person, and who keeps the turn (`sticky`)."""

    def __init__(
        self, registry: Registry, tools: PluginTools, host: Callable[[str], PluginHost], *, detect: bool = True
    ) -> None:
        self._registry = registry
        self._tools = tools
        self._host = host
        self._detect = detect
        self._turns: dict[str, list[RequestTurn | ResponseTurn]] = {}
        self._sticky: tuple[str, str] | None = None
        self._last: tuple[Manifest, ParticipantEntry, ChatResult] | None = None

    def every(self) -> Iterator[tuple[Manifest, ParticipantEntry]]:
        seen: set[str] = {OURSELVES}
        for manifest, entry in self._registry.entries(lambda manifest: manifest.participant):
            if entry.name not in seen:
                seen.add(entry.name)
                yield manifest, entry

    def find(self, name: str) -> tuple[Manifest, ParticipantEntry] | None:
        return next((found for found in self.every() if found[1].name == name), None)

    def commands(self, manifest: Manifest, entry: ParticipantEntry) -> Iterator[CommandEntry]:
        return (one for one in entry.command if not one.when or self._registry.true(one.when, manifest.name))

    # --- whom a prompt is for ---------------------------------------------------------------------------------

    def take(self, text: str) -> Asked | None:
        """The participant of a prompt: the one it names, the sticky one, or the one it is clearly meant for."""
        named = read(text, self._commands_of)
        if named.participant == OURSELVES:
            self._sticky = None
            return None
        if named.participant:
            found = self.find(named.participant)
            assert found is not None
            return self._asked(found, named, text)
        if text.lstrip().startswith(("/", "!", "#")):
            return None
        if self._sticky is not None and (found := self.find(self._sticky[0])) is not None:
            return self._asked(found, msgspec.structs.replace(named, command=self._sticky[1]), text)
        return self._guessed(named, text)

    def _asked(
        self, found: tuple[Manifest, ParticipantEntry], named: Named, text: str, *, guessed: bool = False
    ) -> Asked:
        manifest, entry = found
        command = next((one for one in entry.command if one.name == named.command), None)
        if entry.sticky or (command is not None and command.sticky):
            self._sticky = (entry.name, named.command if command is not None and command.sticky else "")
        elif not guessed:
            self._sticky = None
        return Asked(manifest=manifest, entry=entry, named=named, text=text, guessed=guessed)

    def _guessed(self, named: Named, text: str) -> Asked | None:
        known = {entry.name: (manifest, entry) for manifest, entry in self.every()}
        chosen = guess(named.prompt, (entry for _, entry in known.values())) if self._detect and known else None
        if chosen is None:
            return None
        named = msgspec.structs.replace(named, participant=chosen.participant, command=chosen.command)
        return self._asked(known[chosen.participant], named, text, guessed=True)

    def _commands_of(self, name: str) -> tuple[str, ...] | None:
        if name == OURSELVES:
            return ()
        found = self.find(name)
        return tuple(one.name for one in self.commands(*found)) if found is not None else None

    # --- answering --------------------------------------------------------------------------------------------

    async def answer(self, asked: Asked, stream: ResponseStream, model: Model | None) -> Answer:
        """Runs the handler. What it raises becomes `error` of the result."""
        request = self._request(asked, model)
        context = ChatContext(tuple(self._turns.get(asked.entry.id, ())))
        try:
            real = self._registry.load(asked.manifest, asked.entry.run)
            handle = cast("Callable[..., Awaitable[Any]]", getattr(real, "handle", real))
            found: object = await handle(request, context, stream)
            result = found if isinstance(found, ChatResult) else ChatResult()
        except ToolError as error:
            return self._said(asked, request, stream, ChatResult(error=str(error)), ())
        except Exception as error:  # noqa: BLE001 - a plug-in's failure is told, and logged by `sentence`
            return self._said(asked, request, stream, ChatResult(error=sentence(asked.manifest.name, error)), ())
        return self._said(asked, request, stream, result, await self._followups(real, result, context))

    def _said(
        self,
        asked: Asked,
        request: ChatRequest,
        stream: ResponseStream,
        result: ChatResult,
        followups: Iterable[Followup],
    ) -> Answer:
        entry = asked.entry
        turns = self._turns.setdefault(entry.id, [])
        turns.append(
            RequestTurn(request.prompt, entry.name, request.command, request.references, request.tool_references)
        )
        turns.append(ResponseTurn(stream.text, entry.name, request.command, result))
        del turns[:-MOST_TURNS]
        self._last = (asked.manifest, entry, result)
        return Answer(result=result, followups=tuple(followups))

    async def _followups(self, real: object, result: ChatResult, context: ChatContext) -> tuple[Followup, ...]:
        provide = getattr(real, "followups", None)
        if provide is None:
            return ()
        try:
            found = provide(result, context)
            return tuple(await found if inspect.isawaitable(found) else found)
        except Exception as error:  # noqa: BLE001 - the answer stands without them; logged by `sentence`
            sentence("followups", error)
            return ()

    def _request(self, asked: Asked, model: Model | None) -> ChatRequest:
        named = asked.named
        return ChatRequest(
            prompt=named.prompt,
            command=named.command,
            references=tuple(Reference(id=one.name, value=one.name, range=one.range) for one in named.files),
            tool_references=tuple(
                ToolReference(tool, one.range) for one in named.tools for tool in self._tools.referred(one.name)
            ),
            model=model,
            host=self._host(asked.manifest.name),
        )

    # --- afterwards -------------------------------------------------------------------------------------------

    async def feedback(self, *, helpful: bool, words: str) -> str:
        """The person's word on the last answer, for the participant that gave it."""
        if self._last is None:
            return "No participant has answered yet."
        manifest, entry, result = self._last
        receive = getattr(self._registry.load(manifest, entry.run), "feedback", None)
        if receive is None:
            return f"@{entry.name} takes no feedback."
        try:
            found = receive(Feedback(result, helpful, words))
            if inspect.isawaitable(found):
                await found
        except Exception as error:  # noqa: BLE001 - told, and logged by `sentence`
            return sentence(manifest.name, error)
        return f"@{entry.name} was told."

    def last_turns(self, asked: Asked) -> Json:
        """The last exchange, to be kept in the session's log."""
        turns = self._turns[asked.entry.id][-2:]
        return {"participant": asked.entry.id, "turns": msgspec.to_builtins(turns)}

    def restore(self, marks: Iterable[Json]) -> None:
        """Exchanges of an earlier run of the session, in order."""
        for mark in marks:
            try:
                turns = msgspec.convert(mark.get("turns"), list[RequestTurn | ResponseTurn])
            except msgspec.ValidationError:
                continue
            self._turns.setdefault(str(mark.get("participant")), []).extend(turns)
