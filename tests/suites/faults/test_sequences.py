"""Sequences of requests by a grammar, right and wrong ones mixed, against each server that speaks JSON lines.

Every request with an id is answered once, whatever its method and parameters are, and the server goes on.
"""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.abc
import pytest

from tests.suites.processes import command, environment
from weft.testing.fake_anthropic import FakeAnthropic

WORDS = (
    "sessionId",
    "cwd",
    "name",
    "arguments",
    "mode",
    "model",
    "uri",
    "cursor",
    "prompt",
    "id",
    "tool_name",
    "value",
)
RPC = {
    "acp": (
        *(
            "initialize",
            "authenticate",
            "session/new",
            "session/load",
            "session/prompt",
            "session/list",
            "session/fork",
        ),
        *("session/set_mode", "session/set_config_option", "session/close", "session/delete", "session/resume", "x/y"),
    ),
    "mcp": (
        *(
            "tools/list",
            "tools/call",
            "prompts/list",
            "resources/list",
            "resources/read",
            "ping",
            "completion/complete",
        ),
        *("logging/setLevel", "initialize", "no/such"),
    ),
}
SUBTYPES = (
    *("set_permission_mode", "set_model", "set_max_thinking_tokens", "mcp_status", "mcp_message", "interrupt"),
    *("rewind_files", "get_context_usage", "stop_task", "initialize", "no_such_subtype", "", "apply_flag_settings"),
)


def value(chance: Random, depth: int = 2) -> Any:
    kinds = ("null", "truth", "number", "text", "list", "object") if depth else ("null", "truth", "number", "text")
    match chance.choice(kinds):
        case "null":
            return None
        case "truth":
            return chance.random() < 0.5
        case "number":
            return chance.choice((0, -1, 7, 2**53, 0.5))
        case "text":
            return chance.choice(("", "default", "/", "a\u0000b", "x" * 300, "файл", "Read", "claude-sonnet-4-5"))
        case "list":
            return [value(chance, depth - 1) for _ in range(chance.randrange(3))]
        case _:
            return fields(chance, depth - 1)


def fields(chance: Random, depth: int = 2) -> dict[str, Any]:
    return {chance.choice(WORDS): value(chance, depth) for _ in range(chance.randrange(4))}


class Spoken:
    """A server on its standard streams."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._rest = b""

    async def say(self, message: object) -> None:
        await self._in.send(json.dumps(message).encode() + b"\n")

    async def hear(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            self._rest += await self._out.receive()
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)


@pytest.mark.parametrize("server", ["acp", "mcp"])
@pytest.mark.parametrize("seed", range(3))
async def test_json_rpc(server: str, seed: int, tmp_path: Path, fresh_home: Path) -> None:
    chance = Random(f"{server} {seed}")
    argv = command("acp") if server == "acp" else command("mcp", "serve")
    async with FakeAnthropic(["Hello."], cycle=True) as model:
        env = environment(fresh_home, model)
        async with await anyio.open_process(argv, cwd=tmp_path, env=env, stderr=None) as process:
            talk = Spoken(process)
            asked: list[object] = []
            for number in range(60):
                id = chance.choice((number, f"n{number}"))
                method = chance.choice(RPC[server])
                # The MCP package takes parameters that are no object for no message at all.
                odd_params = ([value(chance)], None, "text") if server == "acp" else ()
                params = chance.choice((fields(chance), *odd_params))
                await talk.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
                asked.append(id)
                if chance.random() < 0.2:
                    odd = ([], 7, {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "method": "no/thing", "params": {"a": 1}})
                    await talk.say(chance.choice(odd))
            answered = Counter[object]()
            with anyio.fail_after(90):
                while len(answered) < len(asked):
                    heard = await talk.hear()
                    if "method" in heard and "id" in heard:  # A request of the server: it gets an answer of no use.
                        await talk.say({"jsonrpc": "2.0", "id": heard["id"], "result": {}})
                    elif heard.get("id") in asked:
                        assert ("result" in heard) != ("error" in heard), heard
                        answered[heard["id"]] += 1
            assert set(answered.values()) == {1}
            process.kill()


@pytest.mark.parametrize("seed", range(3))
async def test_control_requests(seed: int, tmp_path: Path, fresh_home: Path) -> None:
    chance = Random(seed)
    streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    async with FakeAnthropic(["Still here."], cycle=True) as model:
        env = environment(fresh_home, model)
        async with await anyio.open_process(command("-p", *streams), cwd=tmp_path, env=env, stderr=None) as process:
            talk = Spoken(process)
            for number in range(60):
                request = {**fields(chance), "subtype": chance.choice(SUBTYPES)}
                await talk.say({"type": "control_request", "request_id": f"r{number}", "request": request})
            answered = Counter[str]()
            with anyio.fail_after(90):
                while len(answered) < 60:
                    heard = await talk.hear()
                    if heard["type"] == "control_response":
                        answered[heard["response"]["request_id"]] += 1
                assert set(answered.values()) == {1}
                back = {"subtype": "set_model", "model": None}
                await talk.say({"type": "control_request", "request_id": "back", "request": back})
                await talk.say({"type": "user", "message": {"role": "user", "content": "Are you there?"}})
                while (heard := await talk.hear())["type"] != "result":
                    pass
            assert heard["result"] == "Still here.", heard
            process.kill()
