"""The page as an editor: an agent elsewhere on the machine attaches, and its change is decided in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.web.site import Site
from weft.cli.web import open_connection
from weft.protocols.ide.values import Accepted, Decision
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

BEFORE = "".join(f"line {n}\n" for n in range(1, 31))
AFTER = BEFORE.replace("line 2\n", "line two\n").replace("line 29\n", "line twenty-nine\n")


class Elsewhere:
    """An agent in another part of the machine, attached to the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: list[Decision] = []

    async def propose(self) -> None:
        work = IdeWorkspace(LocalWorkspace((self.folder,)))
        with anyio.fail_after(30):
            async with IdeLink(find_locks()[0], cwd=self.folder) as work.link:
                path = str(self.folder / "long.txt")
                await work.link.call("openFile", {"filePath": path, "startText": "line 7"})
                self.answers.append(await work.propose_edit(self.folder / "long.txt", AFTER))


def test_a_change_of_an_agent_elsewhere_is_decided_on_the_page(
    serve: Callable[..., Site], visit: Callable[..., Any], project: Path
) -> None:
    (project / "long.txt").write_text(BEFORE)
    site = serve(open_agent=open_connection, default_agent="editor")
    here = visit(site)
    here.say("who is there?")
    here.page.wait_for_selector("text=no agent yet")
    agent = Elsewhere(project)
    done = site.portal.start_task_soon(agent.propose)
    here.page.wait_for_selector(".ask.permission .diff-hunk-bar")
    assert here.page.locator(".tool", has_text="openFile").count() == 1
    here.shot("editor")
    here.page.locator(".diff-hunk-bar").nth(0).get_by_role("button", name="Reject").click()
    here.page.locator(".ask.permission [data-key='1']").click()
    done.result(20)
    assert agent.answers == [Accepted(BEFORE.replace("line 29\n", "line twenty-nine\n"))]
    here.page.wait_for_selector(".ask", state="detached")
    assert (project / "long.txt").read_text() == BEFORE
