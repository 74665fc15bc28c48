"""The agent in this process and in a child: the same conversation gives the same events, field by field."""

import os
import re
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import msgspec
import pytest

import weft
from weft.connect.child import ChildConnection
from weft.errors import SessionError, UsageError
from weft.schema.content import Json, Text, Thinking, ToolUse
from weft.schema.events import AgentEvent, PermissionAsked, PlanProposed, QuestionAsked, Streamed, TurnEnded
from weft.schema.messages import ThinkingConfig
from weft.schema.wire import to_builtins
from weft.sdk.client import TurnFailed
from weft.testing.fake_anthropic import FakeAnthropic
from weft.testing.fake_server import Answer, Cue, fail
from weft.testing.scripted import ScriptedProvider
from weft.tools.port import PlanVerdict, Tool, ToolContext

LIMIT = 60


@weft.tool(read_only=True)
async def add(a: int, b: Annotated[int, msgspec.Meta(description="the other")] = 1) -> int:
    """Adds two numbers."""
    return a + b


@weft.tool(kind="edit", group="edit")
async def keep(text: str, where: Literal["here", "there"] = "here") -> str:
    """Keeps a text."""
    return f"kept {text} {where}"


@weft.tool(read_only=True)
async def burst(times: list[int]) -> str:
    """Always fails."""
    raise ValueError(f"no {len(times)}")


class Point(msgspec.Struct):
    x: int
    y: int


def use(name: str, number: int = 1, **given: object) -> ToolUse:
    return ToolUse(f"toolu_{number}", name, given)


async def allow(asked: PermissionAsked) -> bool | str:
    return True if asked.use.name == "keep" else "not this one"


async def answer(asked: QuestionAsked) -> dict[str, str]:
    return {asked.questions[0].question: "Blue"}


async def approve(proposed: PlanProposed) -> PlanVerdict:
    return PlanVerdict("step" in proposed.plan, mode="acceptEdits")


async def watch(given: Json, tool_use_id: str | None) -> Json | None:
    if given["hook_event_name"] == "PreToolUse" and given["tool_name"] == "Read":
        return {"decision": "block", "reason": "a hook says no"}
    return None


async def stumble(given: Json, tool_use_id: str | None) -> Json | None:
    raise RuntimeError("the hook broke")


COLOURS = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
QUESTION = {"questions": [{"question": "Colour?", "header": "C", "options": COLOURS}]}
HELPER = {"helper": {"description": "helps", "prompt": "You help.", "tools": ["Read"]}}
FILE = {"file_path": "{cwd}/a.txt"}

CASES: dict[str, tuple[Sequence[Cue], dict[str, Any]]] = {
    "text": (["Hello there, you."], {}),
    "thinking": (
        [[Thinking("hm, let me see", "sig"), Text("done")]],
        {"thinking": ThinkingConfig("enabled", 4000), "model": "claude-sonnet-4-5"},
    ),
    "effort": (["ok"], {"thinking": ThinkingConfig("adaptive", effort="high"), "model": "opus"}),
    "own tools": ([use("add", 1, a=2, b=3), use("add", 2, a=1), "five"], {"own_tools": [add]}),
    "wrong arguments": (
        [
            [use("add", 1, a="two"), use("add", 2), use("add", 3, a=1, c=2), use("keep", 4, text="x", where="nowhere")],
            "sorry",
        ],
        {"own_tools": [add, keep]},
    ),
    "a tool that fails": ([use("burst", times=[1, 2]), "sorry"], {"own_tools": [burst]}),
    "permission": (
        [use("keep", 1, text="it"), use("Write", 2, file_path="{cwd}/x", content="x"), "so be it"],
        {"own_tools": [keep], "permission": allow},
    ),
    "nobody to ask": ([use("keep", 1, text="it"), "so be it"], {"own_tools": [keep]}),
    "built-in tools": (
        [use("Read", 1, **FILE), use("Edit", 2, **FILE, old_string="one", new_string="1"), "edited"],
        {"mode": "acceptEdits"},
    ),
    "hooks": (
        [use("Read", 1, **FILE), use("add", 2, a=1), "ok"],
        {"own_tools": [add], "hooks": {"PreToolUse": [watch], "PostToolUse": [stumble], "Stop": [watch]}},
    ),
    "structured output": ([use("StructuredOutput", x=1, y=2)], {"output": Point}),
    "questions and plans": (
        [use("AskUserQuestion", 1, **QUESTION), use("ExitPlanMode", 2, plan="one step"), "go"],
        {"questions": answer, "plans": approve, "mode": "plan"},
    ),
    "todos": (
        [use("TodoWrite", todos=[{"content": "look", "status": "pending", "activeForm": "looking"}]), "ok"],
        {},
    ),
    "an agent": (
        [
            use("Agent", description="ask", prompt="read it", subagent_type="helper", run_in_background=False),
            use("Read", 2, **FILE),
            "it says one",
            "the helper says one",
        ],
        {"agents": HELPER},
    ),
    "a budget": ([use("Read", 1, **FILE), "never"], {"max_budget": 0.0000001, "model": "claude-sonnet-4-5"}),
    "a limit of turns": ([use("Read", 1, **FILE), "never"], {"max_turns": 1}),
    "an error": ([fail(403, "authentication_failed", "no")], {}),
    "a retry": ([fail(529, "overloaded", "busy"), "ok"], {"env": {"WEFT_MAX_RETRIES": "1"}}),
    "system prompt and tools": (
        ["short"],
        {"system_prompt": "Be short.", "append_system_prompt": "Very.", "tools": ["Read"], "own_tools": [add]},
    ),
}


def placed(cue: Any, folder: Path) -> Any:
    if isinstance(cue, list):
        return [placed(one, folder) for one in cue]
    if isinstance(cue, ToolUse):
        given = {
            key: item.replace("{cwd}", str(folder)) if isinstance(item, str) else item
            for key, item in cue.input.items()
        }
        return ToolUse(cue.id, cue.name, given)
    return cue


async def play(
    cues: Sequence[Cue], wanted: dict[str, Any], folder: Path, home: Path, *, process: bool
) -> tuple[list[AgentEvent], list[Json]]:
    """The events of one turn, and the requests that the model got."""
    shutil.rmtree(folder, ignore_errors=True)
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("one\ntwo\n")
    async with FakeAnthropic([placed(cue, project) for cue in cues]) as server:
        env = {**server.env(), "HOME": str(home), "WEFT_HOME": str(folder / "weft"), "WEFT_MAX_RETRIES": "0"}
        fields = {**wanted, "env": {**env, **wanted.get("env", {})}}
        events: list[AgentEvent] = []
        with anyio.fail_after(LIMIT):
            async with weft.Client(weft.Options(cwd=project, process=process, **fields)) as client:
                await client.send("go")
                async for event in client.receive():
                    events.append(event)
        return events, [asked.body for asked in server.requests]


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{8,32}\b")
_TIMES = re.compile(r"duration|seconds|_ms$|_at$|Ms$|first_token|delay", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Without what differs from run to run: ids and times."""
    if isinstance(value, dict):
        return {key: 0 if _TIMES.search(str(key)) else plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _ID.sub("<id>", value) if isinstance(value, str) else value


def told(events: list[AgentEvent]) -> list[Any]:
    """Events as data. Neighbouring pieces of one block are joined: where the network cut them is chance."""
    rows: list[Any] = []
    for event in events:
        row = plain(to_builtins(event))
        delta = row.get("delta") if isinstance(event, Streamed) else None
        before = rows[-1].get("delta") if rows and rows[-1]["event"] == "Streamed" else None
        if delta and before and delta["type"] == before["type"] == "content_block_delta":
            key = next(iter(set(delta["delta"]) - {"type"}))
            if delta["index"] == before["index"] and key in before["delta"]:
                before["delta"][key] += delta["delta"][key]
                continue
        rows.append(row)
    return rows


@pytest.mark.parametrize("name", CASES)
async def test_the_events_and_the_requests_are_the_same_either_way(name: str, tmp_path: Path, fresh_home: Path):
    cues, wanted = CASES[name]
    here, asked_here = await play(cues, wanted, tmp_path / "x", fresh_home, process=False)
    there, asked_there = await play(cues, wanted, tmp_path / "x", fresh_home, process=True)
    rows_here, rows_there = told(here), told(there)
    assert [row["event"] for row in rows_there] == [row["event"] for row in rows_here]
    for row_there, row_here in zip(rows_there, rows_here, strict=True):
        assert row_there == row_here
    assert plain(asked_there) == plain(asked_here)


Ways = pytest.mark.parametrize("process", [False, True], ids=["one process", "two"])


def options(server: FakeAnthropic, cwd: Path, home: Path, **more: Any) -> weft.Options:
    return weft.Options(cwd=cwd, env={**server.env(), "HOME": str(home), "WEFT_MAX_RETRIES": "0"}, **more)


@Ways
async def test_a_conversation_is_kept_and_changed_on_the_way(process: bool, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic(["one", "two", "three"]) as server:
        chosen = options(server, tmp_path, fresh_home, process=process)
        with anyio.fail_after(LIMIT):
            async with weft.Client(chosen) as client:
                assert (await client.ask("a")).text == "one"
                await client.set_mode("plan")
                await client.set_model("claude-haiku-4-5")
                await client.set_thinking(2000)
                assert (await client.ask("b")).text == "two"
                session_id = client.info.session_id
                assert (client.info.mode, client.info.model) == ("plan", "claude-haiku-4-5")
                assert client.info.thinking.budget == 2000
            again = msgspec.structs.replace(chosen, resume=session_id)
            answer = await weft.query("c", again)
        assert (answer.text, answer.session_id) == ("three", session_id)
        assert server.requests[1].body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        assert len(server.requests[2].body["messages"]) == 5
        assert [row.session_id for row in weft.list_sessions(tmp_path)] == [session_id]


@Ways
async def test_an_interrupt_cancels_the_function_that_runs(process: bool, tmp_path: Path, fresh_home: Path):
    began, ended = anyio.Event(), anyio.Event()

    @weft.tool(read_only=True)
    async def wait() -> str:
        """Waits for ever."""
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return "never"

    async with FakeAnthropic([use("wait"), "after"]) as server:
        with anyio.fail_after(LIMIT):
            async with weft.Client(options(server, tmp_path, fresh_home, process=process, own_tools=[wait])) as client:
                await client.send("go")
                seen: list[AgentEvent] = []

                async def interrupt() -> None:
                    await began.wait()
                    await client.interrupt()

                async with anyio.create_task_group() as group:
                    group.start_soon(interrupt)
                    async for event in client.receive():
                        seen.append(event)
                await ended.wait()
                ended_with = seen[-1]
                assert isinstance(ended_with, TurnEnded)
                assert (ended_with.reason, ended_with.interrupted) == ("cancelled", "tools")
                assert (await client.ask("and now?")).text == "after"


@Ways
async def test_hooks_see_the_end_of_the_session(process: bool, tmp_path: Path, fresh_home: Path):
    seen: list[str] = []

    async def note(given: Json, tool_use_id: str | None) -> None:
        seen.append(str(given["hook_event_name"]))

    async with FakeAnthropic(["hello"]) as server:
        hooks = {event: [note] for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
        with anyio.fail_after(LIMIT):
            await weft.query("hi", options(server, tmp_path, fresh_home, process=process, hooks=hooks))
    assert seen == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


@Ways
async def test_what_cannot_be_opened_raises_the_same_error(process: bool, tmp_path: Path, fresh_home: Path):
    async with FakeAnthropic([]) as server:
        with anyio.fail_after(LIMIT):
            for kind, more in ((SessionError, {"resume": "nobody"}), (UsageError, {"mode": "sleepy"})):
                with pytest.raises(kind):
                    await weft.query("hi", options(server, tmp_path, fresh_home, process=process, **more))
            with pytest.raises(TurnFailed):
                await weft.query("hi", options(server, tmp_path, fresh_home, process=process, max_budget=0.0))


async def test_a_child_that_dies_ends_its_turn_and_goes_on_where_it_was(tmp_path: Path, fresh_home: Path):
    slow = Answer(blocks=(Text("word " * 2000),), piece=5, delay=0.05)
    async with FakeAnthropic(["hello", slow, "still here"]) as server:
        with anyio.fail_after(LIMIT):
            async with weft.Client(options(server, tmp_path, fresh_home, process=True)) as client:
                await client.ask("hi")
                session_id = client.info.session_id
                await client.send("go on")
                killed = False
                async for event in client.receive():
                    if isinstance(event, Streamed) and not killed:
                        killed = True
                        connection = client.connection
                        assert isinstance(connection, ChildConnection)
                        assert connection.child is not None
                        connection.child.signal(signal.SIGKILL)
                    if isinstance(event, TurnEnded):
                        assert event.reason == "error"
                        assert "exit code -9" in str(event.error)
                assert (await client.ask("are you there?")).text == "still here"
                assert client.info.session_id == session_id
        assert "hello" in str(server.requests[-1].body["messages"])


async def test_a_client_that_is_cancelled_leaves_no_process_behind(tmp_path: Path, fresh_home: Path):
    async def never(given: Json, tool_use_id: str | None) -> None:
        await anyio.sleep_forever()

    slow = Answer(blocks=(Text("word " * 2000),), piece=5, delay=0.05)
    pid = 0
    async with FakeAnthropic([slow]) as server:
        chosen = options(server, tmp_path, fresh_home, process=True, hooks={"SessionEnd": [never]})
        with anyio.fail_after(LIMIT), anyio.CancelScope() as scope:
            async with weft.Client(chosen) as client:
                await client.send("go")
                async for event in client.receive():
                    if isinstance(event, Streamed):
                        connection = client.connection
                        assert isinstance(connection, ChildConnection)
                        assert connection.child is not None
                        pid = connection.child.pid
                        scope.cancel()
    assert pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_lives_in_this_process_alone_is_refused_at_once(tmp_path: Path):
    @weft.tool
    async def nosy(context: ToolContext) -> str:
        """Wants to know where it is."""
        return str(context.session.cwd)

    class Own(Tool[Any]):
        name = "Own"

    for more in ({"provider": ScriptedProvider([])}, {"own_tools": [nosy]}, {"own_tools": [Own()]}):
        with pytest.raises(UsageError):
            await weft.query("hi", weft.Options(cwd=tmp_path, process=True, **more))
