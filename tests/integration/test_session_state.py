"""What a session has used and done: counted once, kept with it, and the same in events, results and `/cost`."""

import json
from pathlib import Path

from tests.integration.driving import ended, session, turn
from tests.integration.test_agent_fields import git
from tests.integration.test_cli import environment, weft
from weft.schema.events import UsageChanged
from weft.schema.messages import Usage
from weft.testing.fake_anthropic import Answer, FakeAnthropic
from weft.testing.scripted import Line, call, say

USED = Usage(input_tokens=1000, output_tokens=100, cache_read_input_tokens=5000, cache_creation_input_tokens=2000)


async def test_tokens_dollars_lines_files_and_commits_are_counted_and_outlive_the_process(tmp_path: Path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    commit = "git add -A && git -c user.name=T -c user.email=t@example.com commit -q -m 'x'"
    script = [
        Line((call("Edit", file_path="a.txt", old_string="two", new_string="2\nthree"),), USED),
        call("Write", file_path="b.txt", content="b\n"),
        call("Bash", command=commit),
        call("Task", description="d", prompt="p", model="model-x"),
        Line((say("did it"),), USED),
        "Done.",
    ]
    options = {"mode": "acceptEdits", "allowed_tools": ("Bash",), "model": "claude-sonnet-4-5"}
    async with session(tmp_path, script, **options) as (connection, _):
        events = await turn(connection, "go")
        session_id = connection.info.session_id
    end = ended(events)
    assert (end.totals.lines_added, end.totals.lines_removed, end.totals.files) == (3, 1, 2)
    assert (end.totals.commits, end.totals.turns) == (1, 1)
    assert end.totals.unknown_models == ("model-x",)
    known, unknown = end.models["claude-sonnet-4-5"], end.models["model-x"]
    assert known.usage == USED + Usage(input_tokens=400, output_tokens=80) and unknown.usage == USED
    assert known.cost_known and known.cost > 0 and not unknown.cost_known and unknown.cost == 0
    assert end.total_cost == known.cost and end.usage == known.usage + unknown.usage
    assert end.totals.duration >= end.totals.api_duration > 0 and end.totals.tool_duration > 0
    last = [event for event in events if isinstance(event, UsageChanged)][-1]
    assert (last.models, last.total_cost, last.totals.files) == (end.models, end.total_cost, 2)
    async with session(tmp_path, ["Again."], resume=session_id, **options) as (connection, _):
        before = ended(await turn(connection, "/cost")).text
        again = ended(await turn(connection, "more"))
    assert "3 lines added, 1 removed, 2 files, 1 commits" in before
    assert "no price is known for model-x" in before
    assert "5,000 read from cache, 2,000 written to cache" in before
    assert again.totals.files == 2 and again.totals.turns == 3
    assert again.models["claude-sonnet-4-5"].usage == known.usage + Usage(input_tokens=100, output_tokens=20)


async def test_the_result_of_a_command_tells_them_and_flags_what_has_no_price(tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([Answer(blocks=(say("ok"),), usage=USED), "ok"]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "hi", "--output-format", "json", "--model", "model-x", cwd=tmp_path, env=env)
        result = json.loads(done.stdout)
        flags = ("--output-format", "json", "--model", "claude-sonnet-4-5", "--continue")
        second = json.loads((await weft("-p", "hi", *flags, cwd=tmp_path, env=env)).stdout)
    assert result["total_cost_usd"] == 0 and result["session_totals"]["unknown_models"] == ["model-x"]
    row = result["modelUsage"]["model-x"]
    assert (row["costBasis"], row["cacheReadInputTokens"], row["cacheCreationInputTokens"]) == ("unknown", 5000, 2000)
    assert second["session_totals"]["turns"] == 2 and set(second["modelUsage"]) == {"model-x", "claude-sonnet-4-5"}
    assert second["total_cost_usd"] > 0
