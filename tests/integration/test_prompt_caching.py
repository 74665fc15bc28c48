"""What is sent through the real provider: requests that follow one another share every byte up to what is new."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from tests.integration.driving import turn
from weft.agent.options import SessionOptions
from weft.schema.commands import SetMode
from weft.sdk.compose import Overrides, connect
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.scripted import call


def bare(value: object) -> object:
    """The request without its marks of where a cached prefix ends: they move, and are no part of what is cached."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in cast("dict[str, object]", value).items() if key != "cache_control"}
    if isinstance(value, list):
        return [bare(item) for item in cast("list[object]", value)]
    return value


def parts(body: dict[str, Any]) -> list[bytes]:
    """In the order in which a cache sees them: tools, system, then each block of each message."""
    blocks = [[message["role"], block] for message in body["messages"] for block in message["content"]]
    return [json.dumps(bare(part)).encode() for part in [*body["tools"], *body["system"], *blocks]]


async def bodies(cwd: Path, script: list[Any], prompts: list[str | SetMode]) -> list[dict[str, Any]]:
    async with FakeAnthropic(script) as server:
        options = SessionOptions(cwd=cwd, model="claude-sonnet-4-5")
        async with connect(options, Overrides(env=server.env())) as connection:
            for prompt in prompts:
                if isinstance(prompt, SetMode):
                    await connection.send(prompt)
                else:
                    await turn(connection, prompt)
        return [request.body for request in server.requests]


async def test_each_request_begins_with_all_bytes_of_the_one_before(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("Be brief.\n")
    (tmp_path / "a.txt").write_text("a\n")
    script = [call("Read", file_path=str(tmp_path / "a.txt")), "One.", "Two.", "Three."]
    sent = await bodies(tmp_path, script, ["first", "second", "third"])
    assert len(sent) == 4
    for before, after in pairwise(sent):
        assert parts(after)[: len(parts(before))] == parts(before)
        assert {key: before[key] for key in ("model", "max_tokens")} == {
            key: after[key] for key in ("model", "max_tokens")
        }


async def test_the_ends_of_the_cached_prefix_are_marked_and_never_more_than_four(tmp_path: Path):
    sent = await bodies(tmp_path, ["One.", "Two."], ["first", "second"])
    for body in sent:
        marks = json.dumps(body).count('"cache_control"')
        assert 2 <= marks <= 4
        assert "cache_control" in body["messages"][-1]["content"][-1]
        assert "cache_control" in body["system"][-1]


async def test_a_changed_mode_leaves_all_before_it_as_it_was(tmp_path: Path):
    sent = await bodies(tmp_path, ["One.", "Two."], ["first", SetMode("plan"), "second"])
    before, after = sent
    assert after["tools"] == before["tools"]
    assert after["system"][0] == before["system"][0]
    assert after["system"] != before["system"]
