"""Agents through whole turns: their own tools, words and hooks, and never more permission than who started them."""

import json
from pathlib import Path

import anyio

from tests.integration.driving import ended, session, turn, until_end
from weft.permissions.trust import accept
from weft.schema.content import Text, ToolResult, text_of
from weft.schema.events import MessageDone, TaskChanged, ToolCalled, ToolEnded
from weft.schema.messages import Request
from weft.testing.scripted import Cue, Line, ScriptedProvider, call, say


def define(tmp_path: Path, name: str, head: str, body: str = "You help.") -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: helps\n{head}\n---\n{body}\n")


def last_results(request: Request) -> list[ToolResult]:
    return [block for block in request.messages[-1].content if isinstance(block, ToolResult)]


async def test_a_subagent_in_a_wider_mode_still_may_not_what_its_parent_may_not(tmp_path: Path):
    define(tmp_path, "bold", "permissionMode: bypassPermissions")
    target = tmp_path / "x"
    script = [
        call("Task", description="write", prompt="write x", subagent_type="bold"),
        call("Write", file_path=str(target), content="x"),
        "I was refused.",
        "Done.",
    ]
    async with session(tmp_path, script, trust=True) as (connection, provider):
        events = await turn(connection, "go")
    assert not target.exists()
    assert [(denial.tool_name) for denial in ended(events).denials] == ["Write"]
    assert last_results(provider.requests[2])[0].is_error


async def test_an_agent_below_a_planning_agent_cannot_write_though_the_session_may(tmp_path: Path):
    define(tmp_path, "careful", "permissionMode: plan")
    target = tmp_path / "x"
    script = [
        call("Task", description="plan", prompt="plan x", subagent_type="careful"),
        call("Task", description="write", prompt="write x", subagent_type="general-purpose"),
        call("Write", file_path=str(target), content="x"),
        "I may not.",
        "Nor I.",
        "Done.",
    ]
    async with session(tmp_path, script, trust=True, mode="acceptEdits") as (connection, _provider):
        await turn(connection, "go")
    assert not target.exists()


async def test_an_agent_below_one_with_few_tools_has_no_more_than_those(tmp_path: Path):
    define(tmp_path, "reader", "tools: Read, Task\nagents: general-purpose")
    script = [
        call("Task", description="read", prompt="read", subagent_type="reader"),
        [
            call("Task", id="t1", description="more", prompt="more", subagent_type="general-purpose"),
            call("Task", id="t2", description="other", prompt="other", subagent_type="Explore"),
        ],
        "Looked.",
        "Reported.",
        "Done.",
    ]
    async with session(tmp_path, script, trust=True) as (connection, provider):
        await turn(connection, "go")
    assert [tool.name for tool in provider.requests[1].tools] == ["Read", "Task"]
    assert [tool.name for tool in provider.requests[2].tools] == ["Read", "Task"]
    answers = {result.tool_use_id: text_of(result.content) for result in last_results(provider.requests[3])}
    assert answers["t1"] == "Looked." and "may only give work to: general-purpose" in answers["t2"]


async def test_agents_asked_for_in_one_reply_work_side_by_side_and_their_costs_are_rolled_up(tmp_path: Path):
    both = anyio.Event()
    inside = 0

    def work(request: Request) -> Cue:
        return Line((Text(f"did {text_of(request.messages[0].content)}"),))

    async def gate() -> None:
        """The first piece of each agent's answer waits until both have been asked."""
        nonlocal inside
        if 2 <= len(provider.requests) <= 3:
            inside = max(inside, len(provider.requests) - 1)
            if inside == 2:
                both.set()
            await both.wait()

    tasks = [call("Task", id=f"t{n}", description=f"part {n}", prompt=f"part {n}") for n in (1, 2)]
    provider = ScriptedProvider([tasks, work, work, "Done."], gate=gate)
    async with session(tmp_path, provider) as (connection, _):
        events = await turn(connection, "go")
    assert inside == 2
    answers = {result.tool_use_id: text_of(result.content) for result in last_results(provider.requests[-1])}
    assert "part 1" in answers["t1"] and "part 2" in answers["t2"]
    assert ended(events).usage.input_tokens == 400
    ends = [event.task for event in events if isinstance(event, TaskChanged) and event.task.state == "completed"]
    assert sorted(task.tool_use_id for task in ends) == ["t1", "t2"]
    assert {event.parent for event in events if isinstance(event, MessageDone)} == {None, "t1", "t2"}


async def test_an_agents_own_hooks_run_for_it_alone_and_only_from_a_trusted_folder(tmp_path: Path):
    log = tmp_path / "log"
    hooks = {
        "PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": f"echo own >> {log}"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": f"echo stop >> {log}"}]}],
    }
    define(tmp_path, "hooked", f"hooks: {json.dumps(hooks)}")
    read = call("Read", file_path=str(tmp_path / ".claude" / "agents" / "hooked.md"))
    script = [[read], call("Task", description="d", prompt="p", subagent_type="hooked"), [read], "ok", "Done."]
    async with session(tmp_path, script) as (connection, _):
        await turn(connection, "go")
    assert not log.exists()
    async with session(tmp_path, script, trust=True) as (connection, _):
        await turn(connection, "go")
    assert log.read_text().split() == ["own", "stop"]
    accept(tmp_path)
    async with session(tmp_path, script) as (connection, _):
        await turn(connection, "go")
    assert log.read_text().split() == ["own", "stop"] * 2
    define(tmp_path, "hooked", f"hooks: {json.dumps(hooks)}", "You changed.")
    async with session(tmp_path, script) as (connection, _):
        await turn(connection, "go")
    assert log.read_text().split() == ["own", "stop"] * 2


async def test_the_main_agent_has_its_tools_words_skills_memory_and_first_prompt(tmp_path: Path):
    skill = tmp_path / ".claude" / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: tidies\n---\nSweep the corners.\n")
    memory = tmp_path / ".claude" / "agent-memory" / "keeper"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("The tests need a database.\n")
    head = (
        "tools: Read, Grep\nskills: tidy\nmemory: project\ninitialPrompt: Look around first.\neffort: high\nmaxTurns: 1"
    )
    define(tmp_path, "keeper", head, "You keep this house.")
    async with session(tmp_path, [call("Read", file_path="x")], agent="keeper") as (connection, provider):
        events = await turn(connection, "hello")
    request = provider.requests[0]
    system = "\n".join(part.text for part in request.system)
    assert "You keep this house." in system and "Sweep the corners." in system
    assert "The tests need a database." in system
    assert [tool.name for tool in request.tools] == ["Grep", "Read"]
    assert request.thinking.effort == "high"
    said = text_of(request.messages[0].content)
    assert said.index("Look around first.") < said.index("hello")
    assert ended(events).reason == "max_turns"


async def test_a_command_that_asks_for_an_agent_is_done_by_it_and_its_answer_is_the_reply(tmp_path: Path):
    folder = tmp_path / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "survey.md").write_text(
        "---\ndescription: looks\ncontext: fork\nagent: Explore\n---\nLook at $ARGUMENTS.\n"
    )
    script = [say("There are two files."), "As I said."]
    async with session(tmp_path, script) as (connection, provider):
        events = await turn(connection, "/survey the folder")
        await turn(connection, "what did you find?")
    assert ended(events).text == "There are two files."
    assert "Look at the folder." in text_of(provider.requests[0].messages[-1].content)
    assert "Bash" not in [tool.name for tool in provider.requests[0].tools]
    roles = [(message.role, text_of(message.content)) for message in provider.requests[1].messages]
    assert roles[1] == ("assistant", "There are two files.")


async def test_a_skill_with_a_context_of_its_own_runs_as_an_agent(tmp_path: Path):
    skill = tmp_path / ".claude" / "skills" / "deep"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: deep\ndescription: digs\ncontext: fork\n---\nDig for it.\n")
    script = [call("Skill", skill="deep"), "Found it.", "Done."]
    async with session(tmp_path, script, allowed_tools=("Skill",)) as (connection, provider):
        events = await turn(connection, "go")
    assert len(provider.requests[1].messages) == 1
    assert "Dig for it." in text_of(provider.requests[1].messages[0].content)
    ends = [event for event in events if isinstance(event, ToolEnded) and event.name == "Skill"]
    assert text_of(ends[0].result.content) == "Found it."


async def test_an_agent_that_works_in_the_background_lets_the_turn_end_and_is_told_of_later(tmp_path: Path):
    define(tmp_path, "slow", "background: true")
    script = [
        call("Task", description="later", prompt="later", subagent_type="slow"),
        "One of them.",
        "One of them.",
        "I heard.",
    ]
    async with session(tmp_path, script, trust=True) as (connection, provider):
        first = await turn(connection, "go")
        assert ended(first).reason == "completed"
        second = await until_end(connection)
    assert "has finished" in text_of(provider.requests[-1].messages[-1].content)
    assert ended(second).text == "I heard."
    assert any(isinstance(event, ToolCalled) for event in first)
