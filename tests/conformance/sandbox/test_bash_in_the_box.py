"""The Bash tool in the real box: what it stops is told to the model, with the way out."""

from pathlib import Path

import anyio

from tests.peers import peer_bin
from weft.permissions.sandbox import Policy, Sandbox
from weft.testing.tool_context import fake_tool_context
from weft.tools.bash import Bash
from weft.workspace.local import LocalWorkspace


async def test_a_command_that_the_sandbox_stops_says_how_to_ask_again(tmp_path: Path) -> None:
    peer_bin("bubblewrap")
    root = tmp_path / "proj"
    root.mkdir()
    workspace = LocalWorkspace((root,), sandbox=Sandbox(Policy(roots=(str(root),)), "bubblewrap"))
    context = fake_tool_context(workspace, settings={"sandbox": {"enabled": True}})
    tool = Bash()
    with anyio.fail_after(60):
        inside = await tool.run(tool.decode({"command": "echo hi > a.txt && cat a.txt"}), context)
        outside = await tool.run(tool.decode({"command": "touch /usr/weft-x"}), context)
    assert inside.content == "hi"
    assert outside.is_error and "dangerouslyDisableSandbox" in str(outside.content)
    assert not Path("/usr/weft-x").exists()
