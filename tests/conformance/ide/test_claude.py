"""The real `claude` command at Weft's editor, as people have it; `test_acceptance.py` has the whole protocol."""

import sys
from pathlib import Path

import anyio
import psutil
import pytest

from tests.conformance.ide.claude_peer import SUM, ClaudePeer
from weft.ide.editors.headless.languages import find_servers
from weft.ide.editors.notebook import Notebook
from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import Mention, Position


async def test_a_change_that_is_decided_in_the_terminal_closes_in_the_editor(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        asked = await claude.edit()
        await claude.choose("1")
        await claude.shows("Edited.")
        assert await claude.until(lambda: not len(claude.server.toolbox.diffs))
        assert {call["arguments"]["tab_name"] for call in claude.calls("close_tab")} == {asked["tab_name"]}
        assert (claude.ws / "calc.py").read_text() == SUM


async def test_a_kernel_that_appears_gives_the_model_another_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Notebook, "poll", 0.05)
    there: list[bool] = []
    async with ClaudePeer(tmp_path, jupyter=lambda: bool(there)) as claude:
        await claude.start()
        await claude.say("[[hello]] first")
        await claude.shows("Hello from")
        assert claude.tools_of_the_model() == {"mcp__ide__getDiagnostics"}
        there.append(True)
        assert await claude.until(lambda: claude.methods().count("tools/list") == 2)
        await anyio.sleep(1)
        await claude.say("[[hello]] second")
        assert await claude.until(lambda: len(claude.requests) == 2)
        assert claude.tools_of_the_model() == {"mcp__ide__getDiagnostics", "mcp__ide__executeCode"}


async def test_selections_and_mentions_of_our_editor_reach_the_model(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        file = str(claude.ws / "notes.txt")
        claude.editor.select(file, Position(1, 0), Position(2, 5))
        await claude.start()
        await claude.shows("2 lines selected")
        await claude.say("[[hello]] first")
        await claude.shows("Hello from")
        assert f"The user selected the lines 2 to 3 from {file}:\ntwo\nthree" in claude.told()
        claude.editor.select(file, Position(0, 0), Position(0, 0))
        await claude.shows("In notes.txt")
        claude.editor.mention(Mention(path=file, first_line=1, last_line=2))
        await claude.shows("@notes.txt#L2-3")
        await claude.say("[[hello]] second")
        assert await claude.until(lambda: len(claude.requests) == 2)
        assert "2\ttwo\n3\tthree" in claude.told()


async def test_a_file_that_is_opened_in_our_editor_is_shown_by_it(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.editor.open_file(OpenFile(file_path="calc.py", start_text="add"))
        await claude.shows("1 line selected")


async def test_problems_that_a_real_language_server_finds_reach_the_model(tmp_path: Path) -> None:
    """The command waits half a second for the problems before an edit, and without them tells of none: on a busy
    machine it may take more than one session until the server was quick enough."""
    servers = find_servers(trusted=False, path="")
    told = ""
    for number in range(3):
        async with ClaudePeer(tmp_path / str(number), mode="acceptEdits", servers=servers) as claude:
            await claude.start()
            await claude.editor.diagnostics(str(claude.ws / "calc.py"))
            await claude.say("[[lint]] go")
            await claude.shows("Linted.")
            told = claude.told().partition("<new-diagnostics>")[2]
        if told:
            break
    assert "[Line 1:8] `os` imported but unused" in told


def is_attached(home: Path) -> bool:
    """Whether somebody has a connection to the other editor that left its lock here: the one that `weft ide` is."""
    ports = {int(lock.stem) for lock in (home / ".claude" / "ide").glob("*.lock")}
    return any(
        found.status == psutil.CONN_ESTABLISHED and found.laddr and found.laddr.port in ports
        for found in psutil.net_connections("tcp")
    )


async def test_weft_ide_runs_it_attached_and_takes_its_changes(tmp_path: Path) -> None:
    through = [sys.executable, "-m", "weft", "ide", "--diffs", "accept", "--run"]
    async with ClaudePeer(tmp_path, use_port=False, through=through) as claude:
        await claude.start(attached=False)
        assert await claude.until(lambda: is_attached(claude.home))
        await anyio.sleep(1)
        await claude.say("[[edit]] go")
        await claude.shows("Edited.")
        assert (claude.ws / "calc.py").read_text() == SUM and claude.sent == []
