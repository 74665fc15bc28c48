"""Real language servers, pushing and pulling, behind the headless editor."""

from pathlib import Path

import anyio
import pytest

from tests.peers import peer_bin
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import SERVERS, ServerSpec, find_servers
from weft.ide.server import IdeServer
from weft.protocols.ide.values import Diagnostic
from weft.schema.content import Image, Text
from weft.testing.tool_context import fake_tool_context
from weft.tools.ide import ide_tools
from weft.workspace.ide.link import IdeLink
from weft.workspace.ide.locks import find_locks
from weft.workspace.local import LocalWorkspace


def server(name: str, peer: str) -> ServerSpec:
    (spec,) = (spec for spec in find_servers(trusted=True, path=str(peer_bin(peer).parent)) if spec.name == name)
    return spec


def codes(found: tuple[Diagnostic, ...]) -> set[str | None]:
    return {item.code for item in found}


async def check(editor: HeadlessEditor, path: Path) -> tuple[Diagnostic, ...]:
    (file,) = await editor.diagnostics(str(path))
    return file.diagnostics


async def until(editor: HeadlessEditor, path: Path, wanted: set[str | None]) -> tuple[Diagnostic, ...]:
    """The problems, when they are those. A server that pushes may take longer than anybody waits, on a busy machine:
    then what it said last is told, and who asks again gets the rest."""
    with anyio.fail_after(120):
        while codes(found := await check(editor, path)) != wanted:
            await anyio.sleep(0.1)
    return found


async def test_ruff_is_found_beside_our_python_and_needs_no_trust(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import os\n")
    with anyio.fail_after(150):
        async with HeadlessEditor([tmp_path], servers=find_servers(trusted=False, path=""), kernel=False) as editor:
            assert editor.servers == ("ruff",)
            (item,) = await until(editor, path, {"F401"})
            assert (item.code, item.source, item.severity, item.start.line) == ("F401", "Ruff", "Warning", 0)
            path.write_text("x = 1\n")
            await until(editor, path, set())
            editor.edit(str(path), "import re\n")
            await until(editor, path, {"F401"})
            assert path.read_text() == "x = 1\n"


async def test_basedpyright_sees_types_and_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x: int = 'a'\n")
    spec = server("basedpyright", "basedpyright")
    async with HeadlessEditor([tmp_path], servers=(spec,), kernel=False) as editor:
        await until(editor, path, {"reportAssignmentType"})
        path.write_text("x: int = 1\n")
        await until(editor, path, set())
        path.write_text("x: int = 1\ny: str = 2\n")
        (item,) = await until(editor, path, {"reportAssignmentType"})
        assert item.start.line == 1 and item.severity == "Error"


async def test_typescript_language_server_sees_types_and_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.ts"
    path.write_text("const x: number = 'a';\nexport { x };\n")
    spec = server("typescript", "typescript-language-server")
    async with HeadlessEditor([tmp_path], servers=(spec,), kernel=False) as editor:
        await until(editor, path, {"2322"})
        path.write_text("const x: number = 1;\nexport { x };\n")
        await until(editor, path, set())


async def test_all_open_files_are_told_and_other_languages_have_none(tmp_path: Path) -> None:
    for name, text in (("a.py", "import os\n"), ("b.py", "import re\n"), ("c.txt", "hello\n")):
        (tmp_path / name).write_text(text)
    with anyio.fail_after(150):
        async with HeadlessEditor([tmp_path], servers=find_servers(trusted=False, path=""), kernel=False) as editor:
            assert await check(editor, tmp_path / "c.txt") == ()
            assert await check(editor, tmp_path / "gone.py") == ()
            await until(editor, tmp_path / "a.py", {"F401"})
            await until(editor, tmp_path / "b.py", {"F401"})
            found = await editor.diagnostics(None)
            assert [(Path(file.path).name, len(file.diagnostics)) for file in found] == [("a.py", 1), ("b.py", 1)]


async def test_a_server_that_dies_is_started_again_and_one_that_cannot_start_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import os\n")
    broken = ServerSpec(name="broken", command=("/bin/false",), languages=frozenset({"python"}))
    (ruff,) = find_servers(trusted=False, path="")
    with anyio.fail_after(150):
        async with HeadlessEditor([tmp_path], servers=(broken, ruff), kernel=False) as editor:
            await until(editor, path, {"F401"})
            running = editor._servers._running["ruff"]
            running._child.signal(9)
            while not running.ended:
                await anyio.sleep(0.005)
            await until(editor, path, {"F401"})


def test_servers_that_run_a_projects_code_wait_for_trust(tmp_path: Path) -> None:
    for spec in SERVERS:
        program = tmp_path / spec.command[0]
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    assert {spec.name for spec in find_servers(trusted=False, path=str(tmp_path))} == {"ruff"}
    assert len(find_servers(trusted=True, path=str(tmp_path))) == 3


@pytest.mark.parametrize("code", ["print('hi')\n6 * 7"])
async def test_code_runs_in_a_real_kernel_and_variables_stay(tmp_path: Path, code: str) -> None:
    with anyio.fail_after(150):
        async with HeadlessEditor([tmp_path], servers=()) as editor:
            assert "executeCode" in editor.tools
            assert [output.data for output in await editor.execute(code)] == ["hi\n42"]
            await editor.execute("kept = 5")
            assert [output.data for output in await editor.execute("kept")] == ["5"]
            (error,) = await editor.execute("1 / 0")
            assert "ZeroDivisionError" in error.data and "\x1b" not in error.data
            picture = (
                "from IPython.display import Image, display\nimport base64\n"
                "display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))"
            )
            (image,) = await editor.execute(picture)
            assert image.media_type == "image/png" and image.data.startswith("iVBOR")
            async with IdeServer(editor, home=Path.home() / ".claude"):
                async with IdeLink(find_locks()[0], cwd=tmp_path) as link:
                    (tool,) = (tool for tool in ide_tools(link) if tool.name == "mcp__ide__executeCode")
                    context = fake_tool_context(LocalWorkspace((tmp_path,)))
                    result = await tool.run(tool.decode({"code": f"print(kept)\n{picture}"}), context)
                    text, shown = result.content
                    assert isinstance(text, Text) and text.text == "5\n" and isinstance(shown, Image)
