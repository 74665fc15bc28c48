"""Files and commands through an editor: a real host answers, over a pair in memory."""

import shlex
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
import msgspec
import pytest

from weft.connect.acp.files import HostFiles
from weft.connect.acp.host import Host
from weft.connect.acp.terminals import HostTerminal, HostTerminals
from weft.errors import WorkspaceError
from weft.protocols.acp import session as s
from weft.protocols.acp.frames import RpcError
from weft.schema.events import TaskInfo
from weft.tools.shell import Trailer
from weft.transports.messages import memory_pair
from weft.transports.rpc import RpcPeer
from weft.workspace.acp import AcpWorkspace
from weft.workspace.local import LocalWorkspace
from weft.workspace.port import RunSpec

ALL = s.ClientCapabilities(fs=s.FileCapabilities(read_text_file=True, write_text_file=True), terminal=True)
Body = Callable[[AcpWorkspace, list[TaskInfo], dict[Path, str]], Awaitable[None]]


async def with_editor(
    root: Path, body: Body, *, offered: s.ClientCapabilities = ALL, inner: LocalWorkspace | None = None
) -> None:
    """`buffers` are unsaved texts of the editor, which come before the disk."""
    here, there = memory_pair()
    listed: list[TaskInfo] = []
    buffers: dict[Path, str] = {}

    async def no_request(method: str, params: msgspec.Raw, id_: object) -> object:
        raise RpcError(-32601, method)

    async def no_notification(method: str, params: msgspec.Raw) -> None:
        return None

    async def on_output(terminal: HostTerminal, text: str) -> None:
        return None

    async def on_change(task: TaskInfo) -> None:
        listed.append(task)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            files = HostFiles((root,))
            terminals = HostTerminals(tasks, root, files.confined, on_output, on_change)
            host = Host(files, terminals)

            async def serve(method: str, params: msgspec.Raw, id_: object) -> object:
                if method == "fs/read_text_file":
                    path = Path(msgspec.json.decode(params, type=s.ReadFile).path)
                    if path in buffers:
                        return s.FileText(content=buffers[path])
                return await host.methods[method](params)

            editor = RpcPeer(there, on_request=serve, on_notification=no_notification)
            agent = RpcPeer(here, on_request=no_request, on_notification=no_notification)
            tasks.start_soon(editor.run)
            tasks.start_soon(agent.run)
            await body(AcpWorkspace(inner or LocalWorkspace((root,)), agent.call, "s", offered), listed, buffers)
            await terminals.close()
            tasks.cancel_scope.cancel()
        await here.close()
        await there.close()


async def test_an_unsaved_buffer_is_read_and_a_write_lands_through_the_editor(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("on disk")

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        buffers[tmp_path / "a.txt"] = "unsaved"
        assert await workspace.read(tmp_path / "a.txt") == b"unsaved"
        await workspace.write(tmp_path / "new" / "b.txt", b"written")
        assert (tmp_path / "new" / "b.txt").read_text() == "written"

    await with_editor(tmp_path, body)


async def test_what_is_not_text_never_goes_through_the_editor(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\0\xff")

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        buffers[tmp_path / "a.png"] = "not this"
        assert await workspace.read(tmp_path / "a.png") == b"\x89PNG\0\xff"
        await workspace.write(tmp_path / "b.bin", b"\xff\0")
        assert (tmp_path / "b.bin").read_bytes() == b"\xff\0"

    await with_editor(tmp_path, body)


async def test_a_file_outside_the_editors_folders_is_refused_also_behind_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(outside)

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        for path in (outside, root / "link"):
            with pytest.raises(WorkspaceError, match="outside the workspace"):
                await workspace.read(path)
        with pytest.raises(WorkspaceError, match="outside the workspace"):
            await workspace.write(root / "link", b"x")
        assert outside.read_text() == "secret"

    await with_editor(root, body)


async def test_a_command_runs_in_a_terminal_of_the_editor_and_is_listed(tmp_path: Path) -> None:
    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        process = await workspace.start(RunSpec(shell="echo one; echo two; exit 3", cwd=tmp_path))
        said = b"".join([data async for data in process.output()])
        assert said == b"one\ntwo\n"
        assert await process.wait() == 3
        assert [(task.kind, task.state) for task in listed] == [("shell", "running"), ("shell", "failed")]

    await with_editor(tmp_path, body)


async def test_a_killed_command_ends_with_its_signal(tmp_path: Path) -> None:
    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        process = await workspace.start(RunSpec(shell="sleep 60", cwd=tmp_path))
        async with anyio.create_task_group() as tasks:
            codes: list[int] = []

            async def wait() -> None:
                codes.append(await process.wait())

            tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await process.kill()
        assert codes[0] < 0

    await with_editor(tmp_path, body)


async def test_without_the_editors_offers_everything_goes_to_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("on disk")

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        buffers[tmp_path / "a.txt"] = "unsaved"
        assert await workspace.read(tmp_path / "a.txt") == b"on disk"
        process = await workspace.start(RunSpec(shell="echo hi", cwd=tmp_path))
        assert b"".join([data async for data in process.output()]) == b"hi\n"
        assert await process.wait() == 0
        assert listed == []

    await with_editor(tmp_path, body, offered=s.ClientCapabilities())


async def test_what_the_rules_refuse_is_not_asked_of_the_editor(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("on disk")
    (tmp_path / "link").symlink_to(tmp_path / "secret.txt")

    def refuse(path: Path, access: str) -> str | None:
        return f"no {access}" if path.name == "secret.txt" else None

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        for path in (tmp_path / "secret.txt", tmp_path / "link"):
            buffers[path] = "unsaved"
            with pytest.raises(WorkspaceError, match="no read"):
                await workspace.read(path)
            with pytest.raises(WorkspaceError, match="no write"):
                await workspace.write(path, b"x")

    await with_editor(tmp_path, body, inner=LocalWorkspace((tmp_path,), refuse=refuse))


async def test_a_command_that_must_be_sandboxed_does_not_run_in_the_editor(tmp_path: Path) -> None:
    def sandbox(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        return ["env", "BOXED=1", *argv], dict(env)

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        for boxed in (True, False):
            process = await workspace.start(RunSpec(shell="echo box=$BOXED", cwd=tmp_path, sandbox=boxed))
            said = b"".join([data async for data in process.output()])
            assert said == (b"box=1\n" if boxed else b"box=\n")
            await process.wait()
            assert bool(listed) is not boxed

    await with_editor(tmp_path, body, inner=LocalWorkspace((tmp_path,), sandbox=sandbox))


async def test_the_terminal_shows_the_command_alone_and_its_folder_is_known_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    command = "cd inner && echo said; env | grep BASH_ENV; true"

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        trailer = Trailer()
        spec = RunSpec(shell=trailer.wrap(command), bare=command, mark=trailer.mark, cwd=tmp_path)
        process = await workspace.start(spec)
        shown = b"".join([trailer.feed(data) async for data in process.output()])
        assert await process.wait() == 0
        assert shown == b"said\n" and trailer.folder == (tmp_path / "inner").resolve()
        assert listed[0].description == f"/bin/bash -c {shlex.quote(command)}"

    await with_editor(tmp_path, body)


async def test_a_killed_command_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def body(workspace: AcpWorkspace, listed: list[TaskInfo], buffers: dict[Path, str]) -> None:
        process = await workspace.start(RunSpec(shell="sleep 60", bare="sleep 60", mark=b"m", cwd=tmp_path))
        assert len(list(tmp_path.glob("weft-folder-*"))) == 1
        await process.kill()
        assert list(tmp_path.glob("weft-folder-*")) == []

    await with_editor(tmp_path, body)
