"""An editor's tools change while agents are attached: they are told, and their models have the new ones."""

from pathlib import Path

import anyio
import pytest

from tests.integration.ide.desk import Desk, link_of
from weft.agent.editor import EditorSeat
from weft.ide.editors.notebook import Notebook
from weft.schema.events import AgentEvent
from weft.transports.kernel import kernel_is_installed


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Notebook, "poll", 0.01)


async def test_code_can_be_run_from_the_moment_that_a_kernel_is_there(tmp_path: Path) -> None:
    there: list[bool] = []
    with anyio.fail_after(30):
        async with Desk(tmp_path, jupyter=lambda: bool(there)) as desk:
            link = link_of(desk.work)
            assert len(link.tools) == 11 and "executeCode" not in link.tools
            events: list[AgentEvent] = []
            seat = EditorSeat(
                desk.work, cwd=tmp_path, env={}, auto=False, emit=events.append, answer=lambda answer: None
            )
            before = {tool.name for tool in seat.tools()}
            there.append(True)
            while "executeCode" not in link.tools:
                await anyio.sleep(0.005)
            assert len(link.tools) == 12
            assert {tool.name for tool in seat.tools()} - before == {"mcp__ide__executeCode"}
            there.clear()
            while "executeCode" in link.tools:
                await anyio.sleep(0.005)
            assert {tool.name for tool in seat.tools()} == before


async def test_every_attached_agent_is_told(tmp_path: Path) -> None:
    there: list[bool] = []
    with anyio.fail_after(30):
        async with Desk(tmp_path, jupyter=lambda: bool(there)) as desk, desk.second() as other:
            there.append(True)
            while not all("executeCode" in link.tools for link in (link_of(desk.work), other)):
                await anyio.sleep(0.005)


def test_what_is_installed_while_we_run_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("sys.modules", {})
    assert not kernel_is_installed()
    for name in ("jupyter_client", "ipykernel"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    assert kernel_is_installed()
