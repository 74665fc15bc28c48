"""Hooks at the rarer moments of a session: each fires with its fields, and what it decides has its effect."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.driving import ended, session, turn
from tests.integration.test_session_hooks import BYPASS, fired, project, recording
from weft.connect.local import LocalConnection
from weft.connect.port import Connection
from weft.schema.commands import InputGiven, PermissionAnswered, Prompt, SetModel
from weft.schema.content import text_of
from weft.schema.events import AgentEvent, InputRequested, Notice, PermissionAsked, SessionChanged, TurnEnded
from weft.testing.scripted import Fail, call


async def until(ready: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not ready():
            await anyio.sleep(0.01)


def rows(tmp_path: Path, event: str) -> list[dict[str, Any]]:
    log = tmp_path / "hooks.log"
    return [row for row in fired(tmp_path) if row["hook_event_name"] == event] if log.exists() else []


async def test_a_file_that_a_hook_names_is_told_of_when_a_command_changes_it(tmp_path: Path):
    cwd = project(tmp_path)
    (cwd / ".env").write_text("A=1\n")
    hook = {"type": "command", "command": f"tee -a {tmp_path}/hooks.log >/dev/null; echo"}
    settings = json.dumps({"hooks": {"FileChanged": [{"matcher": ".env|.envrc", "hooks": [hook]}]}})
    script = [
        call("Bash", command="echo A=2 > .env; touch .envrc other"),
        call("Bash", command="rm .envrc"),
        "done",
    ]
    async with session(cwd, script, settings=settings, **BYPASS) as (connection, _):
        await turn(connection, "go")
    told = [(Path(row["file_path"]).name, row["event"]) for row in rows(tmp_path, "FileChanged")]
    assert sorted(told) == [(".env", "change"), (".envrc", "add"), (".envrc", "unlink")]


async def test_files_changed_by_others_are_seen_while_the_session_waits_also_those_that_a_hook_asked_for(
    tmp_path: Path,
):
    cwd = project(tmp_path)
    watch = json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": ["deep/one.txt"]}})
    log = {"type": "command", "command": f"tee -a {tmp_path}/hooks.log >/dev/null"}
    hooks: dict[str, Any] = {
        "SessionStart": [{"hooks": [{"type": "command", "command": f"echo '{watch}'"}]}],
        "FileChanged": [{"matcher": "*", "hooks": [log]}],
    }
    async with session(cwd, ["hi", "again"], settings=json.dumps({"hooks": hooks})) as (connection, _):
        await turn(connection, "go")
        await turn(connection, "once more")
        (cwd / "deep").mkdir()
        (cwd / "deep" / "one.txt").write_text("1")
        await until(lambda: bool(rows(tmp_path, "FileChanged")))
    assert rows(tmp_path, "FileChanged")[0]["file_path"] == str(cwd / "deep" / "one.txt")


async def test_a_settings_file_that_changes_is_told_of_with_its_source(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("ConfigChange",))
    write = call("Bash", command="mkdir -p .claude; echo '{}' > .claude/settings.local.json")
    async with session(cwd, [write, "done"], settings=settings, **BYPASS) as (
        connection,
        _,
    ):
        await turn(connection, "go")
    (row,) = rows(tmp_path, "ConfigChange")
    assert (row["source"], Path(row["file_path"]).name) == ("local_settings", "settings.local.json")


async def test_a_message_is_told_of_before_the_stop_and_a_failure_instead_of_it(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("MessageDisplay", "Stop", "StopFailure"))
    script = ["Fine.", Fail("authentication_failed", "no key", 401)]
    async with session(cwd, script, settings=settings) as (connection, _):
        await turn(connection, "one")
        last = ended(await turn(connection, "two"))
    shown, stop, failure = fired(tmp_path)
    assert [row["hook_event_name"] for row in (shown, stop, failure)] == ["MessageDisplay", "Stop", "StopFailure"]
    assert (shown["delta"], shown["final"], shown["index"]) == ("Fine.", True, 0)
    assert shown["turn_id"] and shown["message_id"] and shown["prompt_id"] == stop["prompt_id"]
    assert stop["background_tasks"] == [] and stop["stop_hook_active"] is False
    assert (failure["error"], last.reason) == ("authentication_failed", "error") and "no key" in str(
        failure["error_details"]
    )


async def test_a_command_that_becomes_a_prompt_is_told_of_and_may_be_refused(tmp_path: Path):
    cwd = project(tmp_path)
    (cwd / ".claude" / "commands").mkdir(parents=True)
    (cwd / ".claude" / "commands" / "greet.md").write_text("Greet $ARGUMENTS warmly.\n")
    settings = recording(tmp_path, ("UserPromptExpansion",), "echo from the hook")
    async with session(cwd, ["hi"], settings=settings) as (connection, provider):
        await turn(connection, "/greet the whole team")
    (row,) = fired(tmp_path)
    assert (row["expansion_type"], row["command_name"]) == ("slash_command", "greet")
    assert row["command_args"] == "the whole team" and "Greet the whole team warmly." in str(row["prompt"])
    assert "from the hook" in text_of(provider.requests[0].messages[-1].content)
    refusing = recording(tmp_path, ("UserPromptExpansion",), "echo not that >&2; exit 2")
    async with session(cwd, [], settings=refusing) as (connection, provider):
        last = ended(await turn(connection, "/greet me"))
    assert last.reason == "hook_stopped" and "not that" in last.text and provider.requests == []


async def test_a_switch_of_the_model_is_told_of_before_and_after_and_may_be_refused(tmp_path: Path):
    cwd = project(tmp_path)
    line = 'case "$(tail -1 ' + str(tmp_path) + '/hooks.log)" in *PreModel*secret*) echo no >&2; exit 2;; esac'
    settings = recording(tmp_path, ("PreModelSwitch", "PostModelSwitch"), line)
    async with session(cwd, ["hi"], settings=settings) as (connection, _):
        await connection.send(SetModel("other-model"))
        await connection.send(SetModel("secret-model"))
        events = await turn(connection, "go")
    told = [(row["hook_event_name"], row["new_model"]) for row in fired(tmp_path)]
    assert told == [
        ("PreModelSwitch", "other-model"),
        ("PostModelSwitch", "other-model"),
        ("PreModelSwitch", "secret-model"),
    ]
    assert any("stays other-model: [" in event.text for event in events if isinstance(event, Notice))
    assert [event.info.model for event in events if isinstance(event, SessionChanged)] == ["other-model"]


async def test_a_list_of_things_to_do_tells_what_is_new_and_what_is_done(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("TaskCreated", "TaskCompleted"))

    def todos(*states: str) -> Any:
        rows = [{"content": f"step {n}", "status": state, "activeForm": "x"} for n, state in enumerate(states, 1)]
        return call("TodoWrite", todos=rows)

    script = [todos("in_progress", "pending"), todos("completed", "in_progress"), "done"]
    async with session(cwd, script, settings=settings) as (connection, _):
        await turn(connection, "go")
        await until(lambda: len(rows(tmp_path, "TaskCreated") + rows(tmp_path, "TaskCompleted")) == 3)
    created = sorted((row["task_id"], row["task_subject"]) for row in rows(tmp_path, "TaskCreated"))
    assert created == [("1", "step 1"), ("2", "step 2")]
    assert [row["task_subject"] for row in rows(tmp_path, "TaskCompleted")] == ["step 1"]


async def test_set_up_hooks_run_first_and_only_where_they_are_asked_for(tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("Setup", "SessionStart"))
    async with session(cwd, ["hi"], settings=settings) as (connection, _):
        await turn(connection, "go")
    async with session(cwd, ["hi"], settings=settings, setup="init") as (connection, _):
        await turn(connection, "go")
    assert [row["hook_event_name"] for row in fired(tmp_path)] == ["SessionStart", "Setup", "SessionStart"]
    assert fired(tmp_path)[1]["trigger"] == "init"


async def test_instructions_of_a_folder_are_told_of_when_a_file_below_it_is_read(tmp_path: Path):
    cwd = project(tmp_path)
    (cwd / "below" / "CLAUDE.md").write_text("Here be dragons.\n")
    (cwd / "below" / "a.txt").write_text("a\n")
    settings = recording(tmp_path, ("InstructionsLoaded",))
    async with session(cwd, [call("Read", file_path=str(cwd / "below" / "a.txt")), "ok"], settings=settings) as (
        connection,
        _,
    ):
        await turn(connection, "go")
        await until(lambda: len(rows(tmp_path, "InstructionsLoaded")) == 2)
    first, second = fired(tmp_path)
    assert (first["load_reason"], second["load_reason"]) == ("session_start", "nested_traversal")
    assert second["file_path"] == str(cwd / "below" / "CLAUDE.md")


async def asked(
    connection: Connection, prompt: str, answer: Callable[[PermissionAsked], PermissionAnswered]
) -> TurnEnded:
    await connection.send(Prompt(prompt))
    async for event in connection.events():
        if isinstance(event, PermissionAsked):
            await connection.send(answer(event))
        if isinstance(event, TurnEnded):
            return event
    raise AssertionError("the events ended")


async def test_a_folder_that_a_person_adds_and_a_request_for_permission_are_told_of(tmp_path: Path):
    cwd = project(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    settings = recording(tmp_path, ("DirectoryAdded", "PermissionRequest"))
    script = [call("Write", file_path=str(other / "x"), content="x"), "ok"]
    async with session(cwd, script, settings=settings, asks=frozenset({"permission"})) as (connection, _):
        await asked(connection, "go", lambda e: PermissionAnswered(e.request_id, "allow", directories=(str(other),)))
        await until(lambda: bool(rows(tmp_path, "DirectoryAdded")))
    assert rows(tmp_path, "DirectoryAdded")[0]["directory"] == str(other)
    (request,) = rows(tmp_path, "PermissionRequest")
    updates = request["permission_suggestions"]
    assert updates and {update["type"] for update in updates} == {"addRules"}
    assert updates[0]["rules"][0]["toolName"] == "Edit"


async def test_a_permission_hook_cannot_put_an_input_in_place_that_a_rule_denies(tmp_path: Path):
    cwd = project(tmp_path)
    secret = cwd / "secret.txt"
    decision = {"behavior": "allow", "updatedInput": {"file_path": str(secret), "content": "x"}}
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
    hook = {"type": "command", "command": f"echo '{answer}'"}
    rules = {"deny": ["Edit(secret.txt)"]}
    settings = json.dumps({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}, "permissions": rules})
    script = [call("Write", file_path=str(cwd / "fine.txt"), content="x"), "ok"]
    async with session(cwd, script, settings=settings) as (connection, _):
        last = ended(await turn(connection, "go"))
    assert len(last.denials) == 1 and not secret.exists()


@pytest.mark.parametrize(
    ("line", "action", "content"),
    [
        ("exit 0", "accept", {"name": "person"}),
        ("echo no >&2; exit 2", "decline", {}),
        (
            """echo '{"hookSpecificOutput":{"action":"accept","content":{"name":"hook"}}}'""",
            "accept",
            {"name": "hook"},
        ),
    ],
)
async def test_a_servers_question_may_be_answered_by_a_hook(line: str, action: str, content: Any, tmp_path: Path):
    cwd = project(tmp_path)
    settings = recording(tmp_path, ("Elicitation", "ElicitationResult"), line)
    async with session(cwd, [], settings=settings, asks=frozenset({"input"})) as (connection, _):
        assert isinstance(connection, LocalConnection)
        asks = connection.session.asks

        def answer(event: AgentEvent) -> None:
            if isinstance(event, InputRequested):
                asks.answer(InputGiven(event.request_id, "accept", {"name": "person"}))

        asks.tap(answer)
        given = await asks.input("srv", "Who?", {"type": "object"}, None)
    assert given is not None and (given.action, given.content or {}) == (action, content)
    first, last = fired(tmp_path)
    assert (first["mcp_server_name"], first["requested_schema"], first["mode"]) == ("srv", {"type": "object"}, "form")
    assert (last["hook_event_name"], last["mcp_server_name"]) == ("ElicitationResult", "srv")
