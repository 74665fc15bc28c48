"""The editor as one more place where the person answers: first answer counts, the other closes."""

from pathlib import Path

import anyio
import pytest

from tests.integration.ide.desk import CALC, Desk
from weft.agent.asks import Asks
from weft.agent.editor import EditorSeat
from weft.protocols.ide.values import Accepted, Mention, Position, Rejected
from weft.schema.commands import PermissionAnswered
from weft.schema.content import ToolUse, text_of
from weft.schema.display import DiffView
from weft.schema.events import AgentEvent, AskWithdrawn, Notice, PermissionAsked
from weft.testing.tool_context import fake_tool_context
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

PROPOSAL = CALC.replace("a + b", "a + b  # sum")


class Session:
    """What the seat needs of a session, and what came out of it."""

    def __init__(self, folder: Path, env: dict[str, str], *, auto: bool = False) -> None:
        self.events: list[AgentEvent] = []
        self.asks = Asks(self.events.append, frozenset(("permission",)))
        self.work = IdeWorkspace(LocalWorkspace((folder,)), hidden=lambda path: path.endswith(".env"))
        self.seat = EditorSeat(
            self.work, cwd=folder, env=env, auto=auto, emit=self.events.append, answer=self.asks.answer
        )
        self.asks.tap(self.seat.see)
        self.answers: list[PermissionAnswered | None] = []

    async def attached(self) -> None:
        while self.work.link is None or not self.work.link.tools:
            await anyio.sleep(0.002)

    async def ask(self, path: Path) -> None:
        event = PermissionAsked(
            request_id=self.asks.next_id(),
            use=ToolUse("t1", "Edit", {}),
            preview=(DiffView(str(path), CALC, PROPOSAL),),
        )
        self.answers.append(await self.asks.permission(event))


def environment(desk: Desk) -> dict[str, str]:
    return {"HOME": str(Path.home()), **desk.server.environment}


@pytest.mark.parametrize(("outcome", "behavior"), [(Accepted(PROPOSAL), "allow"), (Rejected(), "deny")])
async def test_an_answer_in_the_editor_is_the_persons_answer(tmp_path: Path, outcome, behavior: str) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            session = Session(tmp_path, environment(desk))
            async with session.seat, anyio.create_task_group() as group:
                await session.attached()
                group.start_soon(session.ask, desk.file)
                await desk.pending(1)
                desk.server.toolbox.diffs.decide(desk.server.toolbox.diffs.pending()[0].id, outcome)
                while not session.answers:
                    await anyio.sleep(0.002)
            (answer,) = session.answers
            assert answer is not None and answer.behavior == behavior
            assert AskWithdrawn(request_id="ask_1", reason="answered") in session.events


async def test_an_answer_elsewhere_closes_the_editors_view(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            session = Session(tmp_path, environment(desk))
            async with session.seat, anyio.create_task_group() as group:
                await session.attached()
                group.start_soon(session.ask, desk.file)
                await desk.pending(1)
                session.asks.answer(PermissionAnswered("ask_1", "allow"))
                await desk.pending(0)
            assert [answer and answer.behavior for answer in session.answers] == ["allow"]


async def test_an_editor_that_goes_away_leaves_the_question_to_the_terminal(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            session = Session(tmp_path, environment(desk))
            async with session.seat, anyio.create_task_group() as group:
                await session.attached()
                group.start_soon(session.ask, desk.file)
                await desk.pending(1)
                for agent in desk.server.agents:
                    agent.end()
                await desk.pending(0)
                assert session.answers == []
                session.asks.answer(PermissionAnswered("ask_1", "deny"))


async def test_the_editor_is_found_by_folder_only_when_asked_and_chosen_by_ide(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            env = {"HOME": str(Path.home())}
            plain = Session(tmp_path, env)
            async with plain.seat:
                listed = await plain.seat.command("")
                assert plain.work.link is None and f"1. Weft (port {desk.server.port}): {tmp_path}" in listed
                assert await plain.seat.command("7") == "There is no editor '7'. /ide lists them."
                assert await plain.seat.command("1") == "Attached to Weft."
                assert plain.work.link is not None and (await plain.seat.command("")).startswith("*")
                assert await plain.seat.command("off") == "Weft is no longer attached."
                while plain.work.link is not None:
                    await anyio.sleep(0.002)
            asked = Session(tmp_path, env, auto=True)
            async with asked.seat:
                await asked.attached()
            assert Notice(text="Weft is attached.", tag="ide") in asked.events


async def test_what_is_looked_at_and_pointed_at_goes_with_the_next_prompt(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            session = Session(tmp_path, environment(desk))
            async with session.seat:
                await session.attached()
                desk.editor.select("calc.py", Position(0, 4), Position(0, 7))
                desk.editor.mention(Mention(path=str(desk.file), first_line=1, last_line=1))
                desk.editor.mention(Mention(path=str(tmp_path / ".env")))
                while not (session.work.link and session.work.link.selection):
                    await anyio.sleep(0.002)
                assert "line 1 of" in text_of(session.seat.context()) and session.seat.context() == ()
                assert session.seat.mentions() == "@calc.py#L2" and session.seat.mentions() == ""
                await session.seat.command("context off")
                desk.editor.select("calc.py", Position(0, 0), Position(0, 3))
                await anyio.sleep(0.05)
                assert session.seat.context() == ()


async def test_the_model_gets_the_editors_tools_and_hidden_files_stay_hidden(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            (tmp_path / ".env").write_text("x")
            session = Session(tmp_path, environment(desk))
            async with session.seat:
                assert session.seat.tools() == ()
                await session.attached()
                tools = {tool.name: tool for tool in session.seat.tools()}
                assert sorted(tools) == ["mcp__ide__getDiagnostics", "mcp__ide__getOpenEditors", "mcp__ide__openFile"]
                assert session.seat.tools() is session.seat.tools()
                context = fake_tool_context(
                    session.work, cwd=tmp_path, allowed=lambda name, value: not str(value["file_path"]).endswith(".env")
                )

                async def run(name: str, **arguments: object) -> str:
                    tool = tools[f"mcp__ide__{name}"]
                    return str((await tool.run(tool.decode(arguments), context)).content)

                assert await run("getOpenEditors") == "No file is open."
                assert await run("openFile", file_path="calc.py", start_text="add") == "calc.py is open in Weft."
                selection = await desk.editor.selection()
                assert selection is not None and selection.text == "add"
                desk.editor.select(".env", Position(0, 0), Position(0, 0))
                assert await run("getOpenEditors") == str(desk.file)
                assert await run("getDiagnostics", uri="calc.py") == "No problems are known."
                assert all(tool.manual and tool.input_schema["type"] == "object" for tool in tools.values())
