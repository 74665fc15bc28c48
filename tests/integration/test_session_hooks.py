"""Hooks at the points of a session: each is fired, in order, with its fields; what it says reaches the model."""

import json
from pathlib import Path
from typing import Any

import anyio
import msgspec

from tests.integration.driving import ended, session, turn
from weft.schema.commands import Cancel, PermissionAnswered, Prompt
from weft.schema.content import Json, ToolResult, text_of
from weft.schema.events import PermissionAsked, TurnEnded
from weft.testing.scripted import call, say

EVENTS = (
    *("SetUpEnvironment", "SessionStart", "InstructionsLoaded", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    *("PostToolBatch", "Stop", "SessionEnd", "SubagentStart", "SubagentStop", "CwdChanged", "PreCompact"),
    *("PostCompact", "Notification"),
)


BYPASS: dict[str, Any] = {"mode": "bypassPermissions", "allow_bypass": True, "env": {"IS_SANDBOX": "1"}}


def recording(tmp_path: Path, events: tuple[str, ...] = EVENTS, line: str = "") -> str:
    """Settings in which every event writes its input to `hooks.log`."""
    log = tmp_path / "hooks.log"
    entry = {"hooks": [{"type": "command", "command": f"tee -a {log} >/dev/null; {line}", "timeout": 5}]}
    return json.dumps({"hooks": {event: [entry] for event in events}})


def fired(tmp_path: Path) -> list[Json]:
    return [json.loads(line) for line in (tmp_path / "hooks.log").read_text().splitlines()]


def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "below").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("Be brief.\n")
    return folder


async def test_the_hooks_of_a_run_come_in_the_documented_order_with_their_fields(tmp_path: Path):
    cwd = project(tmp_path)
    script = [call("Read", file_path=str(cwd / "CLAUDE.md")), "Done."]
    async with session(cwd, script, settings=recording(tmp_path)) as (connection, _provider):
        await turn(connection, "look")
    rows = fired(tmp_path)
    assert [row["hook_event_name"] for row in rows] == [
        *("SetUpEnvironment", "SessionStart", "InstructionsLoaded", "UserPromptSubmit"),
        *("PreToolUse", "PostToolUse", "PostToolBatch", "Stop", "SessionEnd"),
    ]
    by_name = {row["hook_event_name"]: row for row in rows}
    assert by_name["SessionStart"]["source"] == "startup"
    assert by_name["SessionEnd"]["reason"] == "other"
    assert by_name["InstructionsLoaded"]["file_path"] == str(cwd / "CLAUDE.md")
    assert by_name["InstructionsLoaded"]["memory_type"] == "Project"
    (batch,) = msgspec.convert(by_name["PostToolBatch"]["tool_calls"], list[dict[str, Any]])
    assert (batch["tool_name"], batch["tool_response"]["type"]) == ("Read", "text")
    assert all(row["session_id"] and row["cwd"] == str(cwd) and row["transcript_path"] for row in rows)


async def test_what_a_start_hook_prints_stands_before_the_first_prompt_and_only_there(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("SessionStart",), "echo the build is red")
    async with session(cwd, ["one", "two"], settings=settings) as (connection, provider):
        await turn(connection, "first")
        await turn(connection, "second")
    said = [text_of(message.content) for message in provider.requests[1].messages]
    assert "the build is red" in said[0] and said[0].index("the build is red") < said[0].index("first")
    assert "the build is red" not in said[2]


async def test_a_resumed_a_forked_and_a_cleared_conversation_say_so(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("SessionStart", "SessionEnd"))
    async with session(cwd, ["one"], settings=settings) as (connection, _):
        started = await turn(connection, "first")
    session_id = fired(tmp_path)[0]["session_id"]
    assert ended(started).reason == "completed"
    for extra in ({}, {"fork": True}):
        async with session(cwd, ["two"], settings=settings, resume=session_id, **extra) as (connection, _):
            await turn(connection, "again")
    async with session(cwd, [], settings=settings) as (connection, _):
        await turn(connection, "/clear")
    rows = [row.get("source") or row.get("reason") for row in fired(tmp_path)]
    assert rows == ["startup", "other", "resume", "other", "fork", "other", "startup", "clear", "clear", "other"]


async def test_compaction_is_told_before_and_after_and_starts_the_session_again(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("PreCompact", "PostCompact", "SessionStart"), "echo note")
    async with session(cwd, ["one", "A summary.", "two"], settings=settings) as (connection, provider):
        await turn(connection, "first")
        await turn(connection, "/compact the names")
        await turn(connection, "second")
    rows = fired(tmp_path)
    assert [row["hook_event_name"] for row in rows] == ["SessionStart", "PreCompact", "PostCompact", "SessionStart"]
    assert rows[1]["custom_instructions"] == "the names" and rows[1]["trigger"] == "manual"
    assert rows[3]["source"] == "compact"
    assert "note" in text_of(provider.requests[-1].messages[-1].content)


async def test_a_question_and_a_move_are_told_while_the_turn_goes_on(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("Notification", "CwdChanged"))
    script = [call("Write", file_path=str(cwd / "x"), content="x"), call("Bash", command="cd below"), "ok"]
    asks = frozenset({"permission"})
    async with session(cwd, script, settings=settings, asks=asks) as (connection, _):
        await connection.send(Prompt("go"))
        async for event in connection.events():
            if isinstance(event, PermissionAsked):
                await connection.send(PermissionAnswered(event.request_id, "allow"))
            if isinstance(event, TurnEnded):
                break
        with anyio.fail_after(30):
            while not (tmp_path / "hooks.log").exists() or len(fired(tmp_path)) < 2:
                await anyio.lowlevel.checkpoint()
    rows = {row["hook_event_name"]: row for row in fired(tmp_path)}
    assert rows["Notification"]["notification_type"] == "permission_prompt"
    assert rows["CwdChanged"]["old_cwd"] == str(cwd) and rows["CwdChanged"]["new_cwd"] == str(cwd / "below")


async def test_a_subagents_hooks_name_it_and_its_log(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("SubagentStart", "PreToolUse", "SubagentStop", "Stop"))
    read = call("Read", file_path=str(cwd / "CLAUDE.md"))
    script = [call("Task", description="look", prompt="look around"), read, "It is fine.", "Done."]
    async with session(cwd, script, settings=settings) as (connection, _):
        await turn(connection, "ask somebody")
    task, start, tool, stop, main = fired(tmp_path)
    assert tool["agent_id"] == start["agent_id"] and tool["agent_type"] == "general-purpose"
    assert "agent_id" not in task and "agent_id" not in main
    assert start["hook_event_name"] == "SubagentStart" and start["agent_type"] == "general-purpose"
    assert stop["hook_event_name"] == "SubagentStop" and stop["agent_id"] == start["agent_id"]
    assert stop["last_assistant_message"] == "It is fine."
    assert Path(str(stop["agent_transcript_path"])).is_file()


async def test_a_start_hook_that_hangs_can_be_left_by_a_cancel(tmp_path: Path):
    cwd = project(tmp_path)
    entry = {"hooks": [{"type": "command", "command": "sleep 1000", "timeout": 600}]}
    settings = json.dumps({"hooks": {"SessionStart": [entry]}})
    async with session(cwd, [say("never")], settings=settings) as (connection, provider):
        await connection.send(Prompt("go"))
        async for event in connection.events():
            if type(event).__name__ == "TurnStarted":
                await connection.send(Cancel())
            if isinstance(event, TurnEnded):
                assert event.reason == "cancelled"
                break
    assert provider.requests == []


async def test_a_hook_may_put_another_output_in_the_place_of_a_tools(tmp_path: Path):
    cwd = project(tmp_path)
    shapes: list[object] = [{"stdout": "other words", "stderr": ""}, "plain words", ["a list"]]
    said: list[str] = []
    for shape in shapes:
        answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": shape}})
        settings = recording(tmp_path, ("PostToolUse",), f"echo '{answer}'")
        async with session(cwd, [call("Bash", command="echo own"), "ok"], settings=settings) as (connection, provider):
            await turn(connection, "go")
        (result,) = [block for block in provider.requests[1].messages[-1].content if isinstance(block, ToolResult)]
        said.append(text_of(result.content))
    assert said == ["other words", "plain words", "own"]


async def test_a_hook_that_defers_ends_the_turn_and_names_the_call_that_did_not_run(tmp_path: Path):
    cwd = project(tmp_path)
    answer = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}'
    settings = recording(tmp_path, ("PreToolUse",), f"echo '{answer}'")
    script = [call("Write", id="toolu_1", file_path=str(cwd / "new"), content="x"), "later"]
    async with session(cwd, script, settings=settings, **BYPASS) as (connection, _):
        last = ended(await turn(connection, "write"))
        assert (last.reason, last.denials, (cwd / "new").exists()) == ("tool_deferred", (), False)
        assert last.deferred is not None and (last.deferred.id, last.deferred.name) == ("toolu_1", "Write")
        assert ended(await turn(connection, "and now")).text == "later"
