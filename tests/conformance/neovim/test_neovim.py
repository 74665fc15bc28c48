"""A real Neovim as the editor: what a person does in it, agents see; what agents ask, it shows."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin
from weft.errors import WorkspaceError
from weft.ide.editors.neovim.editor import NeovimEditor
from weft.ide.editors.neovim.rpc import Neovim
from weft.ide.port import Diff, EditorEvent, Mentioned, SelectionMoved
from weft.ide.server import IdeServer
from weft.protocols.ide.catalogue import OpenFile
from weft.protocols.ide.values import Accepted, Decision, Mention, Position, Rejected
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.ide.workspace import IdeWorkspace
from weft.workspace.local import LocalWorkspace

CALC = "def add(a, b):\n    return a + b\n"


class Person:
    """Somebody at the keyboard of a Neovim, and the editor that is made of it."""

    def __init__(self, editor: NeovimEditor, keys: Neovim, folder: Path) -> None:
        self.editor = editor
        self.keys = keys
        self.folder = folder
        self.file = str(folder / "calc.py")
        self.heard: list[EditorEvent] = []
        editor.listen(self.heard.append)

    async def types(self, keys: str) -> None:
        await self.keys.request("nvim_input", keys)

    async def eval(self, expression: str) -> object:
        return await self.keys.request("nvim_eval", expression)

    async def hears(self, condition) -> EditorEvent:
        while True:
            for event in self.heard:
                if condition(event):
                    return event
            await anyio.sleep(0.005)


async def listens(socket: Path) -> bool:
    """The file is there a moment before anybody listens on it."""
    try:
        await (await anyio.connect_unix(socket)).aclose()
    except OSError:
        return False
    return True


@asynccontextmanager
async def at_neovim(folder: Path) -> AsyncIterator[Person]:
    (folder / "calc.py").write_text(CALC)
    socket = folder / "nvim.sock"
    quick = "let g:loaded_python3_provider = 0"
    argv = [str(peer_bin("nvim")), "--headless", "--clean", "--cmd", quick, "--listen", str(socket)]
    process = subprocess.Popen(argv, cwd=folder, env={**os.environ, "HOME": str(folder)}, stdin=subprocess.DEVNULL)
    try:
        while not await listens(socket):
            await anyio.sleep(0.01)
        async with NeovimEditor(str(socket)) as editor, Neovim(str(socket), lambda name, arguments: None) as keys:
            yield Person(editor, keys, folder)
    finally:
        process.kill()
        process.wait()


async def until(condition) -> None:
    while not await condition():
        await anyio.sleep(0.005)


async def test_files_open_with_their_marked_range(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            assert person.editor.folders == (tmp_path,)
            document = await person.editor.open_file(OpenFile(file_path="calc.py", start_text="return", end_text="b"))
            assert (document.path, document.language, document.dirty) == (person.file, "python", False)
            selection = await person.editor.selection()
            assert selection is not None and selection.text == "return a + b"
            assert (selection.start, selection.end) == (Position(1, 4), Position(1, 16))
            (tab,) = await person.editor.tabs()
            assert tab.active and tab.document.path == person.file
            with pytest.raises(WorkspaceError, match="File not found"):
                await person.editor.open_file(OpenFile(file_path="nowhere.py"))


async def test_a_visual_selection_is_heard_and_kept_as_the_latest(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            (tmp_path / "calc.py").write_text("näme = '🎉x'\nlast\n")
            await person.editor.open_file(OpenFile(file_path="calc.py"))
            await person.types("gg0wwlv$h")
            event = await person.hears(lambda e: isinstance(e, SelectionMoved) and e.selection.text == "🎉x'")
            assert isinstance(event, SelectionMoved) and event.selection is not None
            assert (event.selection.start, event.selection.end) == (Position(0, 8), Position(0, 12))
            await person.types("<Esc>ggVj")
            await person.hears(lambda e: isinstance(e, SelectionMoved) and e.selection.text.endswith("last"))
            await person.types("<Esc>gg")
            latest = await person.editor.latest_selection()
            assert latest is not None and latest.text.endswith("\nlast")


async def test_a_mention_has_the_marked_lines(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            await person.editor.open_file(OpenFile(file_path="calc.py"))
            await person.types(":WeftMention<CR>:1,2WeftMention<CR>")
            await person.hears(lambda e: e == Mentioned(Mention(path=person.file)))
            await person.hears(lambda e: e == Mentioned(Mention(path=person.file, first_line=0, last_line=1)))


async def test_a_dirty_buffer_is_known_saved_and_never_thrown_away(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            assert await person.editor.document(person.file) is None and await person.editor.save(person.file) is None
            await person.editor.open_file(OpenFile(file_path="calc.py"))
            await person.types("Ox = 1<Esc>")

            async def dirty() -> bool:
                found = await person.editor.document(person.file)
                return found is not None and found.dirty

            await until(dirty)
            assert not await person.editor.close_tab("calc.py")
            assert await person.editor.save(person.file) is True
            assert Path(person.file).read_text() == "x = 1\n" + CALC
            assert await person.editor.close_tab("calc.py")


async def test_its_own_diagnostics_are_told(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            await person.editor.open_file(OpenFile(file_path="calc.py"))
            lua = (
                "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, {{lnum=1, col=4, end_lnum=1, end_col=10,"
                " message='odd', severity=vim.diagnostic.severity.WARN, source='test', code='T1'}})"
            )
            await person.keys.request("nvim_exec_lua", lua, [])
            ((file),) = await person.editor.diagnostics(person.file)
            (item,) = file.diagnostics
            assert (item.message, item.severity, item.source, item.code) == ("odd", "Warning", "test", "T1")
            assert (item.start, item.end) == (Position(1, 4), Position(1, 10))
            assert (await person.editor.diagnostics(str(tmp_path / "other.py")))[0].diagnostics == ()


PROPOSAL = CALC.replace("a + b", "a + b  # sum")


async def show(person: Person, path: str, answers: list[Decision]) -> None:
    diff = Diff(id="d1", path=path, before=CALC, after=PROPOSAL, title="✻ [Weft] calc.py (abc123) ⧉")
    answers.append(await person.editor.show_diff(diff))


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        (":w<CR>", Accepted(PROPOSAL)),
        ("ggO# mine<Esc>:WeftAccept<CR>", Accepted("# mine\n" + PROPOSAL)),
        (":q<CR>", Rejected()),
        (":WeftReject<CR>", Rejected()),
        (":tabclose<CR>", Rejected()),
    ],
)
async def test_its_own_diff_view_decides(tmp_path: Path, keys: str, outcome: Decision) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person, anyio.create_task_group() as group:
            await person.editor.open_file(OpenFile(file_path="calc.py"))
            answers: list[Decision] = []
            group.start_soon(show, person, person.file, answers)

            async def shown() -> bool:
                return await person.eval("&diff && &buftype ==# 'acwrite'") == 1

            await until(shown)
            assert await person.eval("tabpagenr('$')") == 2
            await person.types(keys)

            async def decided() -> bool:
                return bool(answers)

            await until(decided)
            assert answers == [outcome] and Path(person.file).read_text() == CALC

            async def closed() -> bool:
                return await person.eval("tabpagenr('$')") == 1

            await until(closed)
            assert await person.eval("&diff") == 0


async def test_a_diff_of_a_new_file_can_be_withdrawn(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            async with anyio.create_task_group() as group:
                group.start_soon(show, person, str(tmp_path / "new.py"), [])

                async def shown() -> bool:
                    return await person.eval("tabpagenr('$')") == 2

                await until(shown)
                group.cancel_scope.cancel()

            async def closed() -> bool:
                return await person.eval("tabpagenr('$')") == 1

            await until(closed)


async def test_an_agent_works_with_neovim_over_the_protocol(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with at_neovim(tmp_path) as person:
            async with IdeServer(person.editor, home=Path.home() / ".claude", debounce=0.01):
                work = IdeWorkspace(LocalWorkspace((tmp_path,)))
                async with IdeLink(find_locks()[0], cwd=tmp_path, heard=work.heard) as link:
                    work.link = link
                    assert link.name == "Neovim" and "executeCode" in link.tools
                    await link.call("openFile", {"filePath": person.file})
                    await person.types("ggwve")

                    async def told() -> bool:
                        return link.selection is not None and link.selection.text == "add"

                    await until(told)
                    assert "line 1 of" in (work.take_context() or "")
                    await person.types("<Esc>")
                    answers: list[Decision] = []

                    async def propose() -> None:
                        answers.append(await work.propose_edit(Path(person.file), PROPOSAL))

                    async with anyio.create_task_group() as group:
                        group.start_soon(propose)

                        async def shown() -> bool:
                            return await person.eval("&buftype ==# 'acwrite'") == 1

                        await until(shown)
                        await person.types(":w<CR>")
                    assert answers == [Accepted(PROPOSAL)]


async def test_weft_ide_offers_a_running_neovim_and_ends_with_it(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with at_neovim(tmp_path) as person:
            argv = [sys.executable, "-m", "weft", "ide", "--nvim", str(tmp_path / "nvim.sock")]
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/")
            try:
                while not find_locks():
                    await anyio.sleep(0.01)
                (found,) = find_locks()
                assert (found.lock.ide_name, found.lock.folders) == ("Neovim", (str(tmp_path),))
                await person.types(":qall!<CR>")
                await anyio.to_thread.run_sync(process.communicate)
                assert process.returncode == 0 and find_locks() == ()
            finally:
                process.kill()
                process.wait()
