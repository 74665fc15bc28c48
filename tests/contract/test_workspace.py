"""Every workspace keeps the same promises: the disk's, the one in memory, and those with an editor in between."""

from pathlib import Path

import anyio
import msgspec
import pytest

from weft.connect.acp.files import HostFiles
from weft.errors import WorkspaceError
from weft.protocols.acp import session as s
from weft.testing.workspace import FakeProcess, MemoryWorkspace
from weft.workspace.acp import AcpWorkspace, Call
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace
from weft.workspace.port import RunSpec, Workspace


def _answer(spec: RunSpec) -> FakeProcess:
    if "sleep" in spec.shell:
        return FakeProcess(code=None)
    return FakeProcess(b"hello\n", 3) if "exit 3" in spec.shell else FakeProcess(b"hello\n")


@pytest.fixture(params=["local", "memory", "ide", "acp"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    if request.param == "local":
        return LocalWorkspace([tmp_path])
    if request.param == "ide":
        return IdeWorkspace(LocalWorkspace([tmp_path]))
    if request.param == "acp":
        return AcpWorkspace(LocalWorkspace([tmp_path]), _editor(tmp_path), "s", _FILES)
    return MemoryWorkspace(roots=[tmp_path], answer=_answer)


_FILES = s.ClientCapabilities(fs=s.FileCapabilities(read_text_file=True, write_text_file=True))


def _editor(root: Path) -> Call:
    """An ACP editor that keeps no buffers: its files are those of the disk."""
    files = HostFiles((root,))

    async def call(method: str, params: object) -> msgspec.Raw:
        data = msgspec.json.encode(params)
        if method == "fs/write_text_file":
            write = msgspec.json.decode(data, type=s.WriteFile)
            await files.write(write.path, write.content)
            return msgspec.Raw(b"{}")
        read = msgspec.json.decode(data, type=s.ReadFile)
        return msgspec.Raw(msgspec.json.encode({"content": await files.read(read.path, read.line, read.limit)}))

    return call


async def test_what_is_written_is_read(workspace: Workspace) -> None:
    path = workspace.roots[0] / "deep" / "er" / "a.txt"
    for data in (b"one\r\n\x00two", b"", b"x" * 400_000):
        await workspace.write(path, data)
        assert await workspace.read(path) == data
    stat = await workspace.stat(path)
    assert stat is not None and stat.kind == "file" and stat.size == 400_000


async def test_what_is_not_there_is_named_in_the_error(workspace: Workspace) -> None:
    path = workspace.roots[0] / "absent.txt"
    assert await workspace.stat(path) is None
    for attempt in (workspace.read, workspace.remove, workspace.list):
        with pytest.raises(WorkspaceError, match=r"absent\.txt"):
            await attempt(path)


async def test_a_folder_is_not_a_file(workspace: Workspace) -> None:
    await workspace.write(workspace.roots[0] / "folder" / "a", b"")
    with pytest.raises(WorkspaceError, match="folder"):
        await workspace.read(workspace.roots[0] / "folder")
    with pytest.raises(WorkspaceError, match="folder"):
        await workspace.write(workspace.roots[0] / "folder", b"")


async def test_a_path_below_a_file_is_refused(workspace: Workspace) -> None:
    await workspace.write(workspace.roots[0] / "a", b"")
    with pytest.raises(WorkspaceError):
        await workspace.write(workspace.roots[0] / "a" / "b", b"")


async def test_lists_names_in_order(workspace: Workspace) -> None:
    for name in ("b.txt", "a/inner", "c"):
        await workspace.write(workspace.roots[0] / name, b"12")
    found = await workspace.list(workspace.roots[0])
    assert [(name, stat.kind) for name, stat in found] == [("a", "folder"), ("b.txt", "file"), ("c", "file")]


async def test_a_removed_file_is_gone(workspace: Workspace) -> None:
    await workspace.write(workspace.roots[0] / "a", b"")
    await workspace.remove(workspace.roots[0] / "a")
    assert await workspace.stat(workspace.roots[0] / "a") is None


@pytest.mark.parametrize(("line", "code"), [("echo hello", 0), ("echo hello; exit 3", 3)])
async def test_a_command_gives_its_output_and_code(workspace: Workspace, line: str, code: int) -> None:
    with anyio.fail_after(30):
        process = await workspace.start(RunSpec(shell=line, cwd=workspace.roots[0]))
        assert b"".join([data async for data in process.output()]) == b"hello\n"
        assert await process.wait() == code


async def test_a_killed_command_ends(workspace: Workspace) -> None:
    with anyio.fail_after(30):
        process = await workspace.start(RunSpec(shell="sleep 60", cwd=workspace.roots[0]))
        await process.kill()
        assert await process.wait() < 0
        assert [data async for data in process.output()] == []


async def test_a_command_in_a_missing_folder_is_refused(workspace: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="gone"):
        await workspace.start(RunSpec(shell="echo", cwd=workspace.roots[0] / "gone"))
