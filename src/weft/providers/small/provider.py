"""The provider that wraps another: requests in, one action of a small model out, as a call of an ordinary tool."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, cast
from uuid import uuid4

import msgspec

from weft.protocols.fold import unfold
from weft.protocols.partial_json import PartialJson
from weft.providers.port import Provider
from weft.providers.small.actions import END, Action, Meant, Refused, to_call, what_was_done
from weft.providers.small.look import next_look
from weft.providers.small.prompt import make_prompt
from weft.providers.small.question import is_question
from weft.providers.small.shape import may_end, offered, shape
from weft.providers.small.turn import Files, Turn, read_turn
from weft.schema.content import AnyBlock, Json, Text, ToolUse
from weft.schema.messages import Reply, Request, SystemPart, ThinkingConfig, Usage
from weft.schema.stream import Ping, Retry, StreamDone, StreamEvent, StreamFailed

log = logging.getLogger(__name__)
ROOM: Final = 1300
"""Characters of files in the first prompt: with all else about 700 tokens."""
OUTPUT: Final = 1024
_TRIES: Final = 3
_HEAT: Final = 0.4
"""An answer that was refused comes again at temperature 0, whatever it is told: each new try is warmer."""
_EMPTY_WORDS: Final = frozenset({"done", "a short report", "text", "ok", "task done", "the task is done"})
_CHARACTERS: Final = 3
"""For a token, at least, in code."""
_KEPT: Final = 500


class SmallProvider:
    """One action at a time. What the loop sees are ordinary calls and, at the end, ordinary text.

    `window` is the model's context in tokens; 0 where nothing is known of it.
    """

    keeps_window = True
    """Prompts stay inside the model's context by themselves."""

    def __init__(self, inner: Provider, *, window: int = 0) -> None:
        self.name = inner.name
        self._inner = inner
        self._limit = int(((window or 4096) - OUTPUT) * _CHARACTERS * 0.7)
        self._room = min(ROOM, max(self._limit // 3, 400))
        self._said: dict[str, str] = {}

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        turn = read_turn(request)
        if not request.tools or request.output_schema is not None or not turn.task:
            plain = msgspec.structs.replace(request, max_tokens=min(request.max_tokens, OUTPUT), tools=())
            async for event in self._inner.stream(plain):
                yield event
            return
        looks = next_look(turn)
        if looks:
            for event in unfold(_reply(request.model, looks)):
                yield event
            return
        asking = _Asking(self._inner, request, turn, self._said, room=self._room, limit=self._limit)
        async for event in asking.events():
            yield event
        self._keep(asking)

    def _keep(self, asking: "_Asking") -> None:
        self._said.update(asking.became)
        while len(self._said) > _KEPT:
            del self._said[next(iter(self._said))]

    async def count_tokens(self, request: Request) -> int | None:
        """What the conversation fills is not what is sent, so no count of it would help."""
        return None

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Asking:
    """One answer of the model, asked again when it cannot be meant."""

    def __init__(
        self, inner: Provider, request: Request, turn: Turn, said: dict[str, str], *, room: int, limit: int
    ) -> None:
        self._inner = inner
        self._request = request
        self._turn = turn
        self._said = said
        self._room = room
        self._limit = limit
        self._question = is_question(turn.task)
        self._files = Files(turn.steps)
        self._refused: list[tuple[str, str]] = []
        self._refused_lines: set[tuple[str, str]] = set()
        self._usage = Usage()
        self.became: dict[str, str] = {}

    async def events(self) -> AsyncIterator[StreamEvent]:
        for _ in range(_TRIES):
            done: StreamDone | StreamFailed | None = None
            events = self._inner.stream(self._asked())
            try:
                async for event in events:
                    if isinstance(event, StreamDone | StreamFailed):
                        done = event
                        break
                    if isinstance(event, Ping | Retry):
                        yield event
            finally:
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
            if done is None or isinstance(done, StreamFailed):
                yield done or StreamFailed("protocol", "the provider ended its stream without an answer")
                return
            self._usage += done.reply.usage
            blocks = self._meant(done.reply)
            if blocks is not None:
                for event in unfold(self._as_reply(done.reply, blocks), piece=400):
                    yield event
                return
        for event in unfold(_reply(self._request.model, (self._stuck(),), self._usage)):
            yield event

    def _asked(self) -> Request:
        prompt = make_prompt(
            self._turn,
            self._said,
            question=self._question,
            room=self._room,
            limit=self._limit,
            refused=self._refused,
        )
        return msgspec.structs.replace(
            self._request,
            system=(SystemPart(prompt.system, cache=True),),
            messages=prompt.messages,
            tools=(),
            tool_choice=None,
            thinking=ThinkingConfig(),
            max_tokens=min(self._request.max_tokens, OUTPUT),
            temperature=_HEAT * len(self._refused),
            output_schema=self._shape(),
        )

    def _shape(self) -> Json:
        return shape(self._turn, self._files, question=self._question, room=self._room, refused=self._refused_lines)

    def _meant(self, reply: Reply) -> tuple[AnyBlock, ...] | None:
        """What the loop is told; None when the model has to be asked again."""
        raw = reply.text.strip()
        found = read_action(raw)
        if found is None:
            if self._question and raw:
                return (Text(raw),)
            self._refuse(raw, "That is not one JSON object. Answer with one JSON object.")
            return None
        if found.action in END:
            if not self._question and not may_end(self._turn):
                self._refuse(raw, "The task is not done yet. Do an action.")
                return None
            return (Text(self._report(found.text.strip())),)
        try:
            if found.action not in offered(self._shape()):
                raise Refused(f'"{found.action}" is not possible now. Choose another action.')
            meant = self._checked(to_call(found, self._files, self._turn))
        except Refused as refused:
            self._refuse(raw, str(refused))
            if found.action == "edit":
                self._refused_lines.add((self._files.short(found.path), found.old))
            return None
        if meant is None:
            return (Text(self._report("")),)
        self.became[meant.use.id] = raw
        note = f"(Put right in the model's answer: {'; '.join(meant.repairs)}.)"
        return (Text(note), meant.use) if meant.repairs else (meant.use,)

    def _checked(self, meant: Meant) -> Meant | None:
        """None for an action that was done already: a small model says so by saying it again.

        Raises:
            Refused: the same action failed before.
        """
        use = meant.use
        for step in self._turn.acts:
            if (step.use.name, step.use.input) == (use.name, use.input):
                if step.failed:
                    raise Refused("You tried that already and it failed. Do another action.")
                if may_end(self._turn):
                    return None
                raise Refused("You did that already. Do another action.")
        return meant

    def _report(self, text: str) -> str:
        """The model's own words; where it has none, or gives back those of the manual, what was done."""
        if text and text.lower().rstrip(".") not in _EMPTY_WORDS:
            return text
        lines = [told for step in self._turn.acts if not step.failed and (told := what_was_done(step.use))]
        return f"Done: {'; '.join(dict.fromkeys(lines))}." if lines else "Done."

    def _refuse(self, raw: str, sentence: str) -> None:
        log.debug("a small model's answer is refused: %s (%s)", raw, sentence)
        self._refused.append((raw or "{}", sentence))

    def _stuck(self) -> Text:
        worked = [step for step in self._turn.acts if not step.failed and step.use.name not in ("Read", "Grep")]
        if worked:
            return Text("The model has nothing more to do. Check whether the task is done.")
        return Text("The model found no action that fits. Say it in other words, or choose a larger model.")

    def _as_reply(self, inner: Reply, blocks: tuple[AnyBlock, ...]) -> Reply:
        calls = any(isinstance(block, ToolUse) for block in blocks)
        return msgspec.structs.replace(
            inner,
            id=inner.id or f"msg_{uuid4().hex[:12]}",
            content=blocks,
            usage=self._usage,
            stop_reason="tool_use" if calls else "end_turn",
        )


def read_action(raw: str) -> Action | None:
    """The first JSON object in the text, strings of it alone; None when there is none. An object that was cut is
    not taken: half a file is no file."""
    start = raw.find("{")
    if start < 0:
        return None
    try:
        value, _ = cast(tuple[object, int], json.JSONDecoder(strict=False).raw_decode(raw, start))
    except ValueError:
        return _cut_answer(raw[start:])
    if not isinstance(value, dict):
        return None
    given = {key: one for key, one in cast(Json, value).items() if isinstance(one, str)}
    return msgspec.convert(given, Action) if "action" in given else None


def _cut_answer(raw: str) -> Action | None:
    partial = PartialJson()
    partial.feed(raw)
    value = partial.latest()
    if isinstance(value, dict) and cast(Json, value).get("action") in END:
        text = cast(Json, value).get("text")
        return Action(action=str(cast(Json, value)["action"]), text=text if isinstance(text, str) else "")
    return None


def _reply(model: str, blocks: tuple[AnyBlock, ...], usage: Usage | None = None) -> Reply:
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return Reply(
        id=f"msg_{uuid4().hex[:12]}",
        model=model,
        content=blocks,
        stop_reason="tool_use" if calls else "end_turn",
        usage=usage or Usage(),
    )
