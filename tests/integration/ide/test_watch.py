"""What the web page is told of an editor that has its folder open."""

import json
import os
from pathlib import Path

import anyio

from weft.cli.web import watch_editor
from weft.surfaces.web.ports import EditorSight
from weft.testing.editors import MeasuredVsCode


async def test_the_page_sees_the_editors_selection_but_no_denied_file(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(./.env)"]}}))
    told: list[EditorSight | None] = []
    with anyio.fail_after(30):
        async with MeasuredVsCode(tmp_path, Path.home()) as editor, anyio.create_task_group() as group:
            (lock,) = (Path.home() / ".claude" / "ide").iterdir()
            lock.write_text(json.dumps({**json.loads(lock.read_text()), "pid": os.getppid()}))
            group.start_soon(watch_editor, tmp_path, told.append)

            async def mark(name: str) -> EditorSight | None:
                span = {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}}
                path = str(tmp_path / name)
                count = len(told)
                while len(told) == count:
                    await editor.notify("selection_changed", {"text": "a\nb\n", "filePath": path, "selection": span})
                    await anyio.sleep(0.02)
                return told[-1]

            assert await mark("calc.py") == EditorSight(str(tmp_path / "calc.py"), "a\nb\n", 2, 3)
            assert await mark(".env") is None
            group.cancel_scope.cancel()
