"""An editor that is killed takes its language servers and its kernel with it."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import anyio

from tests.suites.processes import alive, environment, gone, kill

EDITOR = """
import anyio, sys
from pathlib import Path
from weft.ide.editors.headless.editor import HeadlessEditor
from weft.ide.editors.headless.languages import find_servers

async def main():
    path = Path("a.py").resolve()
    path.write_text("import os\\n")
    async with HeadlessEditor([path.parent], servers=find_servers(trusted=False, path="")) as editor:
        await editor.diagnostics(str(path))
        await editor.execute("6 * 7")
        print("ready", flush=True)
        async with anyio.create_task_group() as group:
            group.start_soon(editor.execute, "import time\\nwhile True: time.sleep(1)")
            await anyio.sleep(600)

anyio.run(main)
"""


async def test_a_kill_of_the_editor_ends_its_language_servers_and_its_kernel(tmp_path: Path, fresh_home: Path) -> None:
    mark = f"weft-mark-{uuid.uuid4().hex}"
    env = environment(fresh_home, WEFT_SUITE_MARK=mark)
    editor = subprocess.Popen([sys.executable, "-c", EDITOR], cwd=tmp_path, env=env, stdout=subprocess.PIPE)
    assert editor.stdout is not None
    try:
        with anyio.fail_after(120):
            assert await anyio.to_thread.run_sync(editor.stdout.readline) == b"ready\n"
        started = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive(mark) if pid != editor.pid]
        assert any(b"ruff" in line for line in started) and any(b"ipykernel" in line for line in started), started
    finally:
        kill(editor.pid)
        editor.wait()
        editor.stdout.close()
    assert await gone(mark, 60), [os.readlink(f"/proc/{pid}/exe") for pid in alive(mark)]
