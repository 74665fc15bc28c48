"""Local models as a person meets them: found without a key, spoken to in each server's own dialect, counted."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import anyio
import jsonschema
import pytest

from tests.integration.test_cli import environment, weft
from weft.providers.discover import Place, discover
from weft.providers.port import Provider
from weft.providers.resolve import resolve
from weft.schema.content import Json, Text
from weft.schema.messages import Message, Request, ToolSpec
from weft.schema.stream import StreamDone
from weft.testing.fake_openai import FakeOpenAI
from weft.transports.http_server import Exchange, HttpServer

RUN = '{"action": "run", "command": "ls"}'
REQUEST = Request("tiny-1b", (Message("user", (Text("Run ls"),)),), tools=(ToolSpec("Bash", "", {}),))
MODELS = {"data": [{"id": "tiny-1b", "object": "model", "max_model_len": 4096, "meta": {"n_params": 1_000_000_000}}]}
DIALECTS: list[tuple[str, Mapping[str, object], str]] = [
    ("lmstudio", {"/v1/models": MODELS}, "response_format"),
    ("gpt4all", {"/v1/models": MODELS}, "response_format"),
    ("vllm", {"/v1/models": MODELS, "/version": {"version": "0.9.2"}}, "guided_json"),
    ("vllm", {"/v1/models": MODELS, "/version": {"version": "0.12.0"}}, "structured_outputs"),
    ("llamacpp", {"/v1/models": MODELS}, "grammar"),
]


async def action_from(provider: Provider) -> tuple[str, Json]:
    with anyio.fail_after(30):
        last = [event async for event in provider.stream(REQUEST)][-1]
    await provider.aclose()
    assert isinstance(last, StreamDone)
    return last.reply.tool_uses[0].name, last.reply.tool_uses[0].input


@pytest.mark.parametrize(("name", "extra", "field"), DIALECTS)
async def test_each_server_is_asked_in_its_own_way_for_an_answer_that_fits(
    name: str, extra: Mapping[str, object], field: str
):
    async with FakeOpenAI([RUN], extra=extra) as server:
        found = await resolve(
            f"{name}:tiny-1b", env=dict(os.environ), find_local=lambda: discover(where=[Place(name, server.url)])
        )
        assert await action_from(found.provider) == ("Bash", {"command": "ls", "description": "Run a command"})
        body = server.requests[0].body
    fields = {"response_format", "guided_json", "structured_outputs", "grammar"}
    assert fields & set(body) == {field} and "tools" not in body
    schema = schema_in(body, field)
    if schema is not None:
        jsonschema.validate(json.loads(RUN), schema)


def schema_in(body: Json, field: str) -> Json | None:
    value = body[field]
    match field:
        case "response_format":
            return cast(dict[str, dict[str, Json]], value)["json_schema"]["schema"]
        case "structured_outputs":
            return cast(dict[str, Json], value)["json"]
        case "guided_json":
            return cast(Json, value)
        case _:
            assert str(value).startswith("root ::= ")
            return None


class FakeOllama:
    """Ollama's own addresses, as far as Weft asks them."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.chats: list[Json] = []
        self.server = HttpServer(self._handle)

    async def _handle(self, exchange: Exchange) -> None:
        head = {"content-type": "application/json"}
        match exchange.request.path:
            case "/v1/models":
                await exchange.respond(200, json.dumps({"data": [{"id": "tiny-1b"}]}).encode(), head)
            case "/api/show":
                shown = {
                    "details": {"parameter_size": "494.03M"},
                    "model_info": {"qwen2.context_length": 32768},
                    "capabilities": ["completion", "tools"],
                }
                await exchange.respond(200, json.dumps(shown).encode(), head)
            case "/api/chat":
                self.chats.append(json.loads(exchange.request.body))
                half = len(self.answer) // 2
                lines: list[Json] = [
                    {"model": "tiny-1b", "message": {"role": "assistant", "content": piece}, "done": False}
                    for piece in (self.answer[:half], self.answer[half:])
                ]
                end: Json = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}
                lines.append({"model": "tiny-1b", "message": {"role": "assistant", "content": ""}, **end})
                data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
                await exchange.respond(200, data, {"content-type": "application/x-ndjson"})
            case _:
                await exchange.respond(404, b"{}", head)


async def test_ollama_is_asked_through_its_own_api_with_a_format_and_a_context():
    ollama = FakeOllama(RUN)
    async with ollama.server:
        where = [Place("ollama", ollama.server.url)]
        servers = await discover(where=where)
        assert (servers[0].models[0].parameters, servers[0].models[0].context_window) == (494_030_000, 32768)
        found = await resolve("ollama:tiny-1b", env=dict(os.environ), find_local=lambda: discover(where=where))
        assert (await action_from(found.provider))[0] == "Bash"
    chat = ollama.chats[0]
    jsonschema.validate(json.loads(RUN), cast(Json, chat["format"]))
    assert cast(Json, chat["options"])["num_ctx"] == 8192 and "tools" not in chat


async def test_without_a_key_a_local_model_answers_and_the_person_is_told(tmp_path: Path, fresh_home: Path):
    ollama = FakeOllama('{"action": "answer", "text": "It adds two numbers."}')
    (tmp_path / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    async with ollama.server:
        env = environment(None, fresh_home, OLLAMA_HOST=ollama.server.url)
        done = await weft("-p", "What does calc.py do?", cwd=tmp_path, env=env)
    assert done.stdout == b"It adds two numbers.\n", done.stderr
    assert b"No key is set, so tiny-1b of ollama on this machine answers." in done.stderr
    asked = json.dumps(ollama.chats[0])
    assert "return a + b" in asked and len(asked) < 6000


async def test_a_long_file_is_not_compacted_away_before_the_model_saw_it(tmp_path: Path, fresh_home: Path):
    ollama = FakeOllama('{"action": "answer", "text": "seen"}')
    lines = "".join(f"def function_{n}(value):\n    return value * {n}\n\n" for n in range(2000))
    (tmp_path / "big.py").write_text(lines)
    async with ollama.server:
        env = environment(None, fresh_home, OLLAMA_HOST=ollama.server.url)
        done = await weft("-p", "What does function_321 in big.py do?", cwd=tmp_path, env=env)
    assert done.stdout == b"seen\n" and len(ollama.chats) == 1
    assert "def function_321(value):" in json.dumps(ollama.chats[0])


async def test_an_edit_of_a_small_model_is_not_made_without_approval(tmp_path: Path, fresh_home: Path):
    ollama = FakeOllama('{"action": "edit", "path": "calc.py", "old": "x = 1", "new": "x = 2"}')
    (tmp_path / "calc.py").write_text("x = 1\n")
    async with ollama.server:
        env = environment(None, fresh_home, OLLAMA_HOST=ollama.server.url)
        await weft("-p", "Set x to 2 in calc.py", "--max-turns", "6", cwd=tmp_path, env=env)
    assert (tmp_path / "calc.py").read_text() == "x = 1\n"


async def test_the_shipped_tasks_pass_with_their_own_solutions_through_the_whole_loop(tmp_path: Path, fresh_home: Path):
    done = await weft("eval", "ten", "--model", "scripted", "--json", cwd=tmp_path, env=environment(None, fresh_home))
    outcomes = json.loads(done.stdout)
    assert [one["task"] for one in outcomes if not one["passed"]] == [] and len(outcomes) == 10
    assert done.returncode == 0 and b"10/10, 10 ok" in done.stderr


async def test_a_task_that_fails_is_counted_as_one(tmp_path: Path, fresh_home: Path):
    task = """
[[task]]
name = "wrong"
prompt = "Append the line 'b' to a.txt."
check = "grep -q c a.txt"
solution = [{ action = "append", path = "a.txt", text = "b" }, { action = "done", text = "ok" }]
[task.files]
"a.txt" = "a\\n"
"""
    (tmp_path / "mine.toml").write_text(task)
    done = await weft("eval", "mine.toml", "--model", "scripted", cwd=tmp_path, env=environment(None, fresh_home))
    assert done.returncode == 1
    assert b"0 of 1" in done.stdout and b"the check failed" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[task]]\nname = 'a'\nprompt = 'b'\n", b"nothing could fail"),
        ("[[task]]\nname = 'a'\nprompt = 'b'\ncheck = 'true'\n[task.files]\n'../x' = ''\n", b"leads out of the folder"),
        ("no toml", b"cannot be used"),
    ],
)
async def test_a_task_file_that_cannot_be_used_is_explained(
    text: str, message: bytes, tmp_path: Path, fresh_home: Path
):
    (tmp_path / "bad.toml").write_text(text)
    done = await weft("eval", "bad.toml", cwd=tmp_path, env=environment(None, fresh_home))
    assert done.returncode == 1 and message in done.stderr


async def test_models_are_added_chosen_and_removed(tmp_path: Path, fresh_home: Path):
    env = environment(None, fresh_home)
    (tmp_path / "mine.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    assert (await weft("model", "add", "mine.gguf", cwd=tmp_path, env=env)).returncode == 0
    assert b"mine " in (await weft("model", "list", cwd=tmp_path, env=env)).stdout
    await weft("model", "use", "mine", cwd=tmp_path, env=env)
    assert json.loads((fresh_home / ".weft/settings.json").read_text())["model"] == "gguf:mine"
    await weft("model", "remove", "mine", cwd=tmp_path, env=env)
    assert (tmp_path / "mine.gguf").exists()
    missing = await weft("model", "use", "mine", cwd=tmp_path, env=env)
    assert missing.returncode == 1 and b"there is no local model" in missing.stderr


def test_nothing_of_the_small_model_profile_is_loaded_for_others():
    code = "import sys, weft.providers.resolve; print([m for m in sys.modules if 'small' in m or 'gguf' in m])"
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
