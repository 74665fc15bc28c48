"""Our agent's side against our editor's side, over a real socket."""

import json
import stat
from pathlib import Path

import anyio
import pytest

from tests.integration.ide.desk import CALC, Desk, link_of
from weft.errors import WorkspaceError
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.server import IdeServer
from weft.protocols.ide.answers import decode_json
from weft.protocols.ide.values import Accepted, Decision, Mention, Position, Rejected, Undecided
from weft.testing.tool_context import fake_tool_context
from weft.tools.edit import Edit, EditArgs
from weft.tools.read import Read, ReadArgs
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import choose, find_locks
from weft.workspace.ide.notes import mention_text
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

PROPOSAL = CALC.replace("a + b", "a + b  # sum")


async def until(condition) -> None:
    while not condition():
        await anyio.sleep(0.002)


async def test_the_lock_file_is_private_and_gone_when_the_editor_is(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            (path,) = (Path.home() / ".claude" / "ide").iterdir()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            lock = json.loads(path.read_text())
            assert lock["workspaceFolders"] == [str(tmp_path)] and lock["transport"] == "ws"
            assert path.name == f"{desk.server.port}.lock" and 10000 <= desk.server.port <= 65535
        assert not path.exists()


async def test_an_attached_agent_sees_the_twelve_tools_less_the_kernel(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            assert len(link_of(desk.work).tools) == 11
            assert desk.server.agents[0].host.agent_name == "weft"
            assert desk.server.agents[0].host.revision == "2025-11-25"


async def test_a_restarted_editor_has_the_same_port_and_token(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            first = desk.server.lock
        async with Desk(tmp_path) as desk:
            assert (desk.server.lock.port, desk.server.lock.token) == (first.port, first.token)


async def serve(editor: HeadlessEditor, started: anyio.Event, stop: anyio.Event) -> None:
    async with IdeServer(editor, home=Path.home() / ".claude", keep=Path.home() / ".weft"):
        started.set()
        await stop.wait()


async def test_an_agent_attaches_again_after_a_restart_of_the_editor(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        heard: list[object] = []
        started, stop, over = anyio.Event(), anyio.Event(), anyio.Event()
        async with HeadlessEditor([tmp_path], servers=(), kernel=False) as editor, anyio.create_task_group() as group:
            group.start_soon(serve, editor, started, stop)
            await started.wait()
            async with IdeLink(find_locks()[0], cwd=tmp_path, heard=heard.append) as link:
                stop.set()
                await until(lambda: "lost" in heard)
                group.start_soon(serve, editor, anyio.Event(), over)
                await until(lambda: heard.count("attached") == 2)
                assert decode_json(await link.call("getWorkspaceFolders", {}))["rootPath"] == str(tmp_path)
            over.set()


async def test_a_selection_is_told_once_per_change(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            assert desk.work.take_context() is None
            desk.editor.select("calc.py", Position(1, 4), Position(1, 16))
            await until(lambda: link_of(desk.work).selection is not None)
            told = desk.work.take_context()
            assert told is not None and "line 2 of" in told and "return a + b" in told
            assert desk.work.take_context() is None
            desk.editor.select("calc.py", Position(0, 0), Position(0, 0))
            await until(lambda: link_of(desk.work).selection.is_empty)
            assert "open in the editor" in (desk.work.take_context() or "")


async def test_a_burst_of_selections_is_one_notification(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        heard: list[object] = []
        async with Desk(tmp_path) as desk:
            async with IdeLink(find_locks()[0], cwd=tmp_path, heard=heard.append):
                for column in range(8):
                    desk.editor.select("calc.py", Position(0, 0), Position(0, column + 1))
                await until(lambda: len(heard) > 1)
                await anyio.sleep(0.05)
                assert [change.selection.text for change in heard if not isinstance(change, str)] == ["def add("]


async def test_what_was_selected_before_the_agent_came_is_told_to_it(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            desk.editor.select("calc.py", Position(0, 4), Position(0, 7))
            late = await desk.attach()
            await until(lambda: link_of(late).selection is not None)
            assert link_of(late).selection.text == "add"


async def test_a_hidden_file_is_not_told_of_and_the_switch_silences_all(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            (tmp_path / ".env").write_text("KEY=secret\n")
            work = IdeWorkspace(LocalWorkspace((tmp_path,)), hidden=lambda path: path.endswith(".env"))
            await desk.attach(work)
            desk.editor.select(".env", Position(0, 0), Position(0, 10))
            desk.editor.mention(Mention(path=str(tmp_path / ".env")))
            await until(lambda: link_of(work).selection is not None)
            assert work.take_context() is None and work.take_mentions() == ()
            desk.editor.select("calc.py", Position(0, 0), Position(0, 3))
            await until(lambda: link_of(work).selection.path.endswith("calc.py"))
            work.share = False
            assert work.take_context() is None


async def test_a_mention_becomes_a_reference_with_lines_from_one(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            desk.editor.mention(Mention(path=str(desk.file), first_line=1, last_line=2))
            desk.editor.mention(Mention(path=str(desk.file)))
            found: list[Mention] = []
            while len(found) < 2:
                found += desk.work.take_mentions()
                await anyio.sleep(0.002)
            assert [mention_text(item, tmp_path) for item in found] == ["@calc.py#L2-3", "@calc.py"]


async def propose(desk: Desk, answers: list[Decision], work: IdeWorkspace | None = None) -> None:
    answers.append(await (work or desk.work).propose_edit(desk.file, PROPOSAL))


@pytest.mark.parametrize(
    "outcome", [Accepted(PROPOSAL), Accepted(PROPOSAL.replace("sum", "mine")), Rejected()], ids=str
)
async def test_a_proposed_edit_gets_the_persons_decision_and_nothing_is_written(tmp_path: Path, outcome) -> None:
    with anyio.fail_after(30):
        answers: list[Decision] = []
        async with Desk(tmp_path) as desk, anyio.create_task_group() as group:
            group.start_soon(propose, desk, answers)
            await desk.pending(1)
            (diff,) = desk.server.toolbox.diffs.pending()
            assert (diff.before, diff.after, diff.agent) == (CALC, PROPOSAL, "weft")
            assert desk.server.toolbox.diffs.decide(diff.id, outcome)
            await until(lambda: answers)
            assert answers == [outcome] and desk.file.read_text() == CALC
            assert not desk.server.toolbox.diffs.decide(diff.id, Rejected())


async def test_a_proposal_that_is_decided_elsewhere_closes_in_the_editor(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            async with anyio.create_task_group() as group:
                group.start_soon(propose, desk, [])
                await desk.pending(1)
                group.cancel_scope.cancel()
            await desk.pending(0)


async def test_each_agent_has_its_own_diffs(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        mine: list[Decision] = []
        async with Desk(tmp_path) as desk, desk.second() as other, anyio.create_task_group() as group:
            group.start_soon(propose, desk, mine)
            await desk.pending(1)
            assert decode_json(await other.call("closeAllDiffTabs", {})) == {}
            (diff,) = desk.server.toolbox.diffs.pending()
            await other.call("close_tab", {"tab_name": diff.title})
            assert len(desk.server.toolbox.diffs) == 1 and mine == []
            await desk.work.close_diffs()
            await until(lambda: mine)
            assert mine == [Rejected()]


async def test_the_diffs_of_an_agent_that_went_away_are_closed(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        answers: list[Decision] = []
        async with Desk(tmp_path) as desk, anyio.create_task_group() as group:
            group.start_soon(propose, desk, answers)
            await desk.pending(1)
            desk.server.agents[0].end()
            await desk.pending(0)
            await until(lambda: answers)
            assert isinstance(answers[0], Undecided)


async def test_only_new_problems_are_told_after_an_edit(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path, servers=True) as desk:
            desk.file.write_text("import os\n")
            lines = await desk.work.diagnostics(desk.file)
            assert lines is not None and any("[F401] (Ruff)" in line for line in lines)
            context = fake_tool_context(desk.work, cwd=tmp_path)
            await Read().run(ReadArgs(str(desk.file)), context)
            result = await Edit().run(EditArgs(str(desk.file), "import os", "import sys\nimport os"), context)
            told = str(result.content).partition("The editor now reports:")[2]
            assert "[Line 1:8] `sys` imported but unused" in told and "`os`" not in told


async def test_what_the_person_made_of_a_proposal_is_what_is_written(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        answers: list[Decision] = []
        async with Desk(tmp_path) as desk, anyio.create_task_group() as group:
            group.start_soon(propose, desk, answers)
            await desk.pending(1)
            desk.server.toolbox.diffs.decide(desk.server.toolbox.diffs.pending()[0].id, Accepted("mine\n"))
            await until(lambda: answers)
            await desk.work.write(desk.file, PROPOSAL.encode())
            assert desk.file.read_text() == "mine\n"
            await desk.work.write(desk.file, PROPOSAL.encode())
            assert desk.file.read_text() == PROPOSAL


async def test_an_editor_that_hangs_costs_the_agent_its_own_limit_only(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("weft.workspace.ide.workspace.DIAGNOSTICS_LIMIT", 0.05)
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:

            async def hang(path: str | None):
                await anyio.sleep_forever()

            monkeypatch.setattr(desk.editor, "diagnostics", hang)
            assert await desk.work.diagnostics(desk.file) is None


async def test_a_wrong_token_is_refused_and_the_lock_stays(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path):
            (found,) = find_locks()
            lock = json.loads(found.path.read_text())
            found.path.write_text(json.dumps({**lock, "authToken": "0" * 36}))
            with pytest.raises(WorkspaceError, match="cannot be attached"):
                async with IdeLink(find_locks()[0], cwd=tmp_path):
                    pass
            assert found.path.exists()


async def test_the_variable_names_the_editor_whatever_its_folders(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Desk(tmp_path) as desk:
            env = {"HOME": str(Path.home()), **desk.server.environment}
            chosen = choose(Path("/nowhere"), env)
            assert chosen.found is not None and chosen.found.lock.port == desk.server.port
