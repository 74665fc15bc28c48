"""The editor tools in a session: each is called by the model, on a small project."""

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.driving import session, turn
from weft.extend.editor_tools.index.service import Index
from weft.extend.editor_tools.runners import choose
from weft.schema.content import text_of
from weft.schema.events import ToolEnded
from weft.testing.plugins import FakeHost
from weft.testing.scripted import call, say

SETTINGS = '{"enabledPlugins": {"editor-tools": true}}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "basket.py").write_text(
        "def add_tax(price):\n    '''Puts the value added tax on top.'''\n    return price * 1.2\n\n\n"
        "def total(prices):\n    return sum(add_tax(one) for one in prices)\n"
    )
    (folder / "shop" / "notes.py").write_text("# add_tax is not used here\nTEXT = 'add_tax'\n")
    (folder / "test_basket.py").write_text(
        "from shop.basket import total\n\n\ndef test_total():\n    assert total([10]) == 11, 'too dear'\n"
    )
    return folder


async def called(project: Path, *uses: Any, **options: Any) -> list[ToolEnded]:
    async with session(project, [*uses, "done"], settings=SETTINGS, **options) as (connection, _):
        events = await turn(connection, "go")
    return [event for event in events if isinstance(event, ToolEnded)]


def said(event: ToolEnded) -> str:
    return text_of(event.result.content)


async def test_code_is_found_by_words_names_and_use(project: Path) -> None:
    found, symbols, usages, structure = await called(
        project,
        call("searchCodebase", query="where is value added tax put on a price?"),
        call("searchWorkspaceSymbols", query="total"),
        call("listCodeUsages", symbol="add_tax"),
        call("readProjectStructure"),
    )
    assert isinstance(found.data, dict) and found.data["files"][0] == "shop/basket.py"
    assert "1\tdef add_tax" in said(found)
    assert "shop/basket.py:6 function total" in said(symbols)
    assert said(usages).splitlines() == [
        "shop/basket.py:1 defined as function add_tax",
        "shop/basket.py:7 return sum(add_tax(one) for one in prices)",
    ], "comments and strings are no usages"
    assert said(structure).splitlines() == [
        "shop/", "  shop/", "    basket.py", "    notes.py", "  test_basket.py",
    ]  # fmt: skip


async def test_files_are_read_listed_found_and_searched(project: Path) -> None:
    read, listed, found, text, regex = await called(
        project,
        call("readFile", file_path="shop/basket.py", start_line=6, end_line=6),
        call("listDirectory", path=str(project / "shop")),
        call("findFiles", query="**/test_*.py"),
        call("findTextInFiles", query="sum(add_tax("),
        call("findTextInFiles", query=r"def \w+\(prices", is_regexp=True),
    )
    assert "def total(prices)" in said(read) and "add_tax(price)" not in said(read)
    assert "notes.py" in said(listed)
    assert "test_basket.py" in said(found)
    assert "shop/basket.py:7" in said(text) and "shop/basket.py:6" in said(regex)


async def test_files_are_made_and_changed_under_the_rules_of_edits(project: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: shop/notes.py\n-TEXT = 'add_tax'\n+TEXT = 'tax'\n*** End Patch"
    uses = (
        call("createFile", file_path="shop/new.py", content="one\n"),
        call("createFile", file_path="shop/new.py", content="two\n"),
        call("insertEdit", file_path="shop/new.py", line=2, code="two"),
        call("insertEdit", file_path="shop/new.py", line=1, code="ONE", replace_lines=1),
        call("insertEdit", file_path="shop/new.py", line=9, code="x"),
        call("createDirectory", path="deep/er"),
        call("readFile", file_path="shop/notes.py"),
        call("applyPatch", patch=patch),
    )
    events = await called(project, *uses, mode="acceptEdits")
    assert [event.outcome for event in events] == ["ok", "error", "ok", "ok", "error", "ok", "ok", "ok"], [
        said(event) for event in events
    ]
    assert (project / "shop" / "new.py").read_text() == "ONE\ntwo\n"
    assert (project / "deep" / "er").is_dir()
    assert "TEXT = 'tax'" in (project / "shop" / "notes.py").read_text()
    assert events[2].edits and events[7].edits
    denied = await called(project, *uses[:1], call("insertEdit", file_path="shop/new.py", line=1, code="x"))
    assert {event.outcome for event in denied} == {"denied"}, "nobody is there to ask"


async def test_rules_about_reading_hold_for_every_tool(project: Path) -> None:
    events = await called(
        project,
        call("readFile", file_path="shop/basket.py"),
        call("searchCodebase", query="value added tax"),
        call("listCodeUsages", symbol="add_tax"),
        call("findTextInFiles", query="add_tax"),
        disallowed_tools=("Read(shop/basket.py)",),
    )
    assert events[0].outcome == "denied"
    assert all("basket.py:" not in said(event) for event in events[1:])


async def test_changes_problems_tests_and_memory(project: Path) -> None:
    for arguments in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", *arguments], cwd=project, check=True, timeout=20)
    (project / "shop" / "notes.py").write_text("def broken(:\n")
    changes, problems, none, remembered, memory = await called(
        project,
        call("getChangedFiles"),
        call("getErrors"),
        call("getErrors", file_paths=["shop/basket.py"]),
        call("memory", action="add", fact="Prices are in euros."),
        call("memory"),
        allowed_tools=("memory",),
    )
    assert changes.data == {"files": ["shop/notes.py"]} and "+def broken(:" in said(changes)
    assert "notes.py: 1:" in said(problems) and "syntax error" in said(problems)
    assert said(none) == "No problems in 1 files."
    assert (said(remembered), said(memory)) == ("Remembered.", "1. Prices are in euros.")


async def test_failing_tests_are_run_and_remembered(project: Path) -> None:
    unknown, ran, last = await called(
        project,
        call("testFailure"),
        call("testFailure", run=True),
        call("testFailure"),
        allowed_tools=("testFailure",),
    )
    assert unknown.outcome == "error" and "not been run yet" in said(unknown)
    assert "pytest: 1 failed" in said(ran) and "too dear" in said(ran)
    assert last.data == {"runner": "pytest", "failed": ["test_basket.py::test_total"]}
    (denied,) = await called(project, call("testFailure", run=True))
    assert denied.outcome == "denied"


async def test_a_search_agent_only_reads(project: Path) -> None:
    script = (call("searchSubagent", query="What does total do?"), say("It adds taxes: shop/basket.py:6"))
    events = await called(project, *script)
    assert "shop/basket.py:6" in said(events[-1])


async def test_without_an_editor_its_commands_are_not_offered(project: Path) -> None:
    async with session(project, ["a"], settings=SETTINGS) as (connection, provider):
        await turn(connection, "go")
    names = {tool.name for tool in provider.requests[0].tools}
    assert "searchCodebase" in names and not names & {"runEditorCommand", "getEditorAPI"}


def test_a_runner_is_chosen_by_what_the_project_has(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"devDependencies": {"jest": "1"}}))
    assert choose(tmp_path, "") == "jest"
    (tmp_path / "go.mod").touch()
    assert choose(tmp_path, "") == "go" and choose(tmp_path, "pytest") == "pytest"


async def test_two_sessions_on_one_tree_share_the_index(project: Path, tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    indexes = [Index(project, tmp_path / "index.db") for _ in range(2)]
    with anyio.fail_after(40):
        async with anyio.create_task_group() as group:
            for place, index in enumerate(indexes):
                index.start(host)
                group.start_soon(host.spawned[place])
                await index.wait()
                assert (index.ready, index.files) == (True, 3)
            group.cancel_scope.cancel()
    assert all(index.over for index in indexes)


async def test_the_index_is_built_beside_the_session_and_follows_changes(project: Path, tmp_path: Path) -> None:
    from weft.extend.editor_tools.index.search import search

    index = Index(project, tmp_path / "index.db")
    host = FakeHost(tmp_path)
    index.start(host)

    async def paths(text: str) -> list[str]:
        return [hit.path for hit in await index.ask(lambda db: search(db, text))]

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(host.spawned[0])
            await index.wait()
            assert (index.ready, index.files, index.note) == (True, 3, "")
            assert "shop/basket.py" in await paths("value added tax")
            while not await paths("discount voucher"):
                (project / "shop" / "voucher.py").write_text("def discount_voucher(): ...\n" + "#\n" * index.updates)
                with anyio.move_on_after(2):
                    await index.changed()
            index.close()
            group.cancel_scope.cancel()
