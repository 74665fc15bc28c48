"""An agent that we host asks for files: inside the folders it was given, whatever the path is spelled like."""

import os
from pathlib import Path

import pytest

from weft.connect.acp.files import HostFiles
from weft.protocols.acp.frames import RpcError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("inside")
    (tmp_path / "proj-evil").mkdir()
    (tmp_path / "proj-evil" / "secret").write_text("outside")
    (tmp_path / "secret").write_text("outside")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "dangling").symlink_to(tmp_path / "new")
    os.symlink("/proc/self/root", root / "all")
    return tmp_path


SPELLINGS = (
    "{top}/secret",
    "{top}/proj-evil/secret",
    "{top}/proj/../secret",
    "{top}/proj/link",
    "{top}/proj/folder/secret",
    "{top}/proj/all{top}/secret",
    "{top}/proj/dangling",
    "/proc/self/root{top}/secret",
    "//{top}/secret",
    "{top}/proj/src/../../secret",
    "proj/src/a.txt",
    "src/a.txt",
    "",
    "~/secret",
    "file://{top}/secret",
    "/etc/passwd",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_hosted_agent_reads_and_writes_only_inside(spelling: str, place: Path):
    files = HostFiles((place / "proj",), empty_for_missing=True)
    path = spelling.replace("{top}", str(place))
    with pytest.raises(RpcError):
        await files.read(path, None, None)
    with pytest.raises(RpcError):
        await files.write(path, "owned")
    assert (place / "secret").read_text() == "outside"
    assert not (place / "new").exists()
    assert await files.read(str(place / "proj" / "src" / "a.txt"), None, None) == "inside"
