"""The model API: sending, counting, consent, and plug-ins' models as providers."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from weft.errors import ProviderError
from weft.extend.api import (
    ChatMessage,
    Data,
    Host,
    LanguageModelError,
    ModelOffer,
    ModelOptions,
    TextPart,
    ToolCallPart,
    ToolInformation,
    ToolResultPart,
)
from weft.extend.consent import ALWAYS, NEVER, SESSION, Consent
from weft.extend.models import split_id, to_chat, to_request
from weft.extend.offered import PluginProvider
from weft.schema.content import Image, Text, ToolResult, ToolUse
from weft.schema.events import Question
from weft.schema.messages import Message, Request, SystemPart, ToolSpec
from weft.schema.stream import StreamDone, StreamFailed
from weft.testing.plugins import FakeHost, FakeModels
from weft.testing.scripted import Fail, ScriptedProvider, call, say

TOOL = ToolInformation("look", "Looks.", {"type": "object"})


@pytest.mark.parametrize(
    ("id", "parts"),
    [
        ("claude-sonnet-4-5", ("claude-sonnet", "4-5")),
        ("claude-opus-4-20250514", ("claude-opus", "4")),
        ("gpt-4o", ("gpt", "4o")),
        ("qwen3:8b", ("qwen3", "8b")),
        ("parrot", ("parrot", "")),
    ],
)
def test_a_models_id_has_a_family_and_a_version(id: str, parts: tuple[str, str]) -> None:
    assert split_id(id) == parts


async def test_an_answer_streams_as_parts_with_its_tool_calls() -> None:
    provider = ScriptedProvider([[say("let me look"), call("look", at="x")]])
    (model,) = await FakeModels(provider).select(vendor="fake")
    async with model.send([ChatMessage.user("hi")], tools=[TOOL], tool_mode="required") as answer:
        parts = [part async for part in answer.stream]
    assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "let me look"
    assert isinstance(parts[-1], ToolCallPart) and parts[-1].input == {"at": "x"}
    assert provider.requests[0].tool_choice == {"type": "tool", "name": "look"}


async def test_what_cannot_be_had_is_a_language_model_error() -> None:
    assert await FakeModels(ScriptedProvider([])).select(id="other") == []
    provider = ScriptedProvider([Fail("model_not_found", "no such model")])
    (model,) = await FakeModels(provider).select()
    with pytest.raises(LanguageModelError) as failed:
        async with model.send([ChatMessage.user("hi")]) as answer:
            assert [text async for text in answer.text] == []
    assert failed.value.code == "NotFound"
    with pytest.raises(LanguageModelError, match="exactly one tool"):
        async with model.send([ChatMessage.user("hi")], tool_mode="required"):
            pass
    (refused,) = await FakeModels(provider, consent=False).select()
    with pytest.raises(LanguageModelError) as failed:
        async with refused.send([ChatMessage.user("hi")]):
            pass
    assert failed.value.code == "NoPermissions" and len(provider.requests) == 1


async def test_tokens_are_counted_where_the_provider_does_not() -> None:
    (model,) = await FakeModels(ScriptedProvider([])).select()
    assert 3 <= await model.count_tokens("three short words") <= 6


def test_messages_cross_both_ways() -> None:
    said = (TextPart("look"), Data(b"\x89PNG", "image/png"), ToolCallPart("c", "look", {"a": 1}))
    back = ToolResultPart("c", (TextPart("seen"),))
    request = to_request("m", [ChatMessage("assistant", said), ChatMessage("user", (back,))], [TOOL], "auto", {}, 10)
    text, image, use = request.messages[0].content
    assert isinstance(text, Text) and isinstance(image, Image) and use == ToolUse("c", "look", {"a": 1})
    assert request.messages[1].content == (ToolResult("c", (Text("seen"),)),)
    assert [to_chat(message).content for message in request.messages] == [said, (back,)]


# --- consent ------------------------------------------------------------------------------------------------


class Person:
    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, use: str, questions: Sequence[Question]) -> dict[str, str] | None:
        self.asked.append(questions[0].question)
        return None if self.answer is None else {questions[0].question: self.answer}


@pytest.mark.parametrize(
    ("answer", "now", "later"), [(ALWAYS, True, True), (SESSION, True, None), (NEVER, False, None)]
)
async def test_the_person_is_asked_once_and_always_is_kept(
    tmp_path: Path, answer: str, now: bool, later: bool | None
) -> None:
    person = Person(answer)
    consent = Consent(tmp_path, person)
    assert consent.known("x") is None
    assert [await consent.models("x", "to greet") for _ in range(2)] == [now, now]
    assert len(person.asked) == 1 and "to greet" in person.asked[0]
    assert Consent(tmp_path, person).known("x") is later
    assert consent.known("other") is None
    consent.keep("x", allowed=None)
    assert Consent(tmp_path, person).known("x") is None


async def test_where_nobody_can_be_asked_the_answer_is_no_and_not_kept(tmp_path: Path) -> None:
    consent = Consent(tmp_path, Person(None))
    assert not await consent.models("x", "") and consent.known("x") is None


# --- a plug-in's own models -----------------------------------------------------------------------------------

OFFER = ModelOffer(id="m-1", max_input_tokens=1000)


class Own:
    def __init__(self, *parts: TextPart | ToolCallPart, error: Exception | None = None) -> None:
        self.parts = parts
        self.error = error
        self.asked: list[tuple[Sequence[ChatMessage], ModelOptions]] = []

    async def models(self, host: Host) -> Sequence[ModelOffer]:
        return (OFFER,)

    async def respond(
        self, model: ModelOffer, messages: Sequence[ChatMessage], options: ModelOptions, host: Host
    ) -> AsyncIterator[TextPart | ToolCallPart]:
        self.asked.append((messages, options))
        for part in self.parts:
            yield part
        if self.error is not None:
            raise self.error

    async def count_tokens(self, model: ModelOffer, text: str) -> int:
        return len(text)


REQUEST = Request(
    model="own/m-1",
    messages=(Message("user", (Text("hi"),)),),
    system=(SystemPart("Be kind."),),
    tools=(ToolSpec("look", "Looks.", {"type": "object"}),),
)


async def test_a_plugins_model_answers_as_a_provider(tmp_path: Path) -> None:
    own = Own(TextPart("a"), TextPart("b"), ToolCallPart("c", "look", {"x": 1}), TextPart("z"))
    provider = PluginProvider("own", own, OFFER, FakeHost(tmp_path))
    events = [event async for event in provider.stream(REQUEST)]
    done = events[-1]
    assert isinstance(done, StreamDone) and done.reply.stop_reason == "tool_use"
    assert done.reply.content == (Text("ab"), ToolUse("c", "look", {"x": 1}), Text("z"))
    (messages, options) = own.asked[0]
    assert messages[0].content == (TextPart("Be kind."), TextPart("hi"))
    assert [tool.name for tool in options.tools] == ["look"]
    assert await provider.count_tokens(REQUEST) == 2


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ProviderError("slow down", kind="rate_limit", status=429), "rate_limit", "slow down"),
        (ValueError("odd"), "server_error", "the plug-in fake failed: ValueError: odd"),
    ],
)
async def test_a_failing_model_is_the_last_event_and_no_exception(
    tmp_path: Path, error: Exception, kind: str, words: str
) -> None:
    provider = PluginProvider("own", Own(TextPart("a"), error=error), OFFER, FakeHost(tmp_path))
    events = [event async for event in provider.stream(REQUEST)]
    assert isinstance(events[-1], StreamFailed) and (events[-1].error, events[-1].message) == (kind, words)
