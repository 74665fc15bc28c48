"""Weft against the real llama.cpp: the child's life, constraints that hold, and a prefix that is evaluated once.

The model is far too small to do the work; what is tested is that everything around it holds.
"""

import json
import os
from pathlib import Path
from typing import cast

import anyio
import jsonschema
import pytest

from tests.unit.providers.small.talks import called, listed, prompt, request, shown
from weft.errors import TransportError
from weft.protocols.openai_chat import ChatOptions, Constraint
from weft.providers.gguf.provider import GgufProvider
from weft.providers.openai import OpenAIProvider
from weft.providers.port import Provider
from weft.providers.small.provider import SmallProvider
from weft.providers.small.shape import shape
from weft.providers.small.turn import Files, read_turn
from weft.schema.content import Json, Text
from weft.schema.messages import Message, Reply, Request, SystemPart
from weft.schema.stream import StreamDone
from weft.transports import llama_child
from weft.transports.http import HttpClient

ENV = {**os.environ, "WEFT_LOCAL_CONTEXT": "4096", "WEFT_LOCAL_IDLE": "120", "WEFT_LOCAL_THREADS": "1"}
CALC = 'def add(a, b):\n    return a - b  # "quoted" \\ and\tmore: ü\n'
TASK = (prompt("Fix the bug in calc.py: add must return the sum"), *listed("calc.py", "b.py"), *shown("calc.py", CALC))
LIMIT = 120


async def reply_of(provider: Provider, asked: Request) -> Reply:
    with anyio.fail_after(LIMIT):
        last = [event async for event in provider.stream(asked)][-1]
    assert isinstance(last, StreamDone), last
    return last.reply


def schema_of(*messages: Message, question: bool = False) -> Json:
    turn = read_turn(request(*messages))
    return shape(turn, Files(turn.steps), question=question, room=1300)


def asked(text: str, schema: Json, *, temperature: float = 0.0) -> Request:
    return Request(
        "any",
        (Message("user", (Text(text),)),),
        system=(SystemPart("Answer with one JSON object."),),
        output_schema=schema,
        max_tokens=60,
        temperature=temperature,
    )


@pytest.mark.parametrize("constraint", ["grammar", "json_schema"])
async def test_every_constrained_answer_fits_its_schema(weights: Path, folder: Path, constraint: Constraint):
    found = await llama_child.running(weights, folder, ENV)
    provider = OpenAIProvider(key=found.token, base_url=f"{found.url}/v1", options=ChatOptions(constraint=constraint))
    worked = called("Edit", "Edited", id="1", file_path="calc.py", old_string="a - b", new_string="a + b")
    for schema in (schema_of(*TASK), schema_of(*TASK, *worked), schema_of(*TASK, question=True)):
        for heat in (0.0, 1.2):
            reply = await reply_of(provider, asked("Fix the bug in calc.py.", schema, temperature=heat))
            if reply.stop_reason == "max_tokens":
                continue  # The one way in which an answer may be no whole object.
            answer = cast(Json, json.loads(reply.text))
            jsonschema.validate(answer, schema)
            if constraint == "grammar":
                assert json.dumps(answer, ensure_ascii=False) == reply.text or "\\u" in reply.text
    await provider.aclose()


async def test_a_second_step_evaluates_only_its_new_tokens(weights: Path, folder: Path):
    small = SmallProvider(GgufProvider(weights, folder=folder, env=ENV), window=4096)
    first = await reply_of(small, request(*TASK))
    assert first.tool_uses or first.text
    use_id = first.tool_uses[0].id if first.tool_uses else "x"
    done = called(
        "Bash", "(Bash completed with no output)", id=use_id, command="python3 calc.py", description="Run a command"
    )
    again = await reply_of(small, request(*TASK, *done))
    whole = again.usage.input_tokens + again.usage.cache_read_input_tokens
    assert again.usage.cache_read_input_tokens > 0.6 * whole, again.usage
    assert again.usage.input_tokens < 150
    await small.aclose()


async def test_the_first_prompt_has_fewer_than_700_tokens_of_the_models_own_count(weights: Path, folder: Path):
    long = "\n".join(f"def function_{n}(value):\n    return value * {n}\n" for n in range(300))
    names = [f"package/module_{n}.py" for n in range(99)]
    begin = (prompt("Change function_7 in big.py so that it returns value"), *listed("big.py", *names))
    inner = GgufProvider(weights, folder=folder, env=ENV)
    reply = await reply_of(SmallProvider(inner, window=4096), request(*begin, *shown("big.py", long)))
    first = reply.usage.input_tokens + reply.usage.cache_read_input_tokens
    # Answers that were refused add their own prompts: the first one is at most a third of three.
    assert 0 < first < 3 * 700
    await inner.aclose()


async def test_the_child_is_shared_wants_its_token_and_ends_when_idle(weights: Path, tmp_path: Path):
    env = {**ENV, "WEFT_LOCAL_IDLE": "1.5", "WEFT_LOCAL_CONTEXT": "512"}
    with anyio.fail_after(LIMIT):
        first = await llama_child.running(weights, tmp_path, env)
        second = await llama_child.running(weights, tmp_path, env)
        assert first == second
        place = llama_child.state_file(weights, tmp_path)
        assert place.stat().st_mode & 0o077 == 0
        async with HttpClient() as client:
            body = b'{"messages": [{"role": "user", "content": "hi"}]}'
            head = {"content-type": "application/json"}
            async with await client.send("POST", f"{first.url}/v1/chat/completions", head, body) as answer:
                assert answer.status == 401
        while llama_child.read_state(place) is not None:
            await anyio.sleep(0.05)
    assert first.url.startswith("http://127.0.0.1:")


async def test_a_file_that_is_no_model_is_explained(tmp_path: Path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)
    with anyio.fail_after(LIMIT), pytest.raises(TransportError, match="could not use"):
        await llama_child.running(broken, tmp_path, ENV)
