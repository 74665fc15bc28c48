"""A whole session with an attached editor: what the person does there is what the agent works with."""

from pathlib import Path

import anyio
import pytest

from tests.integration.driving import ended, session, turn, until_end
from tests.integration.ide.desk import CALC, Desk
from weft.connect.port import Connection
from weft.protocols.ide.values import Accepted, Mention, Position, Rejected
from weft.schema.commands import PermissionAnswered, Prompt
from weft.schema.content import text_of
from weft.schema.events import Notice, PermissionAsked, ToolEnded
from weft.schema.messages import Request
from weft.testing.scripted import call

PROPOSAL = CALC.replace("a + b", "a + b  # sum")


def said(request: Request) -> str:
    return "\n".join(text_of(message.content) for message in request.messages)


async def attached(connection: Connection) -> None:
    async for event in connection.events():
        if isinstance(event, Notice) and event.tag == "ide":
            assert event.text == "Weft is attached."
            return


def options(desk: Desk) -> dict[str, object]:
    return {
        "asks": frozenset(("permission",)),
        "may_attach_ide": True,
        "env": dict(desk.server.environment),
    }


def edit(path: Path) -> list[object]:
    return [
        call("Read", file_path=str(path)),
        call("Edit", file_path=str(path), old_string="a + b", new_string="a + b  # sum"),
        "Done.",
    ]


@pytest.mark.parametrize(
    ("outcome", "text", "reason"),
    [
        (Accepted(PROPOSAL), PROPOSAL, "completed"),
        (Accepted(PROPOSAL.replace("sum", "mine")), PROPOSAL.replace("sum", "mine"), "completed"),
        (Rejected(), CALC, "cancelled"),
    ],
    ids=["accepted", "retouched", "rejected"],
)
async def test_an_edit_is_decided_in_the_editor(tmp_path: Path, outcome, text: str, reason: str) -> None:
    async with Desk(tmp_path) as desk, session(tmp_path, edit(desk.file), **options(desk)) as (connection, _):
        await attached(connection)
        await connection.send(Prompt("add a comment"))
        await desk.pending(1)
        (diff,) = desk.server.toolbox.diffs.pending()
        assert (diff.path, diff.before, diff.after) == (str(desk.file), CALC, PROPOSAL)
        desk.server.toolbox.diffs.decide(diff.id, outcome)
        events = await until_end(connection)
        assert ended(events).reason == reason and desk.file.read_text() == text
        if text not in (PROPOSAL, CALC):
            (result,) = (event for event in events if isinstance(event, ToolEnded) and event.name == "Edit")
            assert "changed the text before accepting" in text_of(result.result.content)
        assert len(desk.server.toolbox.diffs) == 0


async def test_an_edit_that_is_decided_in_the_terminal_closes_in_the_editor(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk, session(tmp_path, edit(desk.file), **options(desk)) as (connection, _):
        await attached(connection)
        await connection.send(Prompt("add a comment"))
        async for event in connection.events():
            if isinstance(event, PermissionAsked):
                await desk.pending(1)
                await connection.send(PermissionAnswered(event.request_id, "allow"))
                break
        assert ended(await until_end(connection)).reason == "completed" and desk.file.read_text() == PROPOSAL
        await desk.pending(0)


async def test_diffs_stay_in_the_terminal_when_the_person_likes_that(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        more = {**options(desk), "settings": '{"diffTool": "terminal", "shareIdeContext": false}'}
        async with session(tmp_path, edit(desk.file), **more) as (connection, model):
            await attached(connection)
            desk.editor.select("calc.py", Position(0, 4), Position(0, 7))
            await anyio.sleep(0.05)
            await connection.send(Prompt("add a comment"))
            async for event in connection.events():
                if isinstance(event, PermissionAsked):
                    assert len(desk.server.toolbox.diffs) == 0
                    await connection.send(PermissionAnswered(event.request_id, "allow"))
                    break
            assert ended(await until_end(connection)).reason == "completed"
            assert "has marked" not in said(model.requests[0])


async def test_the_selection_and_mentions_go_with_the_prompt_once(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk, session(tmp_path, ["one", "two"], **options(desk)) as (connection, model):
        await attached(connection)
        desk.editor.select("calc.py", Position(0, 4), Position(0, 7))
        desk.editor.mention(Mention(path=str(desk.file), first_line=1, last_line=1))
        async for event in connection.events():
            if isinstance(event, Notice) and event.tag == "at_mentioned":
                break
        await anyio.sleep(0.05)
        await turn(connection, "what is this?")
        first = said(model.requests[0])
        assert f"line 1 of {desk.file}" in first and "return a + b" in first
        await turn(connection, "and now?")
        assert said(model.requests[1]).count("has marked") == 1


async def test_the_model_is_offered_the_editors_tools_and_ide_lists_editors(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk, session(tmp_path, ["hi"], **options(desk)) as (connection, model):
        await attached(connection)
        listed = ended(await turn(connection, "/ide"))
        assert listed.reason == "local_command" and f"* 1. Weft (port {desk.server.port})" in listed.text
        await turn(connection, "hello")
        names = {tool.name for tool in model.requests[0].tools}
        assert {"mcp__ide__openFile", "mcp__ide__getDiagnostics", "mcp__ide__getOpenEditors"} <= names


async def test_a_denied_file_that_the_person_looks_at_is_not_told(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=secret\n")
    async with Desk(tmp_path) as desk:
        more = {**options(desk), "disallowed_tools": ("Read(./.env)",)}
        async with session(tmp_path, ["one"], **more) as (connection, model):
            await attached(connection)
            desk.editor.select(".env", Position(0, 0), Position(0, 10))
            await anyio.sleep(0.1)
            await turn(connection, "hello")
            told = said(model.requests[0])
            assert "hello" in told and "KEY=secret" not in told and "has marked" not in told
