"""The page as an editor: agents elsewhere attach, and the person decides their changes like those of any agent."""

from pathlib import Path

import anyio
import pytest

from weft.connect.agents import AgentRequest, open_agent
from weft.connect.port import Connection
from weft.protocols.ide.values import Accepted, Decision, Rejected
from weft.schema.commands import Cancel, PermissionAnswered, Prompt
from weft.schema.display import DiffView, TextView
from weft.schema.events import AgentEvent, AskWithdrawn, Notice, PermissionAsked, ToolEnded, TurnEnded, TurnStarted
from weft.surfaces.diffs import chosen_input
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

BEFORE = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
AFTER = "A\n2\n3\n4\n5\n6\n7\n8\nI\n"


async def next_of(connection: Connection, kind: type[AgentEvent]) -> AgentEvent:
    async for event in connection.events():
        if isinstance(event, kind):
            return event
    raise AssertionError("the events ended")


def take(asked: PermissionAsked) -> PermissionAnswered:
    return PermissionAnswered(asked.request_id, "allow")


def take_second_hunk(asked: PermissionAsked) -> PermissionAnswered:
    (view,) = asked.preview
    assert isinstance(view, DiffView)
    input = chosen_input(asked.use.name, asked.use.input, view, (1,))
    return PermissionAnswered(asked.request_id, "allow", input=input)


def refuse(asked: PermissionAsked) -> PermissionAnswered:
    return PermissionAnswered(asked.request_id, "deny")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (take, Accepted(AFTER)),
        (take_second_hunk, Accepted(AFTER.replace("A", "1"))),
        (refuse, Rejected()),
        (lambda asked: Cancel(), Rejected()),
    ],
    ids=["taken", "by hunk", "refused", "cancelled"],
)
async def test_a_change_of_an_attached_agent_is_decided_on_the_page(tmp_path: Path, answer, outcome: Decision) -> None:
    (tmp_path / "f.txt").write_text(BEFORE)
    with anyio.fail_after(30):
        async with await open_agent("editor", AgentRequest(cwd=tmp_path)) as page:
            assert page.info.agent_name == "editor"
            work = IdeWorkspace(LocalWorkspace((tmp_path,)))
            answers: list[Decision] = []

            async def propose() -> None:
                answers.append(await work.propose_edit(tmp_path / "f.txt", AFTER))

            async with IdeLink(find_locks()[0], cwd=tmp_path) as work.link, anyio.create_task_group() as group:
                group.start_soon(propose)
                assert isinstance(await next_of(page, TurnStarted), TurnStarted)
                asked = await next_of(page, PermissionAsked)
                assert isinstance(asked, PermissionAsked) and asked.preview == (
                    DiffView(str(tmp_path / "f.txt"), BEFORE, AFTER),
                )
                await page.send(answer(asked))
                await next_of(page, AskWithdrawn)
                ended = await next_of(page, ToolEnded)
                assert isinstance(ended, ToolEnded)
                assert ended.outcome == ("ok" if isinstance(outcome, Accepted) else "denied")
                await next_of(page, TurnEnded)
            assert answers == [outcome] and (tmp_path / "f.txt").read_text() == BEFORE
        assert find_locks() == ()


async def test_a_file_that_an_agent_shows_is_seen_and_a_prompt_points_agents_at_files(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(BEFORE)
    with anyio.fail_after(30):
        async with await open_agent("editor", AgentRequest(cwd=tmp_path)) as page:
            how = await next_of(page, Notice)
            assert isinstance(how, Notice) and "CLAUDE_CODE_SSE_PORT=" in how.text
            work = IdeWorkspace(LocalWorkspace((tmp_path,)))
            async with IdeLink(find_locks()[0], cwd=tmp_path, heard=work.heard) as link:
                await link.call("openFile", {"filePath": str(tmp_path / "f.txt"), "startText": "3"})
                seen = await next_of(page, ToolEnded)
                assert isinstance(seen, ToolEnded) and isinstance(seen.display[0], TextView)
                assert seen.display[0].text.startswith("3\n4\n")
                await page.send(Prompt("@f.txt#L2-3"))
                while not (found := work.take_mentions()):
                    await anyio.sleep(0.002)
                assert (found[0].path, found[0].first_line, found[0].last_line) == (str(tmp_path / "f.txt"), 1, 2)
