"""`weft context` and `/context`: every part of what is told, from where, and what it costs, as it is really sent."""

import json
from pathlib import Path

from tests.integration.driving import ended, session, turn
from tests.integration.test_cli import environment, weft
from weft.testing.fake_anthropic import FakeAnthropic


async def test_the_command_shows_all_that_is_sent_and_in_that_order(tmp_path: Path, fresh_home: Path):
    (tmp_path / "CLAUDE.md").write_text("memory of the project\n")
    settings = {"agents": {"own": {"description": "from the settings", "prompt": "You are own."}}}
    (fresh_home / ".weft").mkdir(exist_ok=True)
    (fresh_home / ".weft" / "settings.json").write_text(json.dumps(settings))
    async with FakeAnthropic(["ok"]) as server:
        env = environment(server, fresh_home)
        done = await weft("context", "--json", cwd=tmp_path, env=env)
        shown = json.loads(done.stdout)
        assert (await weft("-p", "hi", cwd=tmp_path, env=env)).returncode == 0
        body = server.requests[0].body
    names = list(dict.fromkeys(row["name"] for row in shown))
    assert names == ["base", "environment", "memory", "files", "tools", "tool manuals"]
    system = "\n\n".join(part["text"] for part in body["system"])
    first = "".join(block["text"] for block in body["messages"][0]["content"])
    for row in shown:
        if row["name"] in ("base", "environment"):
            assert row["text"] in system
        elif row["name"] != "tool manuals":
            assert row["text"] in first
        assert row["tokens"] > 0 and row["where"]
    assert "- own: from the settings" in first
    manuals = next(row["text"] for row in shown if row["name"] == "tool manuals")
    assert all(f"{tool['name']}: " in manuals for tool in body["tools"])


async def test_without_a_key_the_command_still_answers_and_an_agent_has_its_own_words(tmp_path: Path, fresh_home: Path):
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("---\nname: a\ndescription: d\ntools: Read\n---\nYou are a.\n")
    env = environment(None, fresh_home, WEFT_LOCAL_DISCOVERY="0")
    done = await weft("context", "--text", "--agent", "a", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "You are a." in text and "You are Weft" not in text and "1 of Weft's own" in text
    assert (await weft("context", "--cwd", "/nowhere", cwd=tmp_path, env=env)).returncode == 1


async def test_in_a_session_the_command_says_how_full_the_window_is(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("memory of the project\n")
    async with session(tmp_path, ["one"], model="claude-sonnet-4-5") as (connection, _):
        await turn(connection, "hello")
        text = ended(await turn(connection, "/context")).text
    assert "of 200,000 tokens" in text
    assert str(tmp_path / "CLAUDE.md") in text and "tool manuals" in text and "base" in text
