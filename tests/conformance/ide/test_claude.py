"""The real `claude` command attached to Weft's editor server.

What it does with answers that Weft never gives is in here too: those tests say why Weft never gives them.
"""

import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.conformance.ide.claude_peer import SUM, ClaudePeer
from weft.ide.editors.headless.languages import find_servers
from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.uris import to_uri
from weft.protocols.ide.values import Accepted, Mention, Position, Rejected


async def test_the_attach_sequence_and_what_an_editor_may_ask(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        (headers,) = claude.server.opened
        assert headers["sec-websocket-protocol"] == "mcp" and headers["user-agent"].startswith("claude-code/")
        assert claude.methods()[:4] == ["initialize", "notifications/initialized", "ide_connected", "tools/list"]
        (agent,) = claude.server.agents
        assert agent.host.agent_name == "claude-code" and isinstance(agent.host.agent_pid, int)
        agent.request("ping")
        agent.request("roots/list", {})
        assert await claude.until(lambda: len([m for m in claude.sent if "result" in m]) == 2)
        assert [m["result"] for m in claude.sent if "result" in m][1]["roots"] == [{"uri": to_uri(str(claude.ws))}]
        agent.notify("notifications/tools/list_changed")
        assert await claude.until(lambda: claude.methods().count("tools/list") == 2)


async def test_the_model_sees_two_of_our_tools(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.say("[[hello]] hi")
        await claude.shows("Hello from")
        assert [call["name"] for call in claude.calls()] == ["closeAllDiffTabs"]
        names = {tool["name"] for tool in claude.requests[-1]["tools"]}
        names |= set(re.findall(r"mcp__ide__\w+", claude.told()))
        wanted = {"mcp__ide__executeCode", "mcp__ide__getDiagnostics"}
        assert {name for name in names if name.startswith("mcp__ide__")} == wanted


async def test_a_change_that_the_person_retouched_in_the_editor_is_written_so(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        asked = await claude.edit()
        file = claude.ws / "calc.py"
        assert asked["old_file_path"] == asked["new_file_path"] == str(file) and asked["new_file_contents"] == SUM
        await claude.shows("Opened changes in Weft")
        (diff,) = claude.toolbox.diffs.pending()
        assert claude.toolbox.diffs.decide(diff.id, Accepted(SUM.replace("sum", "mine")))
        await claude.shows("Edited.")
        assert file.read_text() == SUM.replace("sum", "mine")
        assert "The user modified your proposed changes" in claude.told()
        assert {call["arguments"]["tab_name"] for call in claude.calls("close_tab")} == {asked["tab_name"]}


async def test_a_rejection_and_a_closed_view_both_end_the_turn(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.edit()
        (diff,) = claude.toolbox.diffs.pending()
        claude.toolbox.diffs.decide(diff.id, Rejected())
        await claude.shows("User rejected")
        assert "# sum" not in (claude.ws / "calc.py").read_text() and len(claude.requests) == 2


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"resolve_text": ["DIFF_REJECTED"]}, "rejected"),
        ({"resolve_text": ["TAB_CLOSED"]}, "accepted"),
        ({"resolve_text": ["FILE_SAVED"]}, "undecided"),
        ({"resolve_text": ["whatever"]}, "undecided"),
        ({"error": {"code": -32000, "message": "no"}}, "undecided"),
        ({"resolve": {"content": [{"type": "text", "text": "boom"}], "isError": True}}, "undecided"),
    ],
)
async def test_what_other_answers_would_do(tmp_path: Path, answer: dict[str, Any], outcome: str) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.edit()
        claude.toolbox.answer(claude.toolbox.diffs.pending()[0], answer)
        file = claude.ws / "calc.py"
        if outcome == "rejected":
            await claude.shows("User rejected")
            assert "# sum" not in file.read_text()
            return
        if outcome == "undecided":
            assert await claude.until(lambda: claude.calls("close_tab"))
            await anyio.sleep(1)
            assert "Do you want to" in await claude.screen() and "# sum" not in file.read_text()
            await claude.key("1")
        await claude.shows("Edited.")
        assert file.read_text() == SUM


@pytest.mark.parametrize(("key", "taken"), [("1", True), ("3", False)])
async def test_a_change_that_is_decided_in_the_terminal_closes_in_the_editor(
    tmp_path: Path, key: str, taken: bool
) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        asked = await claude.edit()
        await claude.key(key)
        await claude.shows("Edited." if taken else "User rejected")
        assert await claude.until(lambda: not len(claude.toolbox.diffs))
        assert {call["arguments"]["tab_name"] for call in claude.calls("close_tab")} == {asked["tab_name"]}
        assert "notifications/cancelled" not in claude.methods()
        assert ((claude.ws / "calc.py").read_text() == SUM) is taken


async def test_only_new_diagnostics_reach_the_model_and_no_diff_when_edits_are_accepted(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path, mode="acceptEdits") as claude:
        await claude.start()
        uri = to_uri(str(claude.ws / "calc.py"))
        span = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 8}}
        old = {"message": "old", "severity": "Warning", "source": "ls", "code": "E1", "range": span}
        fresh = {**old, "message": "fresh", "severity": "Error"}
        claude.toolbox.settings |= {"diagnostics": {uri: [old]}, "then": {uri: [old, fresh]}}
        await claude.say("[[edit]] go")
        await claude.shows("Edited.")
        news = claude.told().partition("<new-diagnostics>")[2]
        assert "[Line 2:5] fresh [E1] (ls)" in news and "old" not in news
        assert {call["name"] for call in claude.calls()} == {"closeAllDiffTabs", "getDiagnostics"}


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


async def test_it_attaches_again_at_once_after_a_break(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.server.sockets[0].close(1001, "drop")
        assert await claude.until(lambda: len(claude.server.opened) == 2 and claude.server.sockets, 5)
        await anyio.sleep(1)
        claude.server.sockets[0].transport.abort()
        assert await claude.until(lambda: len(claude.server.opened) == 3, 5)


async def test_a_hung_editor_does_not_block_it(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path, mode="acceptEdits") as claude:
        await claude.start()
        claude.toolbox.settings["delay"] = {"getDiagnostics": 600, "closeAllDiffTabs": 600}
        await claude.say("[[edit]] go")
        await claude.shows("Edited.")


@pytest.mark.parametrize(
    ("arguments", "options", "attaches"),
    [
        ((), {"ide_folder": Path("/nowhere")}, True),
        ((), {"use_port": False}, False),
        (("--ide",), {"use_port": False}, True),
        (("--ide",), {"use_port": False, "ide_folder": Path("/nowhere")}, False),
        ((), {"use_port": False, "config": {"autoConnectIde": True}}, True),
        ((), {"env": {"CLAUDE_CODE_AUTO_CONNECT_IDE": "false"}}, False),
        ((), {"lock": {"pid": 999_999}}, False),
        ((), {"lock": {"pid": None}}, True),
        ((), {"lock": {"gone": True}}, False),
        ((), {"lock": {"authToken": "0" * 36}}, False),
        ((), {"subprotocol": False}, False),
    ],
    ids=[
        "by its variable whatever the folder",
        "not by folder alone",
        "by folder when asked",
        "not to another folder",
        "by its setting",
        "not when switched off",
        "not to a dead pid",
        "without a pid",
        "not without a lock",
        "not with a wrong token",
        "not without the subprotocol",
    ],
)
async def test_how_it_finds_us(
    tmp_path: Path, arguments: tuple[str, ...], options: dict[str, Any], attaches: bool
) -> None:
    async with ClaudePeer(tmp_path, *arguments, **options) as claude:
        await claude.start(attached=False)
        assert await claude.until(lambda: "tools/list" in claude.methods(), 20 if attaches else 4) is attaches


async def test_a_file_that_is_opened_in_our_editor_is_shown_by_it(tmp_path: Path) -> None:
    async with ClaudePeer(tmp_path) as claude:
        await claude.start()
        await claude.editor.open_file(OpenFile(file_path="calc.py", start_text="add"))
        await claude.shows("1 line selected")


async def test_problems_that_a_real_language_server_finds_reach_the_model(tmp_path: Path) -> None:
    servers = find_servers(trusted=False, path="")
    async with ClaudePeer(tmp_path, mode="acceptEdits", servers=servers) as claude:
        await claude.start()
        await claude.say("[[lint]] go")
        await claude.shows("Linted.")
        assert "[Line 1:8] `os` imported but unused" in claude.told().partition("<new-diagnostics>")[2]


async def test_weft_ide_runs_it_attached_and_takes_its_changes(tmp_path: Path) -> None:
    through = [sys.executable, "-m", "weft", "ide", "--diffs", "accept", "--run"]
    async with ClaudePeer(tmp_path, use_port=False, through=through) as claude:
        await claude.start(attached=False)
        await anyio.sleep(1)
        await claude.say("[[edit]] go")
        await claude.shows("Edited.")
        assert (claude.ws / "calc.py").read_text() == SUM and claude.sent == []
