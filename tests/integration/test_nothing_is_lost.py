"""What people said and did stays: prompts of turns that never began, files of conversations that were closed since."""

import json
from pathlib import Path

import anyio

from tests.integration.driving import ended, session, turn
from weft.connect.port import Connection
from weft.schema.commands import Cancel, Prompt, Rewind
from weft.schema.content import text_of
from weft.schema.events import AgentEvent, Compacted, Notice, PromptAdded, ToolCalled, ToolEnded, TurnEnded, TurnStarted
from weft.sessions import resume
from weft.sessions.rewind import points
from weft.sessions.store import FileStore
from weft.surfaces.terminal.model import Model
from weft.surfaces.terminal.screens.rewind import changes_since
from weft.testing.scripted import call


def hooks(**commands: str) -> str:
    return json.dumps(
        {"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in commands.items()}}
    )


async def cancelled(connection: Connection, text: str) -> list[AgentEvent]:
    """A turn that is cancelled as soon as it has begun."""
    await connection.send(Prompt(text, id="11111111-1111-4111-8111-111111111111"))
    seen: list[AgentEvent] = []
    async for event in connection.events():
        seen.append(event)
        if isinstance(event, TurnStarted):
            await connection.send(Cancel())
        if isinstance(event, TurnEnded):
            assert event.reason == "cancelled"
            break
    return seen


async def replayed(connection: Connection, model: Model) -> None:
    """Feeds the model what a resumed conversation shows again, up to the end of a turn that asks no model."""
    await connection.send(Prompt("/status"))
    async for event in connection.events():
        model.apply(event)
        if isinstance(event, TurnEnded):
            return


async def test_a_prompt_whose_turn_was_cancelled_before_it_began_is_kept_and_sent_with_the_next(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("memory of the project")
    slow = hooks(SessionStart="sleep 60")
    async with session(tmp_path, [], settings=slow) as (connection, _):
        events = await cancelled(connection, "mend the parser")
        session_id = connection.info.session_id
    shown = [text_of(event.content) for event in events if isinstance(event, PromptAdded)]
    assert shown == ["mend the parser", "[Request interrupted by user]"]
    async with session(tmp_path, ["ok"], resume=session_id) as (connection, provider):
        await turn(connection, "go on")
    said = text_of(provider.requests[0].messages[0].content)
    assert said.index("mend the parser") < said.index("interrupted by user") < said.index("go on")
    assert said.count("memory of the project") == 1
    row = next(row for row in FileStore(Path.home() / ".weft").list(tmp_path))
    assert row.first_prompt == "mend the parser"


async def test_a_prompt_that_no_hook_has_let_pass_is_shown_again_and_sent_to_nobody(tmp_path: Path):
    slow = hooks(UserPromptSubmit="sleep 60")
    async with session(tmp_path, [], settings=slow) as (connection, _):
        await cancelled(connection, "the secret word")
        session_id = connection.info.session_id
    async with session(tmp_path, ["ok"], resume=session_id, replay=True) as (connection, provider):
        events = await turn(connection, "go on")
    shown = [text_of(event.content) for event in events if isinstance(event, PromptAdded) and event.replay]
    assert shown == ["the secret word"]
    assert "the secret word" not in text_of(provider.requests[0].messages[0].content)


async def test_a_shell_line_that_was_stopped_is_told_and_leaves_the_memory_files_for_the_first_prompt(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text("memory of the project")
    options = {"shortcuts": True, "mode": "acceptEdits", "allowed_tools": ("Bash",)}
    async with session(tmp_path, ["ok"], **options) as (connection, provider):
        await connection.send(Prompt("!touch began; sleep 60"))
        with anyio.fail_after(60):
            while not (tmp_path / "began").exists():
                await anyio.lowlevel.checkpoint()
        await connection.send(Cancel())
        async for event in connection.events():
            if isinstance(event, TurnEnded):
                assert event.reason == "cancelled"
                break
        await turn(connection, "!echo printed")
        await turn(connection, "what did it print?")
    said = text_of(provider.requests[0].messages[0].content)
    assert "touch began" in said and "Stopped by the person" in said
    assert "printed" in said and said.count("memory of the project") == 1


async def test_compacting_says_what_was_done_and_what_was_kept(tmp_path: Path):
    async with session(tmp_path, ["one", "two", "A summary.", "three"]) as (connection, provider):
        empty = await turn(connection, "/compact")
        await turn(connection, "always use tabs")
        await turn(connection, "and be brief")
        events = await turn(connection, "/compact the names")
        await turn(connection, "go on")
    assert ended(empty).text == "There is nothing to make shorter yet."
    done = next(event for event in events if isinstance(event, Compacted) and event.state == "done")
    text = ended(events).text
    assert f"about {done.before:,} tokens before, {done.after:,} after" in text
    assert "the first request" in text and "1 later message of yours" in text
    assert "keep in particular: the names" in text_of(provider.requests[2].messages[-1].content)
    sent = text_of(provider.requests[3].messages[0].content)
    assert "always use tabs" in sent and "and be brief" in sent and "A summary." in sent


async def test_a_compaction_that_a_hook_forbids_says_so(tmp_path: Path):
    settings = hooks(PreCompact="exit 2")
    async with session(tmp_path, ["one"], settings=settings) as (connection, _):
        await turn(connection, "hello")
        events = await turn(connection, "/compact")
    assert "hook" in ended(events).text and not any(isinstance(event, Compacted) for event in events)


async def test_a_reopened_conversation_shows_what_going_back_would_change_and_goes_back(tmp_path: Path):
    one, two, three = (tmp_path / name for name in ("one.txt", "two.txt", "three.txt"))
    one.write_text("old\n")
    script = [
        call("Edit", file_path=str(one), old_string="old", new_string="new"),
        "edited",
        "nothing to do",
        call("Task", description="write", prompt="write two"),
        call("Write", file_path=str(two), content="two\n"),
        "written",
        call("ApplyPatch", patch=f"*** Begin Patch\n*** Add File: {three}\n+three\n*** End Patch\n"),
        "all done",
    ]
    options = {"mode": "acceptEdits", "tools": ("Edit", "Write", "ApplyPatch", "Task")}
    async with session(tmp_path, script, **options) as (connection, _):
        for text in ("edit it", "only talk", "let it be written"):
            await turn(connection, text)
        session_id = connection.info.session_id
    assert (one.read_text(), two.read_text(), three.read_text()) == ("new\n", "two\n", "three\n")
    for extra in ({"fork": True}, {}):
        for file, content in ((one, "new\n"), (two, "two\n"), (three, "three\n")):
            file.write_text(content)
        async with session(tmp_path, [], resume=session_id, replay=True, **options, **extra) as (connection, _):
            model = Model()
            await replayed(connection, model)
            first, talk, last = model.prompts()
            views = {Path(view.path).name: view for view in changes_since(model.entries, first.id)}
            assert set(views) == {"one.txt", "two.txt", "three.txt"}
            assert (views["one.txt"].before, views["one.txt"].after) == ("new\n", "old\n")
            for prompt in (talk, last):
                changed = {Path(view.path).name for view in changes_since(model.entries, prompt.id)}
                assert changed == {"two.txt", "three.txt"}
            await connection.send(Rewind(talk.id, files=True, conversation=True))
            async for event in connection.events():
                if isinstance(event, Notice) and event.tag == "rewind":
                    assert "files are as they were" in event.text
                    break
            assert one.read_text() == "new\n" and not two.exists() and not three.exists()


async def test_a_subagents_work_is_shown_again_below_the_call_that_started_it(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha")
    script = [call("Task", id="t1", description="d", prompt="p"), call("Read", file_path="a.txt"), "found", "done"]
    async with session(tmp_path, script) as (connection, _):
        live = await turn(connection, "go")
        session_id = connection.info.session_id
    async with session(tmp_path, [], resume=session_id, replay=True) as (connection, _):
        again = await turn(connection, "/status")

    def calls(events: list[AgentEvent]) -> list[tuple[str, str | None]]:
        return [(event.name, event.parent) for event in events if isinstance(event, ToolEnded)]

    assert calls(again) == calls(live) == [("Read", "t1"), ("Task", None)]
    assert all(event.replay for event in again if isinstance(event, ToolCalled | ToolEnded))


async def test_points_to_go_back_to_outlive_a_compaction(tmp_path: Path):
    async with session(tmp_path, ["one", "two", "A summary.", "three"]) as (connection, _):
        for text in ("first", "second", "/compact", "third"):
            await turn(connection, text)
        session_id = connection.info.session_id
    store = FileStore(Path.home() / ".weft")
    assert [point.text for point in points(store.load(session_id))][-1] == "third"
    assert resume.load(store, session_id, tmp_path).history[-1].text == "three"
