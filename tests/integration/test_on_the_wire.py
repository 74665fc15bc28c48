"""What is told and kept, read from the bytes that a server gets: across processes, compactions and small windows."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.driving import ended, turn
from tests.integration.test_cli import environment, weft
from tests.integration.test_prompt_caching import parts
from weft.agent.options import SessionOptions
from weft.schema.events import Compacted
from weft.schema.messages import Usage
from weft.sdk.compose import Overrides, connect
from weft.testing.fake_anthropic import Answer, FakeAnthropic, fail
from weft.testing.scripted import call, say

TOO_LONG = fail(400, "prompt_too_long", "prompt is too long: 30000 tokens > 20000 maximum")
SMALL = json.dumps({"models": {"small": {"contextWindow": 20000, "maxOutput": 2000}}})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("memory of the project\n")
    (folder / "a.txt").write_text("alpha\n")
    return folder


def words(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"])


async def test_a_conversation_that_goes_on_in_another_process_shares_every_byte(project: Path, fresh_home: Path):
    """Resumed, continued and forked; with a tool call in it, and after files and memory have changed."""
    script = [call("Read", file_path="a.txt"), "One.", "Two.", "Three.", "Four."]
    async with FakeAnthropic(script) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "first", "--output-format", "json", cwd=project, env=env)
        session_id = json.loads(done.stdout)["session_id"]
        (project / "new.txt").write_text("new\n")
        (project / "CLAUDE.md").write_text("another memory\n")
        for flags in (["--continue"], ["--resume", session_id], ["--resume", session_id, "--fork-session"]):
            assert (await weft("-p", "next", *flags, cwd=project, env=env)).returncode == 0
        sent = [request.body for request in server.requests]
    assert len(sent) == 5
    for before, after in pairwise(sent):
        assert parts(after)[: len(parts(before))] == parts(before)
        assert len(parts(after)) > len(parts(before))
        assert (before["model"], before["max_tokens"]) == (after["model"], after["max_tokens"])
    assert words(sent[-1]).count("memory of the project") == 1 and "another memory" not in words(sent[-1])


async def test_a_prompt_that_is_too_long_compacts_and_goes_on(project: Path):
    script = ["One. " * 800, "Two. " * 800, TOO_LONG, "THE-SUMMARY", "Three."]
    async with FakeAnthropic(script) as server:
        options = SessionOptions(cwd=project, model="claude-sonnet-4-5")
        async with connect(options, Overrides(env=server.env())) as connection:
            await turn(connection, "always use tabs")
            await turn(connection, "and be brief")
            events = await turn(connection, "third")
            session_id = connection.info.session_id
        sent = [request.body for request in server.requests]
    assert ended(events).reason == "completed" and ended(events).text == "Three."
    assert [event.state for event in events if isinstance(event, Compacted)] == ["started", "done"]
    last = words(sent[-1])
    for kept in ("always use tabs", "memory of the project", "third"):
        assert kept in last
    assert "and be brief" in last
    async with FakeAnthropic(["Four."]) as server:
        options = SessionOptions(cwd=project, model="claude-sonnet-4-5", resume=session_id)
        async with connect(options, Overrides(env=server.env())) as connection:
            await turn(connection, "fourth")
        resumed = server.requests[0].body
    assert parts(resumed)[: len(parts(sent[-1]))] == parts(sent[-1])


async def test_a_result_that_alone_is_too_long_is_shortened_and_the_turn_goes_on(project: Path):
    (project / "big.txt").write_text("a line of words that fill the window\n" * 1500)
    script = [call("Read", file_path="big.txt"), TOO_LONG, "Done."]
    async with FakeAnthropic(script) as server:
        options = SessionOptions(cwd=project, model="small", settings=SMALL)
        async with connect(options, Overrides(env=server.env())) as connection:
            events = await turn(connection, "read it all")
        sent = [request.body for request in server.requests]
    assert ended(events).reason == "completed", ended(events).error
    assert "read it all" in words(sent[-1])
    assert len(words(sent[-1])) < 30_000 < (project / "big.txt").stat().st_size


async def test_one_prompt_that_no_compaction_could_shorten_ends_the_turn_with_a_sentence(project: Path):
    async with FakeAnthropic([TOO_LONG, "Two."]) as server:
        options = SessionOptions(cwd=project, model="claude-sonnet-4-5")
        async with connect(options, Overrides(env=server.env())) as connection:
            first = ended(await turn(connection, "far too long"))
            second = ended(await turn(connection, "short"))
    assert first.reason == "prompt_too_long" and first.error and "too long" in first.error
    assert second.reason == "completed"


async def test_what_is_told_at_the_start_is_never_more_than_a_quarter_of_a_small_window(project: Path):
    (project / "CLAUDE.md").write_text("remember the milk " * 12_000)
    (project / "AGENTS.md").write_text("and the bread")
    async with FakeAnthropic(["One."]) as server:
        options = SessionOptions(cwd=project, model="small", settings=SMALL)
        async with connect(options, Overrides(env=server.env())) as connection:
            await turn(connection, "hello")
        first = words(server.requests[0].body)
    assert "Left out for its length. Read the file before you begin." in first
    assert "and the bread" in first and len(first) < 30_000


async def test_old_results_are_dropped_before_anything_is_summarised_and_stay_so_after_a_resume(project: Path):
    for number in range(12):
        (project / f"{number}.txt").write_text(f"line {number} of words\n" * (1000 if number < 6 else 40))
    settings = json.dumps({"models": {"small": {"contextWindow": 60000, "maxOutput": 2000}}})
    full = Answer(blocks=(say("Read."),), usage=Usage(input_tokens=50_000, output_tokens=10))
    script = [*(call("Read", file_path=f"{number}.txt") for number in range(12)), full, "Next.", "Last."]
    async with FakeAnthropic(script) as server:
        options = SessionOptions(cwd=project, model="small", settings=settings)
        async with connect(options, Overrides(env=server.env())) as connection:
            await turn(connection, "read them all")
            events = await turn(connection, "and now?")
            again = SessionOptions(cwd=project, model="small", settings=settings, resume=connection.info.session_id)
        async with connect(again, Overrides(env=server.env())) as connection:
            await turn(connection, "and then?")
        sent = [request.body for request in server.requests]
    assert [event.state for event in events if isinstance(event, Compacted)] == ["started", "done"]
    assert len(sent) == 15, "no summary was asked for"
    assert words(sent[-2]).count("An old result, left out to save room") == 6
    assert "read them all" in words(sent[-2]) and "line 11 of words" in words(sent[-2])
    assert parts(sent[-1])[: len(parts(sent[-2]))] == parts(sent[-2])


async def test_several_processes_may_write_to_one_conversation(project: Path, fresh_home: Path):
    async with FakeAnthropic(["One.", "Two.", "Three.", "Four."]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "first", "--output-format", "json", cwd=project, env=env)
        session_id = json.loads(done.stdout)["session_id"]
        async with anyio.create_task_group() as group:
            for text in ("left", "right"):
                group.start_soon(lambda text=text: weft("-p", text, "--resume", session_id, cwd=project, env=env))
        last = await weft("-p", "last", "--resume", session_id, cwd=project, env=env)
        assert last.returncode == 0
        sent = words(server.requests[-1].body)
    assert "first" in sent and "last" in sent and ("left" in sent or "right" in sent)
