"""Our agent's side with editors that answer as the two real ones were measured to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from weft.errors import WorkspaceError
from weft.protocols.ide.answers import decode_json
from weft.protocols.ide.uris import to_uri
from weft.protocols.ide.values import Accepted, Decision, Mention, Rejected, Undecided
from weft.testing.editors import MeasuredEditor, MeasuredNeovim, MeasuredVsCode
from weft.testing.tool_context import fake_tool_context
from weft.tools.ide import ide_tools
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

Make = Callable[[Path, Path], MeasuredEditor]
both = pytest.mark.parametrize("make", [MeasuredVsCode, MeasuredNeovim])


class Attached:
    """An agent that is attached to one of them."""

    def __init__(self, make: Make, folder: Path) -> None:
        (folder / "calc.py").write_text("x = 1\n")
        self.folder = folder
        self.file = folder / "calc.py"
        self.editor = make(folder, Path.home())
        self.work = IdeWorkspace(LocalWorkspace((folder,)))

    async def __aenter__(self) -> "Attached":
        await self.editor.__aenter__()
        (found,) = find_locks()
        self.link = self.work.link = IdeLink(found, cwd=self.folder, heard=self.work.heard)
        await self.link.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.link.__aexit__(*error)
        await self.editor.__aexit__(*error)


@both
async def test_it_attaches_and_learns_the_tools(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            assert agent.link.name == agent.editor.name and agent.link.tools == frozenset(agent.editor.tools)


@both
@pytest.mark.parametrize(
    ("parts", "decision"),
    [
        (("FILE_SAVED", "mine\n"), Accepted("mine\n")),
        (("DIFF_REJECTED", ""), Rejected()),
        (("nonsense",), Undecided("the editor answered 'nonsense'")),
    ],
    ids=["accepted", "rejected", "undecided"],
)
async def test_a_diff_is_decided_and_its_tab_closed(make: Make, tmp_path: Path, parts, decision: Decision) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            answers: list[Decision] = []

            async def propose() -> None:
                answers.append(await agent.work.propose_edit(agent.file, "x = 2\n"))

            async with anyio.create_task_group() as group:
                group.start_soon(propose)
                while not agent.editor.diffs:
                    await anyio.sleep(0.002)
                await agent.editor.decide(*parts)
            assert answers == [decision] and agent.editor.called[-1] == "close_tab"


@both
async def test_a_withdrawn_diff_really_closes(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            async with anyio.create_task_group() as group:
                group.start_soon(agent.work.propose_edit, agent.file, "x = 2\n")
                while not agent.editor.diffs:
                    await anyio.sleep(0.002)
                group.cancel_scope.cancel()
            assert agent.editor.diffs == {}


@both
async def test_problems_are_read_and_a_file_that_is_not_open_has_none(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            found = await agent.work.diagnostics(agent.file)
            assert not found
            span = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 8}}
            item = {"message": "bad", "severity": "Error", "source": "ls", "code": "E1", "range": span}
            agent.editor.diagnostics[to_uri(str(agent.file))] = [item]
            assert await agent.work.diagnostics(agent.file) == ["✘ [Line 2:5] bad [E1] (ls)"]


@both
async def test_mentions_are_absolute_or_relative_to_the_editors_folder(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            relative = isinstance(agent.editor, MeasuredNeovim)
            path = "calc.py" if relative else str(agent.file)
            await agent.editor.notify("at_mentioned", {"filePath": path, "lineStart": 0, "lineEnd": 0})
            while not (found := agent.work.take_mentions()):
                await anyio.sleep(0.002)
            assert found == (Mention(path=str(agent.file), first_line=0, last_line=0),)


@both
async def test_the_models_tools_work_with_it(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            tools = {tool.name.removeprefix("mcp__ide__"): tool for tool in ide_tools(agent.link)}
            context = fake_tool_context(agent.work, cwd=tmp_path)

            async def run(name: str, **arguments: object) -> str:
                return str((await tools[name].run(tools[name].decode(arguments), context)).content)

            assert await run("openFile", file_path="calc.py") == f"calc.py is open in {agent.link.name}."
            with pytest.raises(Exception, match="not found"):
                await run("openFile", file_path="nowhere.py")
            assert (await run("getOpenEditors")).startswith(f"{agent.file} (active")
            assert ("executeCode" in tools) is isinstance(agent.editor, MeasuredVsCode)


@both
async def test_a_wrong_token_is_a_sentence_whichever_way_it_is_refused(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with make(tmp_path, Path.home()) as editor:
            editor.write_lock("0" * 32)
            with pytest.raises(WorkspaceError, match="cannot be attached"):
                async with IdeLink(find_locks()[0], cwd=tmp_path):
                    raise AssertionError("it was let in")


@both
async def test_selections_are_told_and_asked_for_in_the_same_shape(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            assert decode_json(await agent.link.call("getLatestSelection", {}))["success"] is False
            await agent.editor.select(str(agent.file), "x", (0, 0), (0, 1))
            while (told := agent.work.take_context()) is None:
                await anyio.sleep(0.002)
            assert "line 1 of" in told and agent.work.take_context() is None
            current = decode_json(await agent.link.call("getCurrentSelection", {}))
            latest = decode_json(await agent.link.call("getLatestSelection", {}))
            assert current == {"success": True, **latest} and latest["filePath"] == str(agent.file)


@both
async def test_unsaved_changes_are_seen_and_saved(make: Make, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(make, tmp_path) as agent:
            path = str(agent.file)
            agent.editor.dirty.add(path)
            assert decode_json(await agent.link.call("checkDocumentDirty", {"filePath": path}))["isDirty"] is True
            assert decode_json(await agent.link.call("saveDocument", {"filePath": path}))["saved"] is True
            assert decode_json(await agent.link.call("checkDocumentDirty", {"filePath": path}))["isDirty"] is False


async def test_two_agents_at_an_editor_with_one_place_do_not_throw_each_other_out_for_ever(tmp_path: Path) -> None:
    def settled(states: list[object]) -> bool:
        return states[-1] == "closed"

    with anyio.fail_after(60):
        async with MeasuredVsCode(tmp_path, Path.home()) as editor:
            (found,) = find_locks()
            one: list[object] = []
            two: list[object] = []
            async with IdeLink(found, cwd=tmp_path, heard=one.append):
                async with IdeLink(found, cwd=tmp_path, heard=two.append):
                    while not (one and two and settled(one) != settled(two)):
                        await anyio.sleep(0.01)
                    stays = two if settled(one) else one
                    while not (stays[-1] == "attached" and editor.clients == 1):
                        await anyio.sleep(0.01)


async def test_an_agent_that_goes_leaves_no_diffs_in_an_editor_with_many(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Attached(MeasuredNeovim, tmp_path) as agent:
            other = IdeWorkspace(LocalWorkspace((tmp_path,)))
            async with anyio.create_task_group() as group:
                (found,) = find_locks()
                async with IdeLink(found, cwd=tmp_path, heard=other.heard) as link:
                    other.link = link
                    group.start_soon(other.propose_edit, agent.file, "x = 3\n")
                    while not agent.editor.diffs:
                        await anyio.sleep(0.002)
                while agent.editor.diffs:
                    await anyio.sleep(0.002)
            assert agent.link.state == "attached" and agent.editor.clients == 1
