"""Every field of an agent's definition, by what it does in a real session."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.driving import ended, session, turn
from tests.integration.test_agents import define, last_results
from tests.integration.test_cli import environment, weft
from weft.agent.definitions import find
from weft.agent.folders import Where
from weft.schema.content import ToolResult, text_of
from weft.schema.events import (
    AgentEvent,
    Notice,
    Retrying,
    SessionChanged,
    TaskChanged,
    TodosChanged,
    ToolEnded,
    TurnEnded,
)
from weft.schema.messages import Request
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.scripted import Fail, call


def task(name: str, **more: Any) -> Any:
    return call("Task", description="work", prompt="do it", subagent_type=name, **more)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x = 1\n")
    define(folder, "apart", "isolation: worktree")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "begin")
    return folder


def result_of(events: list[AgentEvent], name: str = "Task") -> ToolEnded:
    return next(event for event in events if isinstance(event, ToolEnded) and event.name == name)


# --- model -------------------------------------------------------------------------------------------------------


async def test_a_list_of_models_is_tried_in_its_order_and_the_one_that_answers_stays(tmp_path: Path):
    define(tmp_path, "picky", "model: [claude-opus-4-5, claude-sonnet-4-5, claude-haiku-4-5]")
    script = [
        task("picky"),
        Fail("overloaded", "too many", 529),
        Fail("model_not_found", "no such model", 404),
        call("Glob", pattern="*"),
        "did it",
        "Done.",
    ]
    async with session(tmp_path, script, model="claude-sonnet-4-6") as (connection, provider):
        events = await turn(connection, "go")
    asked = [request.model for request in provider.requests]
    assert asked == [
        "claude-sonnet-4-6",
        "claude-opus-4-5",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-haiku-4-5",
        "claude-sonnet-4-6",
    ]
    told = [event.fallback for event in events if isinstance(event, Retrying)]
    assert told == ["claude-sonnet-4-5", "claude-haiku-4-5"]
    assert set(ended(events).models) >= {"claude-haiku-4-5", "claude-sonnet-4-6"}


async def test_a_model_that_nobody_knows_is_the_sessions_own_and_one_that_is_busy_is_not(tmp_path: Path):
    define(tmp_path, "other", "model: GPT-9 (copilot)")
    script = [task("other"), Fail("model_not_found", "no", 404), "did it", "Done."]
    async with session(tmp_path, script, model="claude-sonnet-4-6") as (connection, provider):
        await turn(connection, "go")
    assert [request.model for request in provider.requests][1:3] == ["GPT-9 (copilot)", "claude-sonnet-4-6"]
    script = [task("other"), Fail("overloaded", "busy", 529), "Done."]
    async with session(tmp_path, script, model="claude-sonnet-4-6") as (connection, provider):
        events = await turn(connection, "go")
    assert result_of(events).result.is_error and len(provider.requests) == 3


async def test_the_main_agents_list_of_models_holds_too(tmp_path: Path):
    define(tmp_path, "main", "model: [claude-opus-4-5, claude-haiku-4-5]")
    script = [Fail("overloaded", "busy", 529), "hello"]
    async with session(tmp_path, script, agent="main") as (connection, provider):
        events = await turn(connection, "go")
    assert [request.model for request in provider.requests] == ["claude-opus-4-5", "claude-haiku-4-5"]
    assert ended(events).text == "hello"


async def test_effort_and_turns_of_a_subagent_are_its_own(tmp_path: Path):
    define(tmp_path, "short", "effort: low\nmaxTurns: 1")
    script = [task("short"), call("Glob", pattern="*"), "Done."]
    async with session(tmp_path, script) as (connection, provider):
        events = await turn(connection, "go")
    assert provider.requests[1].thinking.effort == "low" and provider.requests[0].thinking.effort is None
    assert "maximum number of turns (1)" in text_of(result_of(events).result.content)
    assert ended(events).reason == "completed"


# --- isolation ---------------------------------------------------------------------------------------------------


async def test_an_agent_with_a_worktree_changes_nothing_here_and_says_where_its_work_is(repository: Path):
    script = [
        task("apart"),
        call("Edit", file_path="src/a.py", old_string="1", new_string="2"),
        call("Bash", command="pwd && git status --porcelain"),
        "I changed it.",
        "Done.",
    ]
    options: dict[str, Any] = {"mode": "acceptEdits", "allowed_tools": ("Bash",)}
    async with session(repository, script, **options) as (connection, provider):
        events = await turn(connection, "go")
    (tree,) = (repository / ".weft" / "worktrees").iterdir()
    assert (repository / "src" / "a.py").read_text() == "x = 1\n"
    assert (tree / "src" / "a.py").read_text() == "x = 2\n"
    assert git(repository, "status", "--porcelain") == ""
    end = result_of(events)
    said = text_of(end.result.content)
    assert "I changed it." in said and str(tree) in said and f"weft/{tree.name}" in said
    assert isinstance(end.data, dict) and end.data["worktreePath"] == str(tree)
    assert f"Working folder: {tree}" in "\n".join(part.text for part in provider.requests[1].system)
    assert str(tree) in text_of(last_results(provider.requests[3])[0].content)
    assert connection.info.cwd == str(repository)


async def test_a_worktree_in_which_nothing_was_done_is_gone_with_its_branch(repository: Path):
    script = [task("apart"), call("Read", file_path="src/a.py"), "It says 1.", "Done."]
    async with session(repository, script) as (connection, _):
        events = await turn(connection, "go")
    assert text_of(result_of(events).result.content) == "It says 1."
    assert list((repository / ".weft" / "worktrees").iterdir()) == []
    assert "weft/" not in git(repository, "branch", "--list")
    assert git(repository, "worktree", "list").count("\n") == 1


async def test_a_commit_in_a_worktree_keeps_it(repository: Path):
    command = "git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m empty"
    script = [task("apart"), call("Bash", command=command), "Committed.", "Done."]
    async with session(repository, script, allowed_tools=("Bash",)) as (connection, _):
        events = await turn(connection, "go")
    assert "1 commit)" in text_of(result_of(events).result.content)
    assert "weft/" in git(repository, "branch", "--list")


@pytest.mark.parametrize(
    "rule", ["Read(src/**)", "Read(/src/**)", "Read(a.py)", "Read(//{root}/src/**)", "Read(./src/a.py)"]
)
async def test_what_a_rule_denies_in_the_project_is_denied_in_a_worktree_of_it(repository: Path, rule: str):
    settings = json.dumps({"permissions": {"deny": [rule.format(root=str(repository).lstrip("/"))]}})
    script = [task("apart"), call("Read", file_path="src/a.py"), "No.", "Done."]
    async with session(repository, script, settings=settings, mode="acceptEdits") as (connection, provider):
        await turn(connection, "go")
    (result,) = last_results(provider.requests[2])
    assert result.is_error and "denied" in text_of(result.content)


async def test_from_a_worktree_the_project_itself_is_read_and_not_written(repository: Path):
    target = repository / "src" / "a.py"
    script = [
        task("apart"),
        call("Read", file_path=str(target)),
        call("Edit", file_path=str(target), old_string="1", new_string="2"),
        "No.",
        "Done.",
    ]
    async with session(repository, script, mode="acceptEdits") as (connection, provider):
        await turn(connection, "go")
    assert not last_results(provider.requests[2])[0].is_error
    assert last_results(provider.requests[3])[0].is_error
    assert target.read_text() == "x = 1\n"


async def test_outside_a_repository_an_agent_that_wants_a_worktree_is_refused_with_a_reason(tmp_path: Path):
    define(tmp_path, "apart", "isolation: worktree")
    async with session(tmp_path, [task("apart"), "Done."]) as (connection, _):
        events = await turn(connection, "go")
    end = result_of(events)
    assert end.result.is_error and "not in a git repository" in text_of(end.result.content)


async def test_a_repository_without_a_commit_is_an_answer_too_also_in_the_background(tmp_path: Path):
    define(tmp_path, "apart", "isolation: worktree\nbackground: true")
    git(tmp_path, "init", "-q")
    async with session(tmp_path, [task("apart"), "Waiting.", "I heard."], trust=True) as (connection, provider):
        await turn(connection, "go")
        async for event in connection.events():
            if isinstance(event, TurnEnded):
                break
    assert "has failed" in text_of(provider.requests[-1].messages[-1].content)
    assert "no commit yet" in text_of(provider.requests[-1].messages[-1].content)


# --- mcpServers ---------------------------------------------------------------------------------------------------

ADD = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}


def server(tmp_path: Path) -> dict[str, Any]:
    spec = json.dumps({"tools": [ADD], "pid_file": str(tmp_path / "pid")})
    arguments = ["-m", "weft.testing.mcp_server", spec]
    return {"type": "stdio", "command": sys.executable, "args": arguments, "protocol": "legacy"}


def runs(pid: int) -> bool:
    """Whether that process is still the server; one that has ended and waits to be reaped is not."""
    try:
        return b"mcp_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


async def test_a_subagents_own_servers_are_started_for_it_alone_and_end_with_it(tmp_path: Path):
    define(tmp_path, "counter", f"tools: Read\nmcpServers: {json.dumps([{'sums': server(tmp_path)}])}")
    script = [task("counter"), call("mcp__sums__add"), "Counted.", "Done."]
    options: dict[str, Any] = {"allowed_tools": ("mcp__sums",)}
    async with session(tmp_path, script, **options) as (connection, provider):
        events = await turn(connection, "go")
    assert not (tmp_path / "pid").exists()
    assert any(isinstance(event, Notice) and "not trusted" in event.text for event in events)
    async with session(tmp_path, script, trust=True, **options) as (connection, provider):
        events = await turn(connection, "go")
        pid = int((tmp_path / "pid").read_text())
        with anyio.fail_after(60):
            while runs(pid):
                await anyio.lowlevel.checkpoint()
        offered = [[tool.name for tool in request.tools] for request in provider.requests]
    assert "mcp__sums__add" in offered[1] and "Read" in offered[1] and "Bash" not in offered[1]
    assert not any("mcp__sums" in name for name in offered[0] + offered[3])
    assert not last_results(provider.requests[2])[0].is_error
    assert text_of(result_of(events).result.content) == "Counted."


async def test_a_server_of_an_agent_that_does_not_start_is_told_and_the_work_is_done_without_it(tmp_path: Path):
    broken = {"type": "stdio", "command": "/nowhere/at/all"}
    define(tmp_path, "counter", f"mcpServers: {json.dumps([{'sums': broken}, 'missing'])}")
    script = [task("counter"), "I did without.", "Done."]
    async with session(tmp_path, script, trust=True) as (connection, _):
        events = await turn(connection, "go")
    said = [event.text for event in events if isinstance(event, Notice)]
    assert any("The server sums of the agent counter is failed" in text for text in said)
    assert any("names the server missing" in text for text in said)
    assert text_of(result_of(events).result.content) == "I did without."


# --- color, handoffs, who may ask ------------------------------------------------------------------------------------


async def test_the_colour_of_an_agent_is_in_its_tasks_and_in_the_list_of_agents(tmp_path: Path):
    define(tmp_path, "blue", "color: blue\nargument-hint: '[file]'\nmodel: haiku")
    async with session(tmp_path, [task("blue"), "did it", "Done."]) as (connection, _):
        events = await turn(connection, "go")
        (info,) = [one for one in connection.info.staff if one.name == "blue"]
    assert {event.task.color for event in events if isinstance(event, TaskChanged)} == {"blue"}
    assert (info.color, info.argument_hint, info.model, info.origin) == ("blue", "[file]", "haiku", "project")


async def test_handoffs_are_offered_after_the_main_agents_turn_and_what_they_type_does_it(tmp_path: Path):
    handoffs = [
        {"label": "Build it", "agent": "builder", "prompt": "Build the plan, see @notes.txt", "send": True},
        {"label": "Just go", "agent": "agent", "prompt": "Go."},
        {"label": "Gone", "agent": "nobody", "prompt": "?"},
    ]
    define(tmp_path, "planner", f"handoffs: {json.dumps(handoffs)}", "You plan.")
    define(tmp_path, "builder", "tools: Read, Edit\nmodel: claude-haiku-4-5\neffort: high", "You build.")
    (tmp_path / "notes.txt").write_text("use bricks")
    script = ["The plan.", "Built.", "Later.", "As ever."]
    async with session(tmp_path, script, agent="planner") as (connection, provider):
        assert connection.info.main_agent == "planner"
        first = await turn(connection, "plan")
        (offer,) = [event for event in first if isinstance(event, Notice) and event.tag == "handoffs"]
        assert isinstance(offer.data, list)
        rows = {row["label"]: row for row in offer.data}
        assert set(rows) == {"Build it", "Just go"} and rows["Build it"]["send"] is True
        second = await turn(connection, rows["Build it"]["typed"])
        session_id = connection.info.session_id
    assert [event.info.main_agent for event in second if isinstance(event, SessionChanged)] == ["builder"]
    assert not any(isinstance(event, Notice) and event.tag == "handoffs" for event in second)
    before, after = provider.requests
    assert "You plan." in before.system[0].text and "You build." in after.system[0].text
    assert [tool.name for tool in after.tools] == ["Edit", "Read"]
    assert (after.model, after.thinking.effort) == ("claude-haiku-4-5", "high")
    said = text_of(after.messages[-1].content)
    assert "Build the plan" in said and "use bricks" in said and "/agent" not in said
    assert after.messages[:1] == before.messages
    async with session(tmp_path, script[2:], resume=session_id) as (connection, provider):
        await turn(connection, "go on")
        await turn(connection, rows["Just go"]["typed"])
    assert "You build." in provider.requests[0].system[0].text
    assert "You build." not in provider.requests[1].system[0].text
    assert len(provider.requests[1].tools) > 5


async def test_an_agent_hidden_from_people_or_from_the_model_is_so(tmp_path: Path):
    define(tmp_path, "inner", "user-invocable: no")
    define(tmp_path, "outer", "disable-model-invocation: yes")
    define(tmp_path, "shy", "infer: false")
    async with session(tmp_path, ["ok", "ok"]) as (connection, provider):
        await turn(connection, "@agent-outer and @agent-inner, please")
        listed = {one.name for one in connection.info.staff}
    assert "outer" in listed and "shy" in listed and "inner" not in listed
    said = text_of(provider.requests[0].messages[0].content)
    assert "- inner: helps" in said and "- outer" not in said and "- shy" not in said
    assert "asks for the agent outer: give this work" in said


# --- a context of its own --------------------------------------------------------------------------------------------


async def test_a_subagent_knows_the_memory_files_and_only_the_agents_that_it_may_ask(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("memory of the project")
    below = tmp_path / "below"
    below.mkdir()
    (below / "AGENTS.md").write_text("memory of the folder below")
    (below / "a.txt").write_text("alpha")
    define(tmp_path, "worker", "agents: Explore")
    read = call("Read", file_path=str(below / "a.txt"))
    script = [task("worker"), read, "did it", read, "Done."]
    async with session(tmp_path, script) as (connection, provider):
        await turn(connection, "go")

    def said(request: Request) -> str:
        return "\n".join(text_of(message.content) + str(message.content) for message in request.messages)

    first = text_of(provider.requests[1].messages[0].content)
    assert "memory of the project" in first and "- Explore:" in first and "- Plan:" not in first
    assert "memory of the folder below" in said(provider.requests[2])
    assert "memory of the folder below" not in said(provider.requests[3])
    assert "memory of the folder below" in said(provider.requests[4])


async def test_the_folder_and_the_list_of_a_subagent_are_not_the_sessions(tmp_path: Path):
    (tmp_path / "below").mkdir()
    todos = [{"content": "its own", "status": "pending", "activeForm": "doing"}]
    script = [
        call("TodoWrite", todos=[{"content": "the session's", "status": "pending", "activeForm": "doing"}]),
        task("general-purpose"),
        [call("Bash", command="cd below"), call("TodoWrite", todos=todos)],
        call("Bash", command="pwd"),
        "did it",
        call("Bash", command="pwd"),
        "Done.",
    ]
    async with session(tmp_path, script, allowed_tools=("Bash",)) as (connection, provider):
        events = await turn(connection, "go")
        listed = ended(await turn(connection, "/todos")).text
    changes = [(event.parent is None, event.todos[0].content) for event in events if isinstance(event, TodosChanged)]
    assert changes == [(True, "the session's"), (False, "its own")]
    assert listed == "[ ] the session's"

    def printed(request: Request) -> str:
        return next(text_of(block.content) for block in request.messages[-1].content if isinstance(block, ToolResult))

    assert printed(provider.requests[4]).strip().endswith("below")
    assert printed(provider.requests[6]).strip() == str(tmp_path)


async def test_a_definition_keeps_what_nobody_knows(tmp_path: Path):
    define(tmp_path, "odd", "future: [1, 2]\ntarget: vscode")
    define(tmp_path, "cloud", "target: github-copilot")
    found = find(Where.of_this_machine(tmp_path))
    assert found["odd"].fields["future"] == ["1", "2"] or found["odd"].fields["future"] == [1, 2]
    assert "cloud" not in found


@pytest.mark.parametrize("name", ["setting", "given", "filed", "github", "prompted", "mine"])
async def test_an_agent_from_any_place_can_be_the_main_one(tmp_path: Path, fresh_home: Path, name: str):
    """From settings, the command line, `.claude`, `.github`, a prompt file, and the person's own folder."""
    (fresh_home / ".weft" / "agents").mkdir(parents=True)
    own = {"agents": {"setting": {"description": "d", "prompt": "I am setting."}}}
    (fresh_home / ".weft" / "settings.json").write_text(json.dumps(own))
    (fresh_home / ".weft" / "agents" / "m.md").write_text("---\nname: mine\ndescription: d\n---\nI am mine.\n")
    given = json.dumps({"given": {"description": "d", "prompt": "I am given."}})
    define(tmp_path, "filed", "", "I am filed.")
    for folder, file, head in (
        ("agents", "github.agent.md", "description: d"),
        ("prompts", "p.prompt.md", "name: prompted\nagent: agent\ndescription: d"),
    ):
        (tmp_path / ".github" / folder).mkdir(parents=True)
        words = "I am github." if folder == "agents" else "I am prompted."
        (tmp_path / ".github" / folder / file).write_text(f"---\n{head}\n---\n{words}\n")
    async with FakeAnthropic(["ok"]) as server:
        env = environment(server, fresh_home)
        done = await weft("-p", "hi", "--agent", name, "--agents", given, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        system = json.dumps(server.requests[0].body["system"])
    assert f"I am {name}." in system and "You are Weft" not in system
