"""Files go back to before any message, and nothing else does."""

from pathlib import Path

import pytest

from weft.testing.tool_context import fake_tool_context
from weft.tools.checkpoints import Checkpoints
from weft.tools.edit import Edit
from weft.tools.port import ToolContext
from weft.tools.write import Write
from weft.workspace.local import LocalWorkspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a").write_bytes(b"one\r\n\xff")
    return folder


def opened(root: Path) -> tuple[Checkpoints, ToolContext]:
    workspace = LocalWorkspace([root])
    return Checkpoints(root.parent / "home", "session", workspace), fake_tool_context(workspace)


async def write(checkpoints: Checkpoints, context: ToolContext, path: str, content: str) -> None:
    tool = Write()
    await checkpoints.save("toolu", context.session.cwd / path)
    await tool.run(tool.decode({"file_path": path, "content": content}), context)


async def test_files_go_back_to_before_a_message_and_new_ones_go_away(root: Path) -> None:
    checkpoints, context = opened(root)
    checkpoints.begin("m1")
    edit = Edit()
    await checkpoints.save("toolu", root / "a")
    await edit.run(edit.decode({"file_path": "a", "old_string": "one", "new_string": "two"}), context)
    await write(checkpoints, context, "new", "x\n")
    checkpoints.begin("m2")
    await write(checkpoints, context, "new", "y\n")
    await write(checkpoints, context, "new", "z\n")
    expected = {"canRewind": True, "filesChanged": [str(root / "new")], "insertions": 1, "deletions": 1}
    assert await checkpoints.rewind("m2", dry_run=True) == expected
    assert (root / "new").read_text() == "z\n"
    assert await checkpoints.rewind("m2") == expected
    assert (root / "new").read_text() == "x\n"
    again, _ = opened(root)
    found = await again.rewind("m1")
    assert found["filesChanged"] == [str(root / "a"), str(root / "new")]
    assert (root / "a").read_bytes() == b"one\r\n\xff"
    assert not (root / "new").exists()
    assert (await again.rewind("m1"))["filesChanged"] == []


async def test_a_message_without_changes_can_be_gone_back_to_and_an_unknown_one_cannot(root: Path) -> None:
    checkpoints, _ = opened(root)
    checkpoints.begin("m1")
    assert (await checkpoints.rewind("m1"))["canRewind"] is True
    assert await checkpoints.rewind("other") == {
        "canRewind": False,
        "error": "No file checkpoint found for this message.",
    }


async def test_a_link_put_in_the_way_is_not_followed(root: Path) -> None:
    victim = root.parent / "victim"
    victim.mkdir()
    (victim / "f").write_text("untouched")
    (root / "sub").mkdir()
    (root / "sub" / "f").write_text("old")
    checkpoints, context = opened(root)
    checkpoints.begin("m1")
    await write(checkpoints, context, "sub/f", "new")
    await write(checkpoints, context, "a", "new")
    (root / "sub" / "f").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(victim)
    (root / "a").unlink()
    (root / "a").symlink_to(victim / "f")
    found = await checkpoints.rewind("m1")
    assert found["skippedLinks"] == [str(root / "sub" / "f"), str(root / "a")]
    assert (victim / "f").read_text() == "untouched"


async def test_what_is_kept_is_for_the_person_alone(root: Path) -> None:
    checkpoints, context = opened(root)
    checkpoints.begin("m1")
    await write(checkpoints, context, "a", "new")
    folder = root.parent / "home" / "file-history" / "session"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert sorted(path.name[-3:] for path in folder.iterdir()) == ["@v1", "onl"]
    (folder / "index.jsonl").write_bytes((folder / "index.jsonl").read_bytes() + b'{"type":"fi')
    assert (await opened(root)[0].rewind("m1"))["filesChanged"] == [str(root / "a")]
