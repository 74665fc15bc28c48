"""What only a disk can do wrong."""

import os
import sys
from pathlib import Path
from typing import Literal

import anyio
import pytest

from weft.errors import WorkspaceError
from weft.workspace.local import LocalWorkspace
from weft.workspace.port import RunSpec


async def test_a_write_keeps_the_mode_and_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o755)
    await LocalWorkspace([tmp_path]).write(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o755
    assert os.listdir(tmp_path) == ["run.sh"]


async def test_a_write_goes_through_a_link_also_one_that_leads_nowhere_yet(tmp_path: Path) -> None:
    target = tmp_path / "real.txt"
    (tmp_path / "link").symlink_to(target)
    workspace = LocalWorkspace([tmp_path])
    for text in (b"first", b"second"):
        await workspace.write(tmp_path / "link", text)
        assert target.read_bytes() == text
    assert (tmp_path / "link").is_symlink()


async def test_a_write_protected_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):  # root may write anything
        return
    with pytest.raises(WorkspaceError, match="write-protected"):
        await LocalWorkspace([tmp_path]).write(path, b"new")


async def test_a_pipe_does_not_block_and_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    workspace = LocalWorkspace([tmp_path])
    with anyio.fail_after(30):
        with pytest.raises(WorkspaceError, match="not a regular file"):
            await workspace.read(tmp_path / "pipe")
        with pytest.raises(WorkspaceError, match="not a regular file"):
            await workspace.write(tmp_path / "pipe", b"")


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/environ", "/proc/self/root/proc/self/environ"])
async def test_devices_and_the_system_s_own_files_are_refused(tmp_path: Path, path: str) -> None:
    if sys.platform != "linux" and path.startswith("/proc"):
        return
    (tmp_path / "link").symlink_to(path)
    for name in (Path(path), tmp_path / "link"):
        with pytest.raises(WorkspaceError, match="cannot be read"):
            await LocalWorkspace([tmp_path]).read(name)


async def test_a_sparse_giant_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "giant", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceError, match="1,099,511,627,776 bytes"):
        await LocalWorkspace([tmp_path]).read(tmp_path / "giant")


async def test_a_link_swapped_in_after_the_gate_looked_is_seen_at_the_open_file(tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret"
    secret.parent.mkdir()
    secret.write_text("key")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "notes").symlink_to(secret)
    (inside / "folder").symlink_to(secret.parent)

    def refuse(path: Path, _use: Literal["read", "write"]) -> str | None:
        return None if path.is_relative_to(inside) else f"{path} is outside"

    workspace = LocalWorkspace([inside], refuse=refuse)
    with pytest.raises(WorkspaceError, match="is outside"):
        await workspace.read(inside / "notes")
    for name in ("notes", "folder/new"):
        with pytest.raises(WorkspaceError, match="is outside"):
            await workspace.write(inside / name, b"x")
    assert secret.read_text() == "key"
    assert os.listdir(secret.parent) == ["secret"]


async def test_the_sandbox_wraps_only_what_asks_for_it(tmp_path: Path) -> None:
    def sandbox(argv: tuple[str, ...], cwd: Path, env: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        return ("env", "WRAPPED=yes", *argv), {**env, "SEEN": cwd.name}

    workspace = LocalWorkspace([tmp_path], sandbox=sandbox, env={"EXTRA": "1"})
    for wanted, text in ((True, f"yes {tmp_path.name} 1 2\n"), (False, "1 2\n")):
        spec = RunSpec(shell="echo $WRAPPED $SEEN $EXTRA $OWN", cwd=tmp_path, env={"OWN": "2"}, sandbox=wanted)
        process = await workspace.start(spec)
        with anyio.fail_after(30):
            assert b"".join([data async for data in process.output()]).decode() == text
            await process.wait()
